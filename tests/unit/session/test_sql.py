"""SQL over the recording's tables: only the named ones are built, limits hold, trust opens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.sql.tables import TABLES, QueryTable
from stepscope.tables.core.profile import Profile
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

    def noting(name: str) -> QueryTable:
        rows = TABLES[name].rows

        def noted(profile: Profile, number: int) -> dict[str, Any] | None:
            built.append(name)
            return rows(profile, number)

        return replace(TABLES[name], rows=noted)

    for name in list(TABLES):
        monkeypatch.setitem(TABLES, name, noting(name))
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


def test_an_answer_beyond_the_limit_is_an_error(session: stepscope.Session) -> None:
    assert session.sql("SELECT * FROM steps", max_rows=8).height == 8
    with pytest.raises(stepscope.UsageError, match="not run") as caught:
        session.sql("SELECT * FROM steps", max_rows=7)
    assert "more than 7 rows" in caught.value.why


def test_only_trusted_queries_read_files(session: stepscope.Session, tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("step_num,note\n3,slow\n")
    query = f"SELECT note FROM steps JOIN read_csv('{file}') USING (step_num)"
    assert session.sql(query, trusted=True)["note"].to_list() == ["slow"]
    with pytest.raises(stepscope.UsageError) as caught:
        session.sql(query)
    assert caught.value.anchor == "sql-closed"


def test_a_closed_session_answers_again_when_asked(session: stepscope.Session) -> None:
    session.sql("SELECT 1")
    first = session.database
    session.close()
    assert session.sql("SELECT count(*) AS n FROM steps").item() == 8
    assert session.database is not first
    session.close()
