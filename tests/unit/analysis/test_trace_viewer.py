"""The timeline as a tool: ranges, tracks, matches, launch delays."""

from __future__ import annotations

import pytest

from stepscope.analysis.trace_viewer import TOOL, Options, TraceViewer, trace_viewer
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import no_events, worked_example


def shown(*hosts: bytes, **options: str) -> TraceViewer:
    opened = tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts))
    return trace_viewer(Profile("s", opened), Options(**options))  # type: ignore[arg-type]


def test_without_options_it_is_about_the_whole_trace() -> None:
    found = shown(worked_example(gpu=True))
    assert found.range.from_ms == 0 and found.range.to_ms == pytest.approx(7.9)
    assert found.launches.count == 16 and found.launches.delay_median_us == pytest.approx(60)
    assert len(found.events) == 0
    names = {row["name"]: row for row in found.names.rows()}
    assert names["train"]["total_time_us"] == pytest.approx(8 * 900)
    assert names["train"]["self_time_us"] == pytest.approx(8 * 100)


def test_self_times_are_in_order_and_sum_to_what_ran() -> None:
    found = shown(worked_example(gpu=True))
    own = list(found.names["self_time_us"])
    assert own == sorted(own, reverse=True)
    recorded = [row for row in found.tracks.rows() if not row["derived"]]
    assert sum(own) == pytest.approx(1000 * sum(row["busy_ms"] for row in recorded))
    for row in found.tracks.rows():
        assert row["busy_frac"] + row["idle_frac"] == pytest.approx(1)


def test_a_range_lists_its_events_by_start() -> None:
    found = shown(worked_example(), from_="1ms", to="1.1ms")
    rows = list(found.events.rows())
    assert [row["name"] for row in rows] == [
        "train",
        "FunctionRun",
        "ExecutorState::Process",
        "IteratorGetNext",
    ]
    assert rows[3]["start_ms"] == pytest.approx(1.02) and rows[3]["duration_us"] == 200
    assert found.range.events == len(rows)


def test_a_text_is_found_in_the_range_on_the_tracks_asked_for() -> None:
    assert len(shown(worked_example(gpu=True), find="iterator").events) == 8
    assert len(shown(worked_example(gpu=True), find="iterator", from_="2.5").events) == 5
    assert len(shown(worked_example(gpu=True), find="iterator", track="GPU").events) == 0
    assert len(shown(worked_example(), find="^[0-3]$", mode="regex", stat="step_num").events) == 4


def test_hosts_stay_apart() -> None:
    found = shown(worked_example(), worked_example(), find="train")
    assert {row["host"] for row in found.events.rows()} == {"h0", "h1"} and len(found.events) == 16


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"from_": "soon"}, "The range's begin cannot be 'soon'"),
        ({"from_": "5", "to": "2"}, "The range from 5 ms to 2 ms is empty"),
        ({"to": "1e9s"}, "The range's end cannot be '1e9s'"),
        ({"to": "99999999s"}, "The range's end is beyond any trace"),
        ({"track": "nothing is called this"}, "no track or section contains"),
        ({"find": "(", "mode": "regex"}, "is not a valid regular expression"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        shown(worked_example(), **options)


def test_a_recording_without_events_says_how_to_record_some() -> None:
    missing = TOOL.available(Profile("s", (Host("h", decode(no_events())),)))
    assert missing is not None and "start_trace" in missing.record
