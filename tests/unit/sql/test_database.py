"""The process behind the door: its limits hold, and the next query is answered anyway."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.sql import database as module
from stepscope.sql.database import ProfileDatabase, QueryLimits
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline.cancellation import GivenUp
from tests.profiles import worked_example

_PRODUCT = "SELECT count(*) AS n FROM " + " CROSS JOIN ".join(f"events e{i}" for i in range(6))


@pytest.fixture
def database() -> Iterator[ProfileDatabase]:
    found = ProfileDatabase(Profile("s", (Host("h", decode(worked_example(gpu=True))),)))
    yield found
    found.close()


def test_it_answers_and_says_what_was_cut(database: ProfileDatabase) -> None:
    whole = database.ask("SELECT step_num FROM steps ORDER BY step_num")
    assert (whole.frame["step_num"].to_list(), whole.cut) == (list(range(8)), False)
    part = database.ask("SELECT step_num FROM steps ORDER BY step_num", QueryLimits(rows=3))
    assert (part.frame["step_num"].to_list(), part.cut) == ([0, 1, 2], True)


def test_a_wrong_query_leaves_the_process_as_it_was(database: ProfileDatabase) -> None:
    with pytest.raises(UsageError) as caught:
        database.ask("SELECT nope FROM steps")
    assert "nope" in caught.value.why and "step_num" in caught.value.hint
    assert database.ask("SELECT count(*) AS n FROM steps").frame.item() == 8


def test_a_query_that_takes_too_long_is_given_up(database: ProfileDatabase) -> None:
    database.ask("SELECT 1")
    begin = time.monotonic()
    with pytest.raises(UsageError) as caught:
        database.ask(_PRODUCT + " WHERE e0.start_us > e1.start_us", QueryLimits(seconds=0.5))
    assert caught.value.anchor == "sql-closed"
    assert time.monotonic() - begin < 20
    assert database.ask("SELECT count(*) AS n FROM steps").frame.item() == 8


def test_a_query_ends_when_its_caller_leaves(database: ProfileDatabase) -> None:
    """Also while it waits for another query of the same recording."""
    looks: list[int] = []

    def leave() -> None:
        looks.append(1)
        raise GivenUp

    with pytest.raises(GivenUp):
        database.ask(_PRODUCT, QueryLimits(seconds=600), leave)
    assert database._process is None
    with database._lock, pytest.raises(GivenUp):
        database.ask("SELECT 1", QueryLimits(seconds=600), leave)
    with database._lock, pytest.raises(UsageError, match="not run"):
        database.ask("SELECT 1", QueryLimits(seconds=0.01))
    assert len(looks) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process's memory for sure")
def test_a_query_that_takes_too_much_memory_ends_its_process_alone() -> None:
    profile = Profile("s", (Host("h", decode(worked_example(gpu=True))),))
    database = ProfileDatabase(profile, memory_bytes=1 << 30)
    many = "SELECT e0.name FROM " + " CROSS JOIN ".join(f"events e{i}" for i in range(5))
    with pytest.raises(UsageError) as caught:
        database.ask(many, QueryLimits(rows=1 << 31, seconds=120))
    assert "memory" in caught.value.why
    assert database.ask("SELECT count(*) AS n FROM steps").frame.item() == 8
    database.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not limit open files")
def test_behind_the_door_no_file_opens(
    database: ProfileDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    monkeypatch.setattr(module, "check_query", lambda _query: None)
    with pytest.raises(UsageError) as caught:
        database.ask(f"SELECT * FROM read_csv('{file}')")
    assert "open files" in caught.value.why


def test_what_a_query_drops_is_there_for_the_next(
    database: ProfileDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "check_query", lambda _query: None)
    for statement in ("DELETE FROM steps", "DROP TABLE steps", "TRUNCATE TABLE steps"):
        database.ask(statement)
    assert database.ask("SELECT count(*) AS n FROM steps").frame.item() == 8


def test_the_process_is_kept_and_ends_when_nobody_asks(
    database: ProfileDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.3)
    database.ask("SELECT 1")
    process = database._process
    assert process is not None
    database.ask("SELECT 2")
    assert database._process is process
    assert process.child.wait(20) != 0
    assert database.ask("SELECT 3 AS n").frame.item() == 3


def test_databases_share_two_places() -> None:
    """Ten heavy queries of ten profiles once held six gigabytes in ten processes."""
    databases = [
        ProfileDatabase(Profile(f"s{number}", (Host("h", decode(worked_example(gpu=True))),)))
        for number in range(4)
    ]
    try:
        for database in databases:
            assert database.ask("SELECT count(*) AS n FROM steps").frame.item() == 8
        assert sum(one._process is not None for one in databases) <= 1
        held = [ProfileDatabase._places.acquire(blocking=False) for _ in range(2)]
        with pytest.raises(UsageError) as caught:
            databases[-1].ask("SELECT 1", QueryLimits(seconds=0.2))
        assert "2 other queries run" in caught.value.why
        assert databases[-1]._process is None
        for _ in filter(None, held):
            ProfileDatabase._places.release()
        assert databases[-1].ask("SELECT count(*) AS n FROM steps").frame.item() == 8
    finally:
        for database in databases:
            database.close()
