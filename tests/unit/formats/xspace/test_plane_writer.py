"""Planes written from arrays, read back by google.protobuf."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.formats.xspace.event_bytes import StatValues, encode_events
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema.xspace import XStat
from tests.profiles import parse
from tests.profiles.messages import XEvent, XLine

INTS = st.integers(-(2**63), 2**63 - 1)
COUNTS = st.integers(0, 2**63 - 1)


def test_a_plane_reads_back_as_it_was_written() -> None:
    plane = PlaneWriter("/host:CPU", id=3)
    train = plane.name("train", display="Train", stats={"source": "a.py:1", "flops": 12, "x": 0.5})
    other = plane.name("other")
    plane.stat("core_count", 2)
    plane.stat("host_name", "vm")
    plane.line(
        -7,
        "python",
        metadata=np.array([other, train]),
        start_ns=np.array([1_700_000_000_000_000_500, 1_700_000_000_000_000_100]),
        duration_ns=np.array([3, 1000]),
        stats=[
            Stat("step_num", np.array([-5]), rows=np.array([1])),
            Stat("occupancy", np.array([0.25, 0.75])),
            Stat("big", np.array([2**64 - 1], dtype=np.uint64), rows=np.array([0])),
            Stat("tf_op", plane.texts(["dense/MatMul", "train"]), is_text=True),
        ],
        display_name="Python",
    )
    assert plane.events == 2
    (found,) = parse(plane.xspace(hostname="vm")).planes
    assert (found.id, found.name) == (3, "/host:CPU")
    names = {key: one.name for key, one in found.stat_metadata.items()}
    said = {names[one.metadata_id]: one for one in found.stats}
    assert said["core_count"].int64_value == 2
    assert names[said["host_name"].ref_value] == "vm"
    shared = found.event_metadata[train]
    assert (shared.name, shared.display_name, len(shared.stats)) == ("train", "Train", 3)
    (line,) = found.lines
    assert (line.id, line.name, line.display_name) == (-7, "python", "Python")
    assert line.timestamp_ns == 1_700_000_000_000_000_100
    first, second = line.events
    assert (first.metadata_id, first.offset_ps, first.duration_ps) == (train, 0, 1_000_000)
    assert (second.metadata_id, second.offset_ps, second.duration_ps) == (other, 400_000, 3000)
    stats = {names[one.metadata_id]: one for one in first.stats}
    assert stats["step_num"].int64_value == -5
    assert stats["occupancy"].double_value == 0.75
    assert names[stats["tf_op"].ref_value] == "train"
    assert "big" not in stats
    stats = {names[one.metadata_id]: one for one in second.stats}
    assert stats["big"].uint64_value == 2**64 - 1
    assert names[stats["tf_op"].ref_value] == "dense/MatMul"


@given(
    st.lists(st.tuples(st.integers(1, 2**40), COUNTS, COUNTS), max_size=20),
    st.lists(st.tuples(INTS, st.floats(allow_nan=False)), max_size=20),
)
def test_every_number_is_written_as_protobuf_reads_it(
    events: list[tuple[int, int, int]], values: list[tuple[int, float]]
) -> None:
    columns = np.asarray(events, dtype=np.int64).reshape(-1, 3)
    count = min(len(events), len(values))
    rows = np.arange(count, dtype=np.int64)
    ints = np.asarray([one for one, _ in values[:count]], dtype=np.int64)
    doubles = np.asarray([one for _, one in values[:count]], dtype=np.float64)
    stats = [
        StatValues(300, XStat.INT64_VALUE, rows, ints.view(np.uint64)),
        StatValues(1, XStat.DOUBLE_VALUE, rows, doubles.view(np.uint64)),
    ]
    metadata, offset, duration = np.ascontiguousarray(columns.T)
    line = XLine()
    line.ParseFromString(b"".join(encode_events(metadata, offset, duration, stats)))
    assert [(one.metadata_id, one.offset_ps, one.duration_ps) for one in line.events] == events
    for row, event in enumerate(line.events):
        if row < count:
            assert [one.metadata_id for one in event.stats] == [300, 1]
            assert event.stats[0].int64_value == values[row][0]
            assert event.stats[1].double_value == values[row][1]
        else:
            assert not event.stats


def test_more_events_than_a_block_keep_their_stats() -> None:
    count = 100_000
    plane = PlaneWriter("p")
    rows = np.arange(0, count, 7)
    plane.line(
        1,
        "t",
        metadata=np.full(count, plane.name("e")),
        start_ns=np.arange(count) * 10 + 10**18,
        duration_ns=np.full(count, 4),
        stats=[Stat("n", rows * 3, rows=rows)],
    )
    (found,) = parse(plane.xspace()).planes
    events = found.lines[0].events
    assert [one.offset_ps for one in events] == list(range(0, count * 10_000, 10_000))
    with_stat = {row: one.stats[0].int64_value for row, one in enumerate(events) if one.stats}
    assert with_stat == {row: row * 3 for row in range(0, count, 7)}


def test_what_contains_comes_before_what_it_contains() -> None:
    plane = PlaneWriter("p")
    inner, outer = plane.names(["inner", "outer"])
    plane.line(
        1,
        "t",
        metadata=np.array([inner, outer]),
        start_ns=np.array([5, 5]),
        duration_ns=np.array([1, 9]),
    )
    (found,) = parse(plane.xspace()).planes
    assert [one.metadata_id for one in found.lines[0].events] == [outer, inner]


def test_instants_and_negative_lengths_have_no_length() -> None:
    plane = PlaneWriter("p")
    plane.line(1, "a", metadata=np.array([1]), start_ns=np.array([5]))
    plane.line(2, "b", metadata=np.array([1]), start_ns=np.array([5]), duration_ns=np.array([-3]))
    (found,) = parse(plane.xspace()).planes
    assert [line.events[0].duration_ps for line in found.lines] == [0, 0]


def test_an_empty_line_and_an_empty_plane_are_valid() -> None:
    plane = PlaneWriter("empty")
    assert parse(plane.xspace()).planes[0].name == "empty"
    nothing = np.empty(0, np.int64)
    plane.line(1, "t", metadata=nothing, start_ns=nothing, duration_ns=nothing)
    assert [line.id for line in parse(plane.xspace()).planes[0].lines] == [1]
    assert plane.events == 0


def test_planes_one_behind_the_other_are_one_space() -> None:
    one, two = PlaneWriter("one"), PlaneWriter("two")
    assert [plane.name for plane in parse(one.xspace() + two.xspace()).planes] == ["one", "two"]
    assert [plane.name for plane in decode(one.xspace() + two.xspace()).planes] == ["one", "two"]


@pytest.mark.parametrize("text", ["", "a\udc80b", "\ud800", "名前 µ", "x" * 70_000, "\0#=,"])
def test_any_text_is_a_valid_string(text: str) -> None:
    plane = PlaneWriter(text)
    plane.line(1, text, metadata=np.array([plane.name(text)]), start_ns=np.array([1]))
    plane.stat(text, text)
    (found,) = parse(plane.xspace(hostname=text)).planes
    assert found.lines[0].name == text.encode("utf-8", "replace").decode()


def test_a_stat_of_another_length_than_its_rows_is_refused() -> None:
    plane = PlaneWriter("p")
    with pytest.raises(ValueError, match="'n' has 1 values for 2 rows"):
        plane.line(
            1,
            "t",
            metadata=np.array([1, 1]),
            start_ns=np.array([1, 2]),
            stats=[Stat("n", np.array([1]))],
        )
    with pytest.raises(ValueError, match="'n' has two values for one event"):
        plane.line(
            1,
            "t",
            metadata=np.array([1, 1]),
            start_ns=np.array([1, 2]),
            stats=[Stat("n", np.array([1, 2]), np.array([0, 0]))],
        )
    with pytest.raises(ValueError, match="one length"):
        plane.line(1, "t", metadata=np.array([1, 1]), start_ns=np.array([1]))


def test_an_event_is_what_protobuf_would_write() -> None:
    """The canonical bytes, so that other strict readers take them, too."""
    (data,) = encode_events(np.array([5]), np.array([7]), np.array([300]))
    wanted = XEvent(metadata_id=5, offset_ps=7, duration_ps=300).SerializeToString()
    assert data == bytes([0x22, len(wanted)]) + wanted
