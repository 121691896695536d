"""Exports, read back by other code than wrote them."""

from __future__ import annotations

import gzip
import json
import struct
from collections import defaultdict
from math import isnan
from typing import Any

import pytest

from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import Timeline, timeline
from tests.profiles import (
    Event,
    Kind,
    gpu,
    host,
    line,
    overlapping_streams,
    parse,
    plane,
    space,
    stream,
    u,
)
from tests.profiles import worked_example as worked

Fields = dict[int, list[Any]]


def opened(*spaces: bytes) -> Timeline:
    hosts = tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(spaces))
    return timeline(Profile("s", hosts))


def written(found: Timeline, format: str, view: tuple[int, int] | None = None) -> bytes:
    begin, end = view or (found.span()[0], found.span()[1] + 1)
    return b"".join(RECORDING_FORMATS[format].write(found, begin, end))


def fields(data: bytes) -> Fields:
    """The fields of one protobuf message by number."""
    found: Fields = defaultdict(list)
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            found[tag >> 3].append(varint())
        elif tag & 7 == 1:
            found[tag >> 3].append(data[at : at + 8])
            at += 8
        else:
            assert tag & 7 == 2
            size = varint()
            found[tag >> 3].append(data[at : at + size])
            assert at + size <= len(data)
            at += size
    return found


class Replay:
    """What a viewer makes of a Perfetto trace: slices from begins and ends, flows, counters."""

    def __init__(self, data: bytes) -> None:
        self.names: dict[int, str] = {}
        self.tracks: dict[int, str] = {}
        self.slices: list[tuple[str, str, int, int]] = []
        self.instants: list[str] = []
        self.texts: dict[int, bytes] = {}
        self.keys: dict[int, str] = {}
        self.stats: dict[str, dict[str, Any]] = defaultdict(dict)
        self.counters: list[int] = []
        self.flows: dict[bytes, list[str]] = defaultdict(list)
        stacks: dict[int, list[tuple[str, int]]] = defaultdict(list)
        last: dict[int, int] = defaultdict(int)
        for packet in fields(data)[1]:
            body = fields(packet)
            for interned in body[12]:
                for entry in fields(interned)[2]:
                    one = fields(entry)
                    self.names[one[1][0]] = one[2][0].decode() if one[2] else ""
                for entry in fields(interned)[3]:
                    self.keys[fields(entry)[1][0]] = fields(entry)[2][0].decode()
                for entry in fields(interned)[29]:
                    one = fields(entry)
                    self.texts[one[1][0]] = one[2][0] if one[2] else b""
            for descriptor in body[60]:
                one = fields(descriptor)
                self.tracks[one[1][0]] = one[2][0].decode() if one[2] else ""
            for event in body[11]:
                one = fields(event)
                track, time = one[11][0], body[8][0]
                assert track in self.tracks and time >= last[track]
                last[track] = time
                self._take(one, self.tracks[track], stacks[track], time)
        assert not any(stacks.values())

    def _take(self, event: Fields, track: str, stack: list[tuple[str, int]], time: int) -> None:
        kind = event[9][0]
        if kind == 4:
            self.counters.append(time)
            return
        if kind == 2:
            name, begin = stack.pop()
            self.slices.append((track, name, begin, time))
            return
        name = self.names[event[10][0]]
        for annotation in event[4]:
            key, value = self._stat(fields(annotation))
            self.stats[name][key] = value
        for flow in (*event[47], *event[48]):
            self.flows[flow].append(name)
        if kind == 1:
            stack.append((name, time))
        else:
            self.instants.append(name)

    def _stat(self, annotation: Fields) -> tuple[str, Any]:
        """Name and value of a debug annotation: uint 3, int 4, double 5, interned text 17."""
        ((field, (value,)),) = ((number, of) for number, of in annotation.items() if number != 1)
        if field == 4 and value >> 63:
            value -= 1 << 64
        if field == 5:
            (value,) = struct.unpack("<d", value)
        return self.keys[annotation[1][0]], self.texts[value] if field == 17 else value


STATS: dict[str, Any] = {
    "small": 7,
    "huge": u(2**64 - 5),
    "below": -(2**40),
    "share": 0.1,
    "nan": float("nan"),
    "text": 'a "b"',
    "raw": b"\x00\xff",
}


def with_stats() -> Timeline:
    """Two events with all kinds of stats, one of them shared by the kind; one without any."""
    kind = Kind(stats={"flops": 12, "small": 1})
    events = line("m", ("full", 0, 5, STATS), ("full", 6, 5), ("bare", 12, 1))
    return opened(space(plane("/host:CPU", events, kinds={"full": kind})))


def test_perfetto_has_the_stats_of_every_event_and_of_its_kind() -> None:
    replay = Replay(written(with_stats(), "perfetto"))
    found = replay.stats["full"]
    assert isnan(found.pop("nan"))
    assert found == {
        "flops": 12,
        "small": 1,  # of the second, which has no stat of its own by this name
        "huge": 2**64 - 5,
        "below": -(2**40),
        "share": 0.1,
        "text": b'a "b"',
        "raw": b"2 bytes: 00ff",
    }
    assert "bare" not in replay.stats


def test_chrome_json_has_the_stats_and_writes_what_json_has_no_number_for_as_text() -> None:
    trace = json.loads(written(with_stats(), "chrome-json"))["traceEvents"]
    first, second, bare = (event for event in trace if event["ph"] == "X")
    assert first["args"] == {
        "flops": 12,
        "small": 7,
        "huge": str(2**64 - 5),
        "below": -(2**40),
        "share": 0.1,
        "nan": "NaN",
        "text": 'a "b"',
        "raw": "2 bytes: 00ff",
    }
    assert second["args"] == {"flops": 12, "small": 1}
    assert "args" not in bare


def test_perfetto_has_every_slice_where_it_was() -> None:
    found = opened(worked(gpu=True))
    replay = Replay(written(found, "perfetto"))
    assert len(replay.slices) == sum(len(one) for one in found.tracks)
    assert ("tf_exec", "IteratorGetNext", 1_020_000, 1_220_000) in replay.slices
    pairs = sorted({tuple(names) for names in replay.flows.values()})
    assert len(replay.flows) == 24 and ("FunctionRun", "ExecutorState::Process") in pairs


def test_perfetto_keeps_instants_counters_and_events_that_overlap_in_part() -> None:
    used = {"allocator_name": "bfc", "bytes_allocated": 5}
    found = opened(
        space(
            host(
                line(
                    "main",
                    ("a", 0, 10),
                    ("b", 5, 10),
                    Event("MemoryAllocation", 5, 0, used),
                    ("c", 10, 0),
                )
            )
        )
    )
    replay = Replay(written(found, "perfetto"))
    assert sorted(one[1] for one in replay.slices if one[0].startswith("main")) == ["a", "b"]
    assert sorted(replay.instants) == ["MemoryAllocation", "c"]
    assert replay.counters == [5000]


def test_perfetto_nests_events_that_begin_and_end_together() -> None:
    found = opened(space(host(line("m", ("a", 0, 10), ("b", 0, 10), ("c", 0, 5), ("d", 10, 5)))))
    slices = [one[1:] for one in Replay(written(found, "perfetto")).slices if one[0] == "m"]
    assert sorted(slices) == [
        ("a", 0, 10_000),
        ("b", 0, 10_000),
        ("c", 0, 5_000),
        ("d", 10_000, 15_000),
    ]


def test_an_event_may_have_many_flows() -> None:
    many = 40
    calls = [("call", 0, 5, {"_pt": 1, "_p": 3})]
    work = [(f"w{i}", 10 * i + 10, 5, {"_ct": 1, "_c": 3}) for i in range(many)]
    found = opened(space(host(line("a", *calls), line("b", *work, id=2))))
    flows = Replay(written(found, "perfetto")).flows
    assert sorted(names[1] for names in flows.values()) == sorted(f"w{i}" for i in range(many))


def test_chrome_json_has_every_event_flow_and_exact_times() -> None:
    found = opened(worked(gpu=True))
    trace = json.loads(written(found, "chrome-json"))
    assert json.loads(gzip.decompress(written(found, "chrome"))) == trace
    by_phase: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        by_phase[event["ph"]].append(event)
    assert len(by_phase["X"]) == sum(len(one) for one in found.tracks)
    assert len(by_phase["s"]) == len(by_phase["f"]) == 24
    assert {"name": "python"} in [event["args"] for event in by_phase["M"]]
    train = [event for event in by_phase["X"] if event["name"] == "train"]
    assert [event["ts"] for event in train] == [1000 * step for step in range(8)]


def test_a_range_holds_what_touches_it() -> None:
    found = opened(worked(gpu=True))
    view = (2_000_000_000, 3_000_000_000)
    replay = Replay(written(found, "perfetto", view))
    assert {one[1] for one in replay.slices} >= {"train", "IteratorGetNext"}
    assert sum(one[1] == "train" for one in replay.slices) == 1
    cut = parse(written(found, "xspace", view))
    assert (
        sum(
            event.duration_ps == 900_000_000
            for p in cut.planes
            for x in p.lines
            for event in x.events
        )
        == 1
    )


def test_the_whole_as_xspace_is_the_recording() -> None:
    for data in (worked(gpu=True), overlapping_streams()):
        assert parse(written(opened(data), "xspace")) == parse(data)


def test_two_hosts_do_not_fit_one_xspace() -> None:
    with pytest.raises(UsageError, match="holds one host"):
        written(opened(worked(), worked()), "xspace")


def test_names_that_are_no_text_still_export() -> None:
    found = opened(
        space(
            host(line("m", ('"\\\n', 0, 5), ("‮", 6, 5))),
            gpu(0, stream(7, ("k", 0, 1, {"x": u(1)}))),
        )
    )
    names = {event["name"] for event in json.loads(written(found, "chrome-json"))["traceEvents"]}
    assert {'"\\\n', "‮"} <= names
    assert '"\\\n' in {one[1] for one in Replay(written(found, "perfetto")).slices}


def test_times_before_the_origin_stand_at_it_in_perfetto() -> None:
    found = opened(space(host(line("m", ("early", -5, 3), ("late", 5, 3)))))
    slices = {one[1]: one[2:] for one in Replay(written(found, "perfetto")).slices}
    assert slices["early"] == (0, 0) and slices["late"] == (5_000, 8_000)
