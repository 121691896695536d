"""SQL over events, steps and ops, with only the named tables built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import stepscope
from stepscope.tables.core.profile import Profile
from stepscope.tables.recording.query_frames import FRAMES
from tests.profiles import worked_example


@pytest.fixture
def session(tmp_path: Path) -> stepscope.Session:
    (tmp_path / "a.xplane.pb").write_bytes(worked_example(gpu=True))
    return stepscope.open(tmp_path)


def test_frames_are_attributes(session: stepscope.Session) -> None:
    assert session.steps.height == 8
    assert session.events().height > session.steps.height
    assert session.ops.height > 0
    assert session.steps is session.steps


def test_queries_join_the_tables(session: stepscope.Session) -> None:
    got = session.sql("SELECT count(*) AS n FROM events WHERE duration_us > 0")
    want = session.events().filter(pl.col("duration_us") > 0).height
    assert got["n"].to_list() == [want]


def test_only_named_tables_are_built(
    session: stepscope.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def noting(name: str) -> Callable[[Profile], pl.DataFrame]:
        build = FRAMES[name]

        def noted(profile: Profile) -> pl.DataFrame:
            built.append(name)
            return build(profile)

        return noted

    for name in list(FRAMES):
        monkeypatch.setitem(FRAMES, name, noting(name))
    session.sql("SELECT step_num FROM Steps WHERE name <> 'events of ops'")
    assert built == ["steps"]


@pytest.mark.parametrize("query", ["SELEKT 1", "SELECT nope FROM steps", "SELECT * FROM nowhere"])
def test_wrong_queries_say_why_and_what_there_is(session: stepscope.Session, query: str) -> None:
    with pytest.raises(stepscope.UsageError) as caught:
        session.sql(query)
    assert caught.value.anchor == "sql"
    assert caught.value.why and "\n" not in caught.value.why
    assert "steps" in caught.value.hint


def test_names_are_text_to_a_query(session: stepscope.Session) -> None:
    query = "select distinct name from events where name like '%MatMul%' and plane like '/host%'"
    assert session.sql(query)["name"].to_list() == ["model/dense/MatMul:MatMul"]
