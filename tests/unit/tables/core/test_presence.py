"""Looking for the first event that answers a question, and for no more."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.columns import stats_by_name
from stepscope.formats.xspace import decode
from stepscope.tables.core import presence
from stepscope.tables.core.presence import (
    Stretch,
    any_event,
    any_stretch,
    entries_called,
    entries_named,
    entries_shaped,
    entries_starting,
    name_shapes,
)
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.driver_calls import allocating_names, waiting_names
from stepscope.tables.host.events import host_names
from stepscope.tables.recording.evidence import recorded
from stepscope.tables.steps.recorder_work import recorder_spans, summary_spans
from tests.profiles.model import Event, host, line, plane, space


def made(*lines: list[Event]) -> Host:
    return Host(
        "h", decode(space(host(*(line(str(i), *events) for i, events in enumerate(lines)))))
    )


def named(count: int, name: str = "a") -> list[Event]:
    return [Event(name, i, 1) for i in range(count)]


def test_every_event_is_in_one_stretch_and_beginnings_of_lines_come_first() -> None:
    one = made(named(6000), named(3), [], named(1024))
    seen: list[tuple[int, int]] = []

    def note(stretch: Stretch) -> bool:
        seen.append((int(stretch.start_ps[0] // 1_000_000), len(stretch.entry)))
        return False

    assert not any_stretch(one, range(4), note)
    assert seen == [(0, 1024), (0, 3), (0, 1024), (1024, 4096), (5120, 880)]


def test_the_first_hit_ends_the_search() -> None:
    one = made(named(6000), named(6000))
    asked = 0

    def second(_stretch: Stretch) -> bool:
        nonlocal asked
        asked += 1
        return asked == 2

    assert any_stretch(one, range(2), second)
    assert asked == 2


def test_what_the_file_does_not_name_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(named(3))

    def fail(*_: object) -> bool:
        raise AssertionError("looked at events")

    monkeypatch.setattr("stepscope.tables.core.presence.any_stretch", fail)
    nothing = entries_named(one, lambda name: name == "b")
    assert not any_event(one, [0], entries=nothing, stats=("tf_op",))


def test_events_are_found_by_name_and_by_stat_on_the_lines_that_count() -> None:
    counted = Event("c", 0, 1, {"step_num": 7}, occurrences=2)
    one = made(named(2000), [*named(3), Event("b", 9, 1, {"tf_op": "x:Y"})], [counted])
    b = entries_named(one, lambda name: name == "b")
    assert any_event(one, [0, 1], entries=b)
    assert not any_event(one, [0, 2], entries=b)
    assert any_event(one, [1], stats=("tf_op",))
    assert not any_event(one, [0], stats=("tf_op",))
    assert not any_event(one, [2], stats=("step_num",))
    assert any_event(one, [2], stats=("step_num",), timed=False)


def test_a_stretch_reads_the_stats_of_its_own_events() -> None:
    events = [
        Event("a", i, 1, {"n": i, "name": f"t{i}"} if i % 2 else {"other": i}) for i in range(8)
    ]
    one = made(events)
    stretch = Stretch(one, 3, 7)
    assert stretch.has("n").tolist() == [True, False, True, False]
    assert stretch.has("nowhere").tolist() == [False] * 4
    assert stretch.ints("n", -1).tolist() == [3, -1, 5, -1]
    assert stretch.texts("name") == ["t3", "", "t5", ""]
    part = stats_by_name(one.space, ("other",), 3, 7)["other"]
    assert (part.rows.tolist(), part.ints.tolist()) == ([4, 6], [4, 6])


RECORDINGS = sorted(Path("tests/collection/recordings").rglob("*.xplane.pb.gz"))
PARTS = st.sampled_from(["cond_", "17", "/_", "48", ":", "2D", "0x7f", ".", "9", "_v2", "é", "\n"])


@given(st.lists(st.lists(PARTS, max_size=8).map("".join), max_size=8))
def test_shapes_have_0_in_place_of_each_counter(texts: list[str]) -> None:
    host = made([Event(text, row, 1) for row, text in enumerate(texts)])
    shapes = name_shapes(host)
    counter = re.compile(r"(?<=[_/:.])[0-9]+(?![0-9A-Za-z])")
    expected = [counter.sub("0", name) for name in host.space.event_metadata.name]
    assert [shapes.texts[row] for row in shapes.of_entry.tolist()] == expected
    assert len(set(shapes.texts)) == len(shapes.texts)


def test_names_that_differ_in_counters_are_asked_about_once() -> None:
    host = made([Event(f"cond_{row}/then/_{row + 100}", row, 1) for row in range(50)])
    asked: list[str] = []

    def wanted(name: str) -> bool:
        asked.append(name)
        return True

    assert entries_shaped(host, wanted).all()
    assert asked == ["cond_0/then/_0"]


@pytest.mark.parametrize("path", RECORDINGS[::5], ids=lambda path: path.parent.name)
def test_counters_decide_no_classification(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = decode(gzip.decompress(path.read_bytes()))

    def facts(host: Host) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
        named = host_names(host)
        arrays: list[NDArray[Any]] = [
            named.work,
            named.is_input,
            allocating_names(host),
            waiting_names(host),
        ]
        return [*arrays, *recorder_spans(host), *summary_spans(host)], recorded(
            Profile("p", (host,))
        )

    by_shape = facts(Host("h", space))
    monkeypatch.setattr(presence, "_without_counters", lambda text: text)
    by_name = facts(Host("h", space))
    assert all(map(np.array_equal, by_shape[0], by_name[0]))
    assert by_shape[1] == by_name[1]


NAMES = ["aten::add", "a", "xaten::add", "aten", "", "two\nlines", "lines", "aten::add"]


@pytest.mark.parametrize("prefixes", [("aten",), ("aten::", "x"), ("lines",), ("",), ("b",), ()])
def test_entries_by_beginning_are_those_whose_name_starts_so(prefixes: tuple[str, ...]) -> None:
    host = made([Event(name, row, 1) for row, name in enumerate(NAMES)])
    expected = [name.startswith(prefixes) for name in host.space.event_metadata.name]
    assert entries_starting(host, *prefixes).tolist() == expected


def test_entries_by_name_are_those_of_all_planes() -> None:
    host = Host(
        "h",
        decode(
            space(
                *(
                    plane(one, line("t", *named(1, "a"), *named(1, "b")))
                    for one in ("/host:CPU", "/host:python")
                )
            )
        ),
    )
    listed = host.space.event_metadata.name
    assert sorted(listed) == ["a", "a", "b", "b"]
    assert entries_called(host, ("a", "c")).tolist() == [name == "a" for name in listed]
    assert not entries_called(host, ()).any()
