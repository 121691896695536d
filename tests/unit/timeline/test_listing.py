"""The events of a range as a frame: which they are, where, and in what order."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from tests.profiles import Event, gpu, host, line, space, stream


@pytest.fixture
def session(tmp_path: Path) -> stepscope.Session:
    data = space(
        host(
            line("python", ("outer", 0, 100), ("Inner", 10, 30), ("late", 2000, 50)),
            line("loader", Event("counted", 0, 5, occurrences=3), ("inner", 20, 0)),
        ),
        gpu(0, stream(7, ("gemm", 60, 10))),
    )
    (tmp_path / "a.xplane.pb").write_bytes(data)
    return stepscope.open(tmp_path)


def names(session: stepscope.Session, *view: str | float, **options: str | bool) -> list[str]:
    return session.events(*view, **options)["name"].to_list()  # type: ignore[arg-type]


def test_all_events_that_have_a_time_come_by_start(session: stepscope.Session) -> None:
    assert names(session) == ["outer", "Inner", "inner", "gemm", "late"]


def test_a_range_takes_what_touches_it(session: stepscope.Session) -> None:
    assert names(session, "20us", "60us") == ["outer", "Inner", "inner"]
    assert names(session, "40us", "60us") == ["outer"]
    assert names(session, 1.0) == ["late"]  # a number is in ms
    assert names(session, "20.5us", "0.04ms") == ["outer", "Inner"]


def test_tracks_and_names_are_chosen_by_text_or_pattern(session: stepscope.Session) -> None:
    assert names(session, track="GPU") == ["gemm"]
    assert names(session, track="load") == ["inner"]
    assert names(session, find="INNER") == ["Inner", "inner"]
    assert names(session, find="^[a-z]+r$", regex=True) == ["outer", "inner"]
    assert names(session, find="no such name") == []


def test_a_row_says_where_an_event_stands(session: stepscope.Session) -> None:
    (row,) = session.events(find="gemm").iter_rows(named=True)
    details = session.trace_viewer(find="gemm").events
    assert row == {
        "event": details["event"][0],
        "host": "a",
        "section": "/device:GPU:0",
        "track": "Stream #7(Compute)",
        "name": "gemm",
        "category": "kernel",
        "start_us": 60.0,
        "duration_us": 10.0,
    }


def test_what_cannot_be_read_is_said(session: stepscope.Session) -> None:
    with pytest.raises(stepscope.UsageError, match="begin cannot be 'soon'"):
        session.events("soon")
    with pytest.raises(stepscope.UsageError, match="is empty"):
        session.events(2, 1)
    with pytest.raises(stepscope.UsageError, match="is not a valid regular expression"):
        session.events(find="(", regex=True)
