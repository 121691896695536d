"""Chrome traces of any writer: what is in them is on the timeline, or counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.columns.space import Space
from stepscope.formats import FORMATS
from stepscope.store import find, read_pieces
from tests.unit.formats.layout import Event, lines

Events = list[dict[str, Any]]


def event(phase: str, name: str, ts: Any, tid: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": 1, "tid": tid, **more}


def opened(tmp_path: Path, text: str) -> Space:
    path = tmp_path / "trace.json"
    path.write_text(text)
    ((source,),) = (run.sources for run in find(path).runs)
    return FORMATS[source.format].open(read_pieces(str(path)), str(path))


def shown(space: Space) -> list[Event]:
    return sorted(
        (one for part in lines(space).values() for one in part),
        key=lambda one: (one["start"], one["name"]),
    )


CONTAINERS = {
    "an array": "[{}]",
    "an object": '{{"traceEvents": [{}], "displayTimeUnit": "ns"}}',
    "an array without end": "[{}",
    "a comma too many": "[{},]",
    "an empty object at the end": "[{}, {{}}]",
    "NULs after a crash": "[{}\0\0\0\0",
    "events last": '{{"otherData": {{"a": [1, 2]}}, "traceEvents": [{}]}}',
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_container_has_its_events(tmp_path: Path, container: str) -> None:
    events = [event("X", "a", 1, dur=5), event("X", "b", 2, dur=1)]
    space = opened(tmp_path, container.format(", ".join(map(json.dumps, events))))
    assert [(one["name"], one["start"], one["length"]) for one in shown(space)] == [
        ("a", 1_000, 5_000),
        ("b", 2_000, 1_000),
    ]
    assert not any("left out" in one for one in space.warnings)


def test_ranges_on_no_thread_are_paired_by_category_and_id(tmp_path: Path) -> None:
    events = [
        event("b", "load", 1, cat="net", id="0xff"),
        event("b", "load", 2, cat="net", id="0x1"),
        event("n", "retry", 3, cat="net", id="0x1"),
        event("e", "load", 5, cat="net", id="0xff"),
        event("e", "load", 9, cat="net", id="0x1"),
        event("b", "other", 4, cat="disk", id="0xff"),
        event("S", "old", 6, cat="old", id=7),
        event("F", "old", 8, cat="old", id=7),
    ]
    space = opened(tmp_path, json.dumps(events))
    found = [(one["name"], one["start"], one["length"]) for one in shown(space)]
    assert found == [
        ("load", 1_000, 4_000),
        ("load", 2_000, 7_000),
        ("retry", 3_000, 0),
        ("old", 6_000, 2_000),
    ]
    assert any("Begins or ends" in one and one.endswith(": 1.") for one in space.warnings)


def test_ranges_that_are_only_numbered_are_called_by_their_category(tmp_path: Path) -> None:
    """A server that writes each request by its number; a thread's ranges keep their names."""
    events = [
        event("b", "1", 1, cat="resnet50", id="1"),
        event("b", "2", 2, cat="resnet50", id="2"),
        event("e", "1", 5, cat="resnet50", id="1"),
        event("e", "2", 9, cat="resnet50", id="2"),
        event("b", "3", 10, id="3"),
        event("e", "3", 12, id="3"),
        event("X", "7", 20, dur=5, cat="epoch"),
    ]
    space = opened(tmp_path, json.dumps(events))
    assert [(one["name"], one["length"]) for one in shown(space)] == [
        ("resnet50", 4_000),
        ("resnet50", 7_000),
        ("3", 2_000),
        ("7", 5_000),
    ]


def test_begins_and_ends_nest_and_lone_ones_are_counted(tmp_path: Path) -> None:
    events = [
        event("B", "outer", 1),
        event("B", "inner", 2),
        event("E", "", 3),
        event("E", "outer", 9),
        event("B", "open", 10),
        event("E", "elsewhere", 11, tid=2),
    ]
    space = opened(tmp_path, json.dumps(events))
    assert [(one["name"], one["length"]) for one in shown(space)] == [
        ("outer", 8_000),
        ("inner", 1_000),
    ]
    assert any("Begins or ends" in one and one.endswith(": 2.") for one in space.warnings)


def test_counters_have_a_series_for_each_key(tmp_path: Path) -> None:
    events = [
        event("C", "memory", 1, args={"used": 5, "free": 7}),
        event("C", "memory", 2, args={"used": 6}),
    ]
    found = shown(opened(tmp_path, json.dumps(events)))
    assert [(one["name"], one["counter_value"]) for one in found] == [
        ("memory: free", 7.0),
        ("memory: used", 5.0),
        ("memory: used", 6.0),
    ]


def test_times_may_be_texts_and_negative(tmp_path: Path) -> None:
    events = [event("X", "text", "12.5", dur="2"), event("X", "negative", -3, dur=1)]
    found = {one["name"]: one["start"] for one in shown(opened(tmp_path, json.dumps(events)))}
    assert found == {"text": 12_500, "negative": -3_000}


def test_times_may_be_beyond_what_a_double_holds(tmp_path: Path) -> None:
    events = [event("X", "a", 2**53 + 1, dur=1), event("X", "b", 2**53 + 2, dur=1)]
    found = [one["start"] for one in shown(opened(tmp_path, json.dumps(events)))]
    assert found == [(2**53 + 1) * 1000, (2**53 + 2) * 1000]


def test_phases_without_a_place_are_counted(tmp_path: Path) -> None:
    events = [event("X", "a", 1, dur=5), event("N", "object", 2, id=1), event("P", "sample", 3)]
    space = opened(tmp_path, json.dumps(events))
    assert any("N (1), P (1)" in one for one in space.warnings)


def test_any_cut_gives_what_stands_before_it(tmp_path: Path) -> None:
    text = json.dumps([event("X", f"e{n}", n, dur=1, args={"a": "b"}) for n in range(40)])
    counts = [len(shown(opened(tmp_path, text[:size]))) for size in range(200, len(text), 37)]
    assert counts == sorted(counts)
    assert counts[-1] >= 39


def test_what_stands_beside_the_events_is_left_out_with_a_word(tmp_path: Path) -> None:
    """Samples of stacks and the kernel's events; names of threads are not unknown events."""
    named = event("M", "thread_name", 0, cat="__metadata", args={"name": "main"})
    whole = {
        "samples": [{"sf": 1, "ts": 1, "tid": 1}] * 3,
        "systemTraceEvents": "kworker-1 [000] 1.0: sched_switch",
        "traceEvents": [named, event("X", "a", 1, dur=5, cat="aten")],
    }
    said = " ".join(opened(tmp_path, json.dumps(whole)).warnings)
    assert "Samples of stacks beside the events are left out: 3." in said
    assert "The kernel's events beside the events are left out." in said
    assert "__metadata" not in said


def test_an_end_that_says_a_name_ends_that_range(tmp_path: Path) -> None:
    """Not the one that is open, nor any where none is called so; at one moment in any order."""
    events = [
        event("B", "outer", 0),
        event("B", "inner", 1),
        event("E", "unknown", 2),
        event("E", "late", 3),
        event("B", "late", 3),
        event("E", "inner", 5),
        event("E", "outer", 9),
        event("B", "other", 2, tid=2),
        event("B", "within", 3, tid=2),
        event("E", "other", 4, tid=2),
        event("E", "within", 5, tid=2),
    ]
    space = opened(tmp_path, json.dumps(events))
    found = [(one["name"], one["start"], one["length"]) for one in shown(space)]
    assert found == [
        ("outer", 0, 9_000),
        ("inner", 1_000, 4_000),
        ("other", 2_000, 2_000),
        ("late", 3_000, 2_000),
        ("within", 3_000, 1_000),
    ]
    assert any("Begins or ends" in one and one.endswith(": 3.") for one in space.warnings)


def test_old_ranges_of_one_id_pair_by_their_names(tmp_path: Path) -> None:
    events = [
        event("S", "send", 0, cat="net", id=1),
        event("S", "receive", 2, cat="net", id=1),
        event("F", "send", 5, cat="net", id=1),
        event("F", "receive", 9, cat="net", id=1),
    ]
    found = shown(opened(tmp_path, json.dumps(events)))
    assert [(one["name"], one["length"]) for one in found] == [("send", 5_000), ("receive", 7_000)]


@pytest.mark.parametrize("container", ["an array", "an object"])
@pytest.mark.parametrize("between", ["", "\n", ",\0 "])
def test_a_second_text_after_the_first_is_told(
    tmp_path: Path, container: str, between: str
) -> None:
    text = CONTAINERS[container].format(json.dumps(event("X", "a", 1, dur=5)))
    assert "}]" in text
    space = opened(tmp_path, text + between + text)
    assert len(shown(space)) == 1
    said = f"Bytes after the end of the trace, as of a second one, left out: {len(text)}."
    assert said in space.warnings
    assert opened(tmp_path, text + "\n").warnings == ()
    cut = opened(tmp_path, text[: text.rindex("}]") + 1] + ', {"ph": "X", "na')
    assert not any("after the end" in one for one in cut.warnings)
