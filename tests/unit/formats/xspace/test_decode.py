"""Decoding: what each column holds, and what the reader does with time and memory."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import numpy as np
import pytest

from stepscope.columns import event_stats
from stepscope.columns import space as columns
from stepscope.errors import DecodeError
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.limits import MAX_NAME_CHARS, cut_name
from tests.oracle.protobuf_space import canonical
from tests.profiles import Kind, host, line, plane, ref, space, u
from tests.profiles.messages import XSpace
from tests.property.wire_bytes import tag, varint

DAY_NS = 24 * 3600 * 10**9


def test_columns_hold_what_was_recorded() -> None:
    data = space(
        host(
            line("a", ("x", 1, 2, {"n": -1, "big": u(2**64 - 1)}), ("y", 5, 0), timestamp_ns=1000),
            line(
                "b", ("x", 0, 3, {"d": 0.5, "s": "text", "r": ref("interned")}), timestamp_ns=3000
            ),
            stats={"pid": 7},
            kinds={"y": Kind(display_name="Y!", stats={"flops": 9}, metadata=b"\x00\xff")},
        ),
        hostnames=["h1"],
        errors=["e"],
        warnings=["w"],
    )
    found = decode(data)
    assert (found.hostnames, found.errors, found.warnings) == (("h1",), ("e",), ("w",))
    assert found.origin_ns == 1000
    assert [row.name for row in found.lines] == ["a", "b"]
    assert [row.shift_ps for row in found.lines] == [0, 2_000_000]
    assert found.events.start_ps.tolist() == [1_000_000, 5_000_000, 2_000_000]
    assert found.events.duration_ps.tolist() == [2_000_000, 0, 3_000_000]
    assert found.events.data.tolist() == [columns.DATA_OFFSET] * 3
    assert found.line_begin.tolist() == [0, 2, 3]
    assert found.event_line.tolist() == [0, 0, 1]
    names = [found.event_metadata.name[row] for row in found.events.metadata.tolist()]
    assert names == ["x", "y", "x"]
    row = found.event_metadata.name.index("y")
    assert found.event_metadata.display_name[row] == "Y!"
    assert found.event_metadata.metadata == {row: b"\x00\xff"}
    assert np.diff(found.event_metadata.stat_begin)[row] == 1
    assert found.events.stat_begin.tolist() == [0, 2, 2, 5]
    keys = [found.stat_metadata.name[key] for key in found.event_stats.key.tolist()]
    assert keys == ["n", "big", "d", "s", "r"]
    assert found.event_stats.kind.tolist() == [4, 3, 2, 5, 7]
    assert found.event_stats.value[:2].tolist() == [2**64 - 1, 2**64 - 1]
    assert struct.pack("<Q", int(found.event_stats.value[2])) == struct.pack("<d", 0.5)
    assert found.stat_metadata.name[int(found.event_stats.value[4])] == "interned"
    assert found.damage is None and found.unknown == ()


def test_ids_without_entry_get_rows_at_the_end() -> None:
    message = XSpace(hostnames=["h"])
    added = message.planes.add(name="p")
    added.event_metadata[5].name = "known"
    row = added.lines.add(name="l")
    for number in (5, 900, -3, 2**62, 900):
        event = row.events.add(metadata_id=number, offset_ps=0)
        event.stats.add(metadata_id=number, ref_value=77)
    found = decode(message.SerializeToString())
    ids = found.event_metadata.id[found.events.metadata].tolist()
    assert ids == [5, 900, -3, 2**62, 900]
    assert found.event_metadata.present.tolist() == [True, False, False, False]
    assert found.event_metadata.id.tolist() == [5, -3, 900, 2**62], (
        "in order, whichever thread met them"
    )
    assert found.stat_metadata.id[found.event_stats.value].tolist() == [77] * 5
    assert not found.stat_metadata.present.any()


def test_many_different_unknown_ids_are_all_told_apart() -> None:
    message = XSpace(hostnames=["h"])
    row = message.planes.add(name="p").lines.add(name="l")
    ids = [(i * 2_654_435_761) % 2**40 for i in range(20_000)]
    for number in ids:
        row.events.add(metadata_id=number)
    found = decode(message.SerializeToString())
    assert found.event_metadata.id[found.events.metadata].tolist() == ids


def test_aggregated_events_stand_at_the_origin_of_their_line() -> None:
    message = XSpace(hostnames=["h"])
    row = message.planes.add(name="p").lines.add(name="l", timestamp_ns=50)
    row.events.add(num_occurrences=12, duration_ps=5)
    row.events.add(offset_ps=4)
    row.events.add()
    found = decode(message.SerializeToString())
    assert found.events.occurrences == {0: 12}
    assert found.events.start_ps.tolist() == [0, 4, 0]
    kinds = [columns.DATA_OCCURRENCES, columns.DATA_OFFSET, columns.DATA_NONE]
    assert found.events.data.tolist() == kinds


def test_lines_of_another_clock_do_not_displace_the_others() -> None:
    """Most events count from 1970; one line counts from boot."""
    wall = 1_700_000_000 * 10**9
    found = decode(
        space(
            host(
                line("boot", ("x", 1, 1), timestamp_ns=5),
                line("wall", ("x", 1, 1), ("x", 3, 1), timestamp_ns=wall),
                line("later", ("x", 1, 1), timestamp_ns=wall + DAY_NS),
                line("empty", timestamp_ns=wall - DAY_NS),
            )
        )
    )
    assert found.origin_ns == wall
    shifts = [row.shift_ps for row in found.lines]
    assert shifts == [0, 0, DAY_NS * 1000, -DAY_NS * 1000]
    assert canonical(encode(found)) is not None


def test_extreme_offsets_wrap_and_come_back() -> None:
    message = XSpace(hostnames=["h"])
    rows = message.planes.add(name="p").lines
    rows.add(name="a", timestamp_ns=1).events.add(offset_ps=1)
    rows.add(name="b", timestamp_ns=2).events.add(offset_ps=2**63 - 1)
    rows.add(name="c", timestamp_ns=3).events.add(offset_ps=-(2**63))
    data = message.SerializeToString()
    assert canonical(encode(decode(data))) == canonical(data)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int) -> None:
    lines = [
        line(str(i), *((f"e{i}.{k}", k, 1, {"i": k}) for k in range(200 * (i % 3))))
        for i in range(40)
    ]
    data = space(host(*lines), plane("q", *lines[:7]))
    one, many = decode(data, threads=1), decode(data, threads=threads)
    assert one.lines == many.lines
    assert one.events.metadata.tolist() == many.events.metadata.tolist()
    assert one.event_stats.value.tolist() == many.event_stats.value.tolist()


def test_progress_ends_at_its_total() -> None:
    calls: list[tuple[int, int]] = []
    data = space(host(*(line(str(i), ("x", 0, 1)) for i in range(5))))
    decode(data, progress=lambda done, total: calls.append((done, total)))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1] > 0


def test_decoding_leaves_the_buffer_as_it_is() -> None:
    data = space(host(line("a", ("x", 0, 1, {"s": "text"}))))
    mapped = mmap.mmap(-1, len(data))
    mapped[:] = data
    found = decode(mapped)
    assert bytes(found.buffer) == data


def test_strict_raises_the_damage() -> None:
    data = space(host(line("a", ("x", 0, 1), ("y", 1, 1))))[:-20]
    assert decode(data).damage is not None
    with pytest.raises(DecodeError):
        decode(data, strict=True)


def test_a_file_beyond_two_gigabytes(tmp_path: Path) -> None:
    """Offsets are 64-bit everywhere; the stat in front is a hole that is never touched."""
    hole = 2**31 + 2**20
    tail = space(host(line("a", ("x", 1, 2, {"s": "behind", "n": 5}))))
    stat = tag(6, 2) + varint(hole)
    stats = tag(6, 2) + varint(len(stat) + hole) + stat
    head = tag(1, 2) + varint(len(stats) + hole) + stats
    path = tmp_path / "sparse.xplane.pb"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + hole)
        file.seek(0, 2)
        file.write(tail)
    if path.stat().st_blocks * 512 > hole // 4:
        pytest.skip("the file system of the temporary folder has no sparse files")
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found = decode(mapped)
    assert found.damage is None
    assert event_stats(found, 0) == [("s", "behind"), ("n", 5)]
    assert int(found.event_stats.value[0]) > 2**31
    assert found.plane_stats.kind.tolist() == [columns.KIND_BYTES]


@pytest.mark.parametrize("far", [0, 2 << 20], ids=["near", "far apart"])
def test_names_are_read_whole_whatever_they_hold_and_wherever_they_stand(far: int) -> None:
    long = "x" * (MAX_NAME_CHARS + 1)
    names = ["plain", "größe", "", "日本", "\x7f", *(f"n{i}" for i in range(1500))]
    kinds = {"plain": Kind(metadata=b"\xff" * far)}
    data = space(
        host(line("a", *((name, i, 1) for i, name in enumerate([*names, long]))), kinds=kinds)
    )
    expected = {*names, cut_name(long.encode()).decode()}  # a map has no order
    assert set(decode(data).event_metadata.name) == expected
