"""Files from strangers: whatever their bytes, every answer is an answer or says what is wrong."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import stepscope
from fuzz.answers import failures, failures_of
from stepscope.errors import StepscopeError
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.limits import LimitError
from stepscope.schema.xspace import (
    MapEntry,
    XEvent,
    XEventMetadata,
    XLine,
    XPlane,
    XSpace,
    XStat,
    XStatMetadata,
)
from stepscope.wire import write as wire
from tests.profiles import worked_example

_LAST = 2**63 - 1


def test_an_empty_file_is_refused_and_nothing_fails(tmp_path: Path) -> None:
    empty = tmp_path / "host.xplane.pb"
    empty.touch()
    with pytest.raises(stepscope.StepscopeError, match="not a recording"):
        stepscope.open(empty)
    assert failures(empty) == failures_of(empty, ("step_account",)) == []


def event(meta: int, offset: int, duration: int, *stats: bytes) -> bytes:
    """An event."""
    body = wire.number(XEvent.METADATA_ID, meta)
    body += wire.number(XEvent.OFFSET_PS, offset, always=True)
    body += wire.number(XEvent.DURATION_PS, duration)
    return body + b"".join(wire.blob(XEvent.STATS, stat) for stat in stats)


def double(name: int, value: float) -> bytes:
    """A stat whose value is a double."""
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return wire.number(XStat.METADATA_ID, name) + wire.fixed64(XStat.DOUBLE_VALUE, bits)


def text(name: int, value: bytes) -> bytes:
    """A stat whose value is a text."""
    return wire.number(XStat.METADATA_ID, name) + wire.blob(XStat.STR_VALUE, value)


def plane(
    name: bytes,
    line: bytes,
    names: tuple[bytes, ...],
    *events: bytes,
    stats: tuple[bytes, ...] = (),
    own: tuple[bytes, ...] = (),
    timestamp_ns: int = 0,
) -> bytes:
    """A plane of one line; names of events and stats are numbered from 1."""
    head = wire.blob(XLine.NAME, line) + wire.number(XLine.TIMESTAMP_NS, timestamp_ns)
    body = wire.blob(XPlane.NAME, name)
    body += wire.blob(XPlane.LINES, head + b"".join(wire.blob(XLine.EVENTS, e) for e in events))
    for which, field, texts in (
        (XPlane.EVENT_METADATA, XEventMetadata.NAME, names),
        (XPlane.STAT_METADATA, XStatMetadata.NAME, stats),
    ):
        for number, each in enumerate(texts, 1):
            entry = wire.number(MapEntry.KEY, number) + wire.blob(
                MapEntry.VALUE, wire.blob(field, each)
            )
            body += wire.blob(which, entry)
    body += b"".join(wire.blob(XPlane.STATS, stat) for stat in own)
    return wire.blob(XSpace.PLANES, body)


HOST, GPU = b"/host:CPU", b"/device:GPU:0"
_CAPABILITIES = (
    b"compute_cap_major",
    b"compute_cap_minor",
    b"core_count",
    b"clock_rate",
    b"memory_bandwidth",
    b"memory_size",
)


def _capabilities(value: float) -> bytes:
    own = tuple(double(i + 1, value) for i in range(len(_CAPABILITIES)))
    return plane(GPU, b"stream", (b"k",), event(1, 5, 7), stats=_CAPABILITIES, own=own)


FILES: dict[str, Callable[[], bytes]] = {
    "a kernel's name is not UTF-8": lambda: plane(GPU, b"stream", (b"k\xff",), event(1, 5, 7)),
    "a line's name is not UTF-8": lambda: plane(HOST, b"t\xff", (b"k",), event(1, 5, 7)),
    "a plane's name is not UTF-8": lambda: plane(GPU + b"\xff", b"s", (b"k",), event(1, 5, 7)),
    "a stat is not UTF-8": lambda: plane(
        HOST, b"t", (b"k",), event(1, 5, 7, text(1, b"v\xfe")), stats=(b"s\xff",)
    ),
    "an error is not UTF-8": lambda: (
        plane(HOST, b"t", (b"k",), event(1, 5, 7)) + wire.blob(XSpace.ERRORS, b"e\xff")
    ),
    "a step of 20 digits": lambda: plane(GPU, b"Steps", (b"9" * 20,), event(1, 5, 7)),
    "a step of 5000 digits": lambda: plane(
        HOST, b"t", (b"ProfilerStep#" + b"9" * 5000,), event(1, 5, 7)
    ),
    "the longest duration": lambda: plane(
        GPU, b"stream", (b"k",), event(1, 5, _LAST), event(1, 9, _LAST)
    ),
    "the last offset": lambda: plane(HOST, b"t", (b"k",), event(1, _LAST, 3), event(1, 0, 3)),
    "the first offset": lambda: plane(HOST, b"t", (b"k",), event(1, -_LAST - 1, 3), event(1, 0, 3)),
    "the last timestamp": lambda: (
        plane(HOST, b"t", (b"k",), event(1, 0, 3), timestamp_ns=_LAST)
        + plane(GPU, b"s", (b"k",), event(1, 0, 3))
    ),
    "steps whose ends wrap": lambda: plane(
        GPU,
        b"Steps",
        (b"1", b"2", b"3"),
        event(1, _LAST - 10, 100),
        event(2, 5, _LAST),
        event(3, 7, 9),
    ),
    "marked steps whose ends wrap": lambda: plane(
        HOST,
        b"t",
        (b"ProfilerStep#1", b"ProfilerStep#2"),
        event(1, _LAST - 10, 100),
        event(2, 5, _LAST),
    ),
    "many durations that sum up beyond int64": lambda: plane(
        HOST, b"t", (b"k",), *(event(1, i, 1 << 59) for i in range(64))
    ),
    **{
        f"capabilities are {value}": partial(_capabilities, value)
        for value in (float("inf"), float("nan"), 1e308)
    },
    "a counter is infinite": lambda: plane(
        GPU, b"_counters_", (b"c",), event(1, 5, 0, double(1, float("inf"))), stats=(b"value",)
    ),
    "no event at all": lambda: plane(HOST, b"t", ()),
}


def written(folder: Path, data: bytes) -> Path:
    """The bytes as a recording."""
    path = folder / "host.xplane.pb"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", FILES)
def test_everything_answers(tmp_path: Path, name: str) -> None:
    assert failures(written(tmp_path, FILES[name]())) == []


def test_the_harness_sees_an_answer_that_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stepscope.timeline import session as timeline_session

    monkeypatch.setattr(timeline_session, "_fingerprint", lambda _: 1 / 0)
    found = failures(written(tmp_path, FILES["no event at all"]()), only="timeline/meta")
    assert len(found) == 1 and "ZeroDivisionError" in found[0]


def test_names_that_are_not_utf8_are_shown_and_written_again_as_they_were() -> None:
    data = FILES["a kernel's name is not UTF-8"]()
    space = decode(data)
    assert space.event_metadata.name == ["k\\xff"]
    assert decode(encode(space)).raw_text == {"k\\xff": b"k\xff"}
    assert b"k\xff" in encode(space) and b"\\xff" not in encode(space)


def test_impossible_times_are_told(tmp_path: Path) -> None:
    with stepscope.open(written(tmp_path, FILES["the longest duration"]())) as session:
        said = {one.slug: one.message for one in session.trace_viewer().diagnostics}
    assert said["impossible-times"].startswith("2 events have times that no recording can have")


def test_times_of_weeks_are_possible(tmp_path: Path) -> None:
    week = 7 * 86_400 * 10**12
    data = plane(HOST, b"t", (b"k",), event(1, 0, week), event(1, week, 5))
    with stepscope.open(written(tmp_path, data)) as session:
        assert [one.slug for one in session.profile.diagnostics] == []
        assert session.profile.hosts[0].space.events.duration_ps.tolist() == [week, 5]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "a plane with one large id",
        "a plane with a stat",
        "an empty plane",
        "an empty line",
        "a line with a name",
        "a line with an unknown field",
    ],
)
def test_memory_is_linear_in_bytes(piece: str) -> None:
    """Eight bytes with the id 2^20 - 1 once took 4 MiB."""
    pieces = {
        "a plane with one large id": bytes.fromhex("0a06220408ffff3f"),
        "a plane with a stat": wire.blob(XSpace.PLANES, wire.blob(XPlane.STATS, b"\x08\x01")),
        "an empty plane": bytes.fromhex("0a00"),
        "an empty line": bytes.fromhex("0a021a00"),
        "a line with a name": bytes.fromhex("0a051a03120161"),
        "a line with an unknown field": bytes.fromhex("0a041a027801"),
    }
    data = pieces[piece] * 1500
    decode(data)
    tracemalloc.start()
    decode(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400 * len(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("0a00") * 5000,
        wire.blob(XSpace.PLANES, bytes.fromhex("1a00") * 5000),
    ],
    ids=["planes", "lines"],
)
def test_more_planes_or_lines_than_any_recording_are_refused(data: bytes) -> None:
    """Each is an object; two megabytes of empty ones would take a gigabyte."""
    with pytest.raises(LimitError, match=r"'tracks': 3,[0-9]{3} planes and lines"):
        decode(data)


@pytest.mark.slow
def test_unknown_fields_are_read_in_linear_time() -> None:
    """Joined one by one, a million of them took minutes."""
    fields = bytes.fromhex("7801") * 500_000
    space = decode(plane(HOST, b"t", (b"k",), event(1, 5, 7)) + fields)
    assert [(one.level, one.data) for one in space.unknown] == [("space", fields)]
    inside = decode(plane(HOST, b"t", (b"k",), event(1, 5, 7) + bytes.fromhex("7801") * 200_000))
    assert [(one.level, len(one.data)) for one in inside.unknown] == [("event", 400_000)]


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("change", ["replace", "overwrite", "cut", "empty", "remove"])
def test_a_file_that_changes_while_it_is_open_gives_its_old_or_new_answer(
    change: str, read: bool, tmp_path: Path
) -> None:
    old, new = (worked_example(gpu=True, steps=count) for count in (40, 20))
    path, other = tmp_path / "host.xplane.pb", tmp_path / "other"
    path.write_bytes(old)
    other.write_bytes(new)
    with stepscope.open(path) as session:
        if read:
            _ = session.profile
        actions: dict[str, Callable[[], object]] = {
            "replace": lambda: other.replace(path),
            "overwrite": lambda: path.write_bytes(new),
            "cut": lambda: os.truncate(path, len(old) // 2),
            "empty": lambda: os.truncate(path, 0),
            "remove": path.unlink,
        }
        actions[change]()
        if not read and change in ("empty", "remove"):
            with pytest.raises(StepscopeError):
                _ = session.profile
            return
        steps = session.overview_page().to_dict()["steps"]["count"]
        said = [one.message for one in session.profile.diagnostics]
    if read:
        assert steps == 38
    elif change == "cut":
        assert said
    else:
        assert steps == 18
