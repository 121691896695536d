"""Small files whose structure stands for billions of things: read in proportion, or refused."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import stepscope
from stepscope.errors import StepscopeError
from stepscope.limits import Budget, LimitError, spending
from stepscope.store import find
from stepscope.wire import write as wire
from tests.unit.formats.nsight.export import call, export, kernel
from tests.unit.formats.rocprof.files import old_trace


def pickled(*parts: bytes) -> bytes:
    """A pickle of protocol 4."""
    return b"\x80\x04" + b"".join(parts) + b"."


def text(value: str) -> bytes:
    """The instruction that makes a text."""
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value: int) -> bytes:
    """The instruction that makes a number."""
    return b"J" + struct.pack("<i", value)


def mapping(**items: bytes) -> bytes:
    """Instructions that make a dict."""
    return b"}(" + b"".join(text(key) + value for key, value in items.items()) + b"u"


def shared_tuples() -> bytes:
    """A key that is a tuple of two of a tuple of two …, whose hash visits 2^60 things."""
    tuples = b")r" + struct.pack("<I", 100)
    for place in range(100, 160):
        tuples += (b"h" + bytes([place])) * 2 + b"\x86r" + struct.pack("<I", place + 1)
    key = b"((" + tuples + b"tNu"
    return pickled(mapping(segments=b"]", device_traces=b"]")[:-1], b"}", key, b"u")


def shared_blocks(count: int = 20_000) -> bytes:
    """References to one segment of as many references to one block."""
    block = mapping(
        size=number(512), state=text("active_allocated"), address=number(4096), frames=b"]"
    )
    blocks = b"](" + block + b"r\1\0\0\0" + b"h\1" * count + b"e"
    segment = mapping(device=number(0), total_size=number(1024), blocks=blocks)
    segments = b"](" + segment + b"r\2\0\0\0" + b"h\2" * count + b"e"
    return pickled(mapping(segments=segments, device_traces=b"]"))


def shared_frames(count: int = 2_000) -> bytes:
    """Lists of 256 references to one frame with a name of 4 kB, in as many events."""
    frame = mapping(filename=text("a.py"), line=number(1), name=text("f" * 4096))
    events = b"](" + frame + b"r\1\0\0\0"
    for row in range(count):
        frames = b"](" + b"h\1" * (250 + row % 5) + b"e"
        events += mapping(action=text("alloc"), addr=number(row), size=number(512), frames=frames)
    return pickled(mapping(segments=b"]", device_traces=b"](" + events + b"ee"))


def dump_of_shared_frames(count: int = 2_000) -> bytes:
    """The same in a dump of the flight recorder."""
    frame = mapping(filename=text("a.py"), line=number(1), name=text("f" * 4096))
    entries = b"](" + frame + b"r\1\0\0\0"
    for row in range(count):
        frames = b"](" + b"h\1" * (250 + row % 5) + b"e"
        entries += mapping(time_created_ns=number(row + 1), frames=frames)
    return pickled(mapping(version=text("2.4"), entries=entries + b"e", pg_config=b"}"))


def shared_ranks(count: int = 20_000) -> bytes:
    """Process groups that all refer to one long list of ranks."""
    ranks = b"](" + b"".join(b"M" + row.to_bytes(2, "little") for row in range(count)) + b"e"
    groups = mapping(**{str(row): mapping(ranks=b"h\1") for row in range(count)})
    first = mapping(first=mapping(ranks=ranks + b"r\1\0\0\0"))
    return pickled(mapping(version=text("2.4"), entries=b"]", other=first, pg_config=groups))


def nested_json(depth: int = 100_000) -> bytes:
    """A profile of lists in lists."""
    lists = "[" * depth + "]" * depth
    schema = "https://www.speedscope.app/file-format-schema.json"
    profile = f'[{{"type": "sampled", "samples": {lists}}}]'
    return f'{{"$schema": "{schema}", "profiles": {profile}, "shared": {{"frames": []}}}}'.encode()


def alternating_stacks(samples: int = 60_000, depth: int = 1_000) -> bytes:
    """Samples that alternate between two deep stacks: each makes a slice at every depth."""
    prefix = [None, *range(depth - 1), None, *range(depth, 2 * depth - 1)]
    frames = [0] * depth + [1] * depth
    thread = {
        "name": "main",
        "tid": 1,
        "stringArray": ["f", "g"],
        "samples": {
            "stack": [depth - 1, 2 * depth - 1] * (samples // 2),
            "time": list(range(samples)),
        },
        "stackTable": {"prefix": prefix, "frame": frames},
        "frameTable": {"func": [0, 1], "line": [1, 1]},
        "funcTable": {"name": [0, 1], "fileName": [0, 0]},
    }
    return json.dumps({"meta": {"interval": 1}, "threads": [thread]}).encode()


def shared_tables(threads: int = 3_000, rows: int = 3_000) -> bytes:
    """Threads that each read the tables which all of them share."""
    shared = {
        "stringArray": ["f"] * rows,
        "stackTable": {"prefix": [None] * rows, "frame": [0] * rows},
        "frameTable": {"func": [0] * rows},
        "funcTable": {"name": [0]},
    }
    one = {"samples": {"stack": [0], "time": [1]}}
    profile = {"meta": {"interval": 1}, "shared": shared, "threads": [one] * threads}
    return json.dumps(profile).encode()


def inlined_calls(samples: int = 50_000, lines: int = 1_000) -> bytes:
    """Samples of one location that claims to be as many inlined calls."""
    location = wire.number(1, 1) + wire.blob(4, wire.number(1, 1) + wire.number(2, 5)) * lines
    profile = wire.blob(1, wire.number(1, 1) + wire.number(2, 2)) + wire.blob(4, location)
    profile += wire.blob(5, wire.number(1, 1) + wire.number(2, 1)) + wire.blob(6, b"", always=True)
    profile += wire.blob(6, b"samples") + wire.blob(6, b"count")
    return profile + wire.blob(2, wire.number(1, 1) + wire.number(2, 1)) * samples


def nested_messages(depth: int = 100_000) -> bytes:
    """Planes in planes, each a field of the one around it."""
    data = b""
    for _ in range(200):
        data = wire.blob(1, data, always=True)
    return data * (depth // 200)


def sparse_gzip(size: int = 200 << 20) -> bytes:
    """200 MB of blanks in 200 kB."""
    return gzip.compress(b"[" + b" " * size, 1)


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a key of shared tuples": ("a.pickle", shared_tuples),
    "segments that share blocks": ("a.pickle", shared_blocks),
    "events that share frames": ("a.pickle", shared_frames),
    "calls that share frames": ("nccl_trace_rank_0", dump_of_shared_frames),
    "groups that share ranks": ("nccl_trace_rank_0", shared_ranks),
    "lists in lists": ("a.speedscope.json", nested_json),
    "deep stacks in turn": ("a.json", alternating_stacks),
    "threads that share tables": ("a.json", shared_tables),
    "inlined calls": ("a.pb", inlined_calls),
    "messages in messages": ("a.xplane.pb", nested_messages),
    "blanks in gzip": ("a.trace.json.gz", sparse_gzip),
}


@pytest.mark.parametrize("name", FILES)
def test_a_small_file_costs_what_its_bytes_explain(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in units that every machine counts alike, since seconds depend on the machine."""
    file, build = FILES[name]
    path = tmp_path / file
    path.write_bytes(build())
    budgets: list[Budget] = []

    def kept(budget: Budget) -> object:
        budgets.append(budget)
        return spending(budget)

    monkeypatch.setattr("stepscope.session.decoded_run.spending", kept)
    try:
        with stepscope.open(path) as session:
            hosts = session.profile.hosts
            events = sum(len(host.space.events.start_ps) for host in hosts)
        assert events <= budgets[-1].allowed("objects")
    except StepscopeError as error:
        assert error.hint and "Traceback" not in str(error)
    for budget in budgets:
        for limit, spent in budget._spent.items():
            # The unit that was refused was counted, and not done.
            assert spent <= 3 * budget.allowed(limit), limit


def _tree_of_shared_pages(path: Path, levels: int) -> None:
    """A table whose inner pages all have one child, so that 60^levels rows are in it."""
    page = 512
    base = sqlite3.connect(path)
    base.executescript(
        "PRAGMA page_size=512; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER,"
        "contextId INTEGER, streamId INTEGER, correlationId INTEGER, demangledName INTEGER);"
    )
    rows = [(row * 10, row * 10 + 5, 0, 1, 7, row, 1) for row in range(500)]
    base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,?,?,?,?,?)", rows)
    base.commit()
    found = base.execute("SELECT rootpage FROM sqlite_master WHERE name LIKE 'CUPTI%'")
    root = int(found.fetchone()[0])
    base.close()
    data = bytearray(path.read_bytes())
    count = len(data) // page
    below = root
    while data[(below - 1) * page] == 5:
        at = (below - 1) * page
        cell = int.from_bytes(data[at + 12 : at + 14], "big")
        below = int.from_bytes(data[at + cell : at + cell + 4], "big")
    for level in range(levels):
        inner = bytearray(page)
        inner[0], inner[3:5] = 5, (60).to_bytes(2, "big")
        inner[5:7], inner[8:12] = (page - 300).to_bytes(2, "big"), below.to_bytes(4, "big")
        for number_ in range(60):
            at = page - 5 * (number_ + 1)
            inner[at : at + 5] = below.to_bytes(4, "big") + b"\1"
            inner[12 + 2 * number_ : 14 + 2 * number_] = at.to_bytes(2, "big")
        if level == levels - 1:
            data[(root - 1) * page : root * page] = inner
        else:
            data += inner
            count += 1
            below = count
    data[28:32] = count.to_bytes(4, "big")
    path.write_bytes(data)


@pytest.mark.parametrize("levels", [3, 4, 6])
def test_a_table_has_no_more_rows_than_its_file_has_room_for(levels: int, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    _tree_of_shared_pages(path, levels)
    try:
        with stepscope.open(path) as session:
            events = sum(len(host.space.events.start_ps) for host in session.profile.hosts)
            said = " ".join(one.message for one in session.profile.diagnostics)
        assert events <= path.stat().st_size // 4 and "more rows than the file" in said
    except LimitError as error:
        assert "'work'" in error.what


def _nsight_devices(path: Path, count: int) -> Path:
    """A kernel on each of many devices."""
    kernels = [kernel(10 * n, 10 * n + 5, 1, n, deviceId=n) for n in range(1, count + 1)]
    calls = [call(10 * n, 10 * n + 2, 2, n) for n in range(1, count + 1)]
    return export(path, ("gemm", "cudaLaunchKernel"), kernels=kernels, calls=calls)


def _kineto_devices(path: Path, count: int) -> Path:
    """A kernel on each of many devices, in JSON."""
    place = {"ph": "X", "cat": "kernel", "name": "gemm", "dur": 3}
    events = [
        {**place, "pid": n, "tid": 7, "ts": n, "args": {"device": n, "stream": 7}}
        for n in range(count)
    ]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_more_devices_than_any_recorder_writes_are_refused(tmp_path: Path) -> None:
    """Each is a plane and a line, as in XSpace: 4,500 of them in 0.8 MB once took 3 s."""
    path = _kineto_devices(tmp_path / "a.pt.trace.json", 2600)
    with stepscope.open(path) as session, pytest.raises(LimitError, match="'tracks'"):
        _ = session.profile


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "build"), [("a.sqlite", _nsight_devices), ("a.pt.trace.json", _kineto_devices)]
)
def test_devices_are_read_in_linear_time(
    name: str, build: Callable[[Path, int], Path], tmp_path: Path
) -> None:
    """Four times as many once took eleven times as long; the ratio does not know the machine."""
    took = []
    for count in (100, 400, 1600):
        path = build(tmp_path / f"{count}{name}", count)
        began = time.process_time()
        with stepscope.open(path) as session:
            assert len(session.profile.hosts[0].space.planes) >= count
        took.append(time.process_time() - began)
    assert took[2] < 8 * took[1]


@pytest.mark.parametrize("padding", [0, 30_000, 100_000])
def test_a_file_is_recognised_by_the_same_bytes_in_gzip(padding: int, tmp_path: Path) -> None:
    """Sixteen times as many of its first bytes once decided in gzip."""
    path = tmp_path / "results.json"
    trace = json.loads(old_trace(path).read_text())
    padded = [{"ph": "M", "name": "pad", "pid": 1, "args": {"name": "x" * padding}}]
    path.write_text(json.dumps({"traceEvents": padded + trace["traceEvents"]}))
    packed = tmp_path / "results.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (plain,), (inflated,) = (
        {source.format for run in find(one).runs for source in run.sources}
        for one in (path, packed)
    )
    assert plain == inflated
