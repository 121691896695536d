"""``python3 dev.py bench --formats``: recordings of other tools, opened cold.

Files are made by the builders of our tests, larger by repetition with times and numbers moved on;
Nsight's is the shared one where it is here. Each is opened in a process of its own: bytes as
stored, processor time from its begin to the columns, and the most memory it held, of which
"empty" is what a process holds that has imported the reader and opened a file of one event. "x" is
the rest against the columns that stay.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.machine import machine, say
from bench.measure import Run, measure
from bench.recordings import ROOT
from stepscope.wire import write as wire
from tests.unit.formats.nccl.dumps import as_pytorch, dump, entry, log, perf
from tests.unit.formats.nsight.export import call, export, kernel, range_
from tests.unit.formats.nsight.folder import KINDS, folder_of, write
from tests.unit.formats.perfetto.traces import NEEDS, packet, small
from tests.unit.formats.perfetto.traces import event as event_of
from tests.unit.formats.rocprof.files import (
    kernel_csv,
    old_database,
    old_kernel,
    old_trace,
    rocpd,
    run,
    tool_json,
)
from tests.unit.formats.stacks.files import PERF, gecko, pprof, speedscope, tachyon
from tests.unit.formats.torch_memory.snapshot import event, frames, training

FOLDER: Final = ROOT / ".stepscope" / "bench" / "formats"
SHARED: Final = ROOT.parent / "shared" / "data" / "nsight" / "h100_2gpu_1s.sqlite"
_NS: Final = 1_000_000_000
_OPEN: Final = """
import sys
from stepscope.formats import FORMATS
from stepscope.store import read_pieces
space = FORMATS[sys.argv[1]].open(read_pieces(sys.argv[2]), sys.argv[2])
events, stats = space.events, space.event_stats
columns = (events.metadata, events.start_ps, events.duration_ps, events.data, events.stat_begin,
           stats.key, stats.kind, stats.value)
print(len(events), sum(one.nbytes for one in columns))
"""


def main() -> int:
    """Make and open a file of each format; a row each."""
    parser = argparse.ArgumentParser(prog="dev.py bench --formats", description=__doc__)
    parser.add_argument("--formats", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--times", type=int, default=40, help="how large the files are made")
    parser.add_argument("--only", default="", help="only these formats, by commas")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("path", nargs="?", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    times = given.times
    if given.make:
        MADE[given.make](given.path, times)
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(machine())
    print(
        f"{'format':<17}{'MB':>8}{'events':>11}{'cpu s':>8}{'MB/s':>8}{'events/s':>11}"
        f"{'peak MB':>9}{'empty MB':>10}{'columns MB':>12}{'x':>6}"
    )
    for name in MADE:
        format_, _, file = name.partition(":")
        if given.only and format_ not in given.only.split(","):
            continue
        small, large = FOLDER / f"small_{file}", FOLDER / f"large_{file}"
        for path, size in ((small, 0), (large, times)):
            say(f"making {path.name}")
            _remove(path)
            # In a process of its own: what this one holds would count as its children's memory.
            command = [sys.executable, "-m", "bench.formats", "--make", name, "--times", str(size)]
            subprocess.run([*command, str(path)], check=True, cwd=ROOT)
        print(_row(format_, small, large), flush=True)
        _remove(small)
        _remove(large)
    return 0


def _remove(path: Path) -> None:
    """A file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def _bytes_of(path: Path) -> int:
    return sum(one.stat().st_size for one in (path.iterdir() if path.is_dir() else (path,)))


def _row(format_: str, small: Path, large: Path) -> str:
    empty, *_ = _opened(format_, small)
    took, events, columns = _opened(format_, large)
    columns_mb = columns / 1e6
    size_mb, cpu_s = _bytes_of(large) / 1e6, max(took.cpu_s - empty.cpu_s, 0.01)
    return (
        f"{format_:<17}{size_mb:>8.1f}{events:>11,}{cpu_s:>8.2f}{size_mb / cpu_s:>8.1f}"
        f"{events / cpu_s:>11,.0f}{took.peak_mb:>9.0f}{empty.peak_mb:>10.0f}"
        f"{columns_mb:>12.1f}{(took.peak_mb - empty.peak_mb) / columns_mb:>6.2f}"
    )


def _opened(format_: str, path: Path) -> tuple[Run, int, int]:
    """What it took, and how many events with how many bytes of columns it gave."""
    output = FOLDER / "output.log"
    took = measure([sys.executable, "-c", _OPEN, format_, str(path)], output)
    events, columns = map(int, output.read_text().splitlines()[-1].split())
    return took, events, columns


def _nsight(path: Path, times: int) -> None:
    """The shared export again and again, a second later each; else one of our own."""
    if not SHARED.is_file() or not times:
        count = 25_000 * times + 1
        export(
            path,
            ("gemm", "cudaLaunchKernel_v7000"),
            kernels=[kernel(1000 * n + 300, 1000 * n + 900, 1, n) for n in range(1, count)]
            or [kernel(1, 2, 1, 1)],
            calls=[call(1000 * n, 1000 * n + 50, 2, n) for n in range(1, count)],
            ranges=[range_(1000 * n, 1000 * n + 90, "aten::mm") for n in range(1, count)],
        )
        return
    shutil.copyfile(SHARED, path)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TEMP TABLE again (n)")
        database.executemany("INSERT INTO again VALUES (?)", [(n,) for n in range(1, times)])
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            if (
                not {"start", "end", "globalPid", "globalTid"} & set(columns)
                or "end" not in columns
            ):
                continue
            moved = {
                "start": f"start + n * {_NS}",
                "end": f'"end" + n * {_NS}',
                "correlationId": "correlationId + n * 3000000",
            }
            values = ", ".join(moved.get(one, f'"{one}"') for one in columns)
            database.execute(
                f"INSERT INTO {table} SELECT {values} FROM (SELECT * FROM {table}), again"
            )
    database.close()


def _parquet(path: Path, times: int) -> None:
    _table_folder(path, times, KINDS[0])


def _arrow(path: Path, times: int) -> None:
    _table_folder(path, times, KINDS[1])


def _table_folder(path: Path, times: int, kind: str) -> None:
    """The same export as a folder: the rows of each table again and again, a second later each."""
    import polars as pl  # heavy: the process that measures must stay small

    database = path.with_suffix(".sqlite")
    _nsight(database, min(times, 1))
    folder_of(database, path, kind)
    database.unlink()
    moves = {"start": _NS, "end": _NS, "correlationId": 3_000_000}
    for file in path.iterdir():
        read = pl.read_parquet if kind == KINDS[0] else pl.read_ipc
        frame = read(file.read_bytes())
        if "start" not in frame.columns or "end" not in frame.columns:
            continue
        moved = {one: by for one, by in moves.items() if one in frame.columns}
        again = [
            frame.with_columns(pl.col(one).cast(pl.Int64) + n * by for one, by in moved.items())
            for n in range(max(times, 1))
        ]
        write(pl.concat(again), file, kind)


def _repeated_run(times: int) -> dict[str, object]:
    """The small run of rocprofv3, with many dispatches and their launches."""
    found = run()
    records = found["buffer_records"]
    dispatch, launch = records["kernel_dispatch"][0], records["hip_api"][0]
    for n in range(1, 4_000 * times):
        moved = {"correlation_id": {"internal": 10 + n}}
        for into, one in (("kernel_dispatch", dispatch), ("hip_api", launch)):
            later = {key: one[key] + n * 2_000 for key in ("start_timestamp", "end_timestamp")}
            records[into].append({**one, **moved, **later})
    return found


def _rocpd(path: Path, times: int) -> None:
    rocpd(path, _repeated_run(times))


def _rocprof_json(path: Path, times: int) -> None:
    tool_json(path, _repeated_run(times))


def _rocprof_database(path: Path, times: int) -> None:
    """Dispatches with what they used, which rocprof 1 has in a table of their own."""
    later = range(0, 2_000 * 10_000 * times + 1, 2_000)
    old_database(path, OPS=(), KERN=[old_kernel(at // 2_000, at + 500, at + 1_500) for at in later])


def _rocprof_csv(path: Path, times: int) -> None:
    head, row = kernel_csv(path).read_text().splitlines()
    rows = [
        row.replace(",2000,2600,", f",{2_000 * n},{2_000 * n + 600},")
        for n in range(1, 10_000 * times + 2)
    ]
    path.write_text("\n".join([head, *rows]) + "\n")


def _snapshot(path: Path, times: int) -> None:
    """A loop of 500 allocations, as PyTorch writes them: of each its own list of shared frames.

    Frees have the list of their allocation. Without times, ``training`` alone.
    """
    found = training()
    history = found["device_traces"][0]
    shared = [frames(f"model.py:{line} layer_{line % 40}")[0] for line in range(1, 2_000)]
    for n in range(3_000 * times):
        place = n % 500
        stack = [shared[(place * 7 + depth * depth) % len(shared)] for depth in range(24)]
        begin = 100 + 10 * n
        for step, action in enumerate(("alloc", "free_requested", "free_completed")):
            one = event(action, (1 << 40) + place * 4096, 512 + 8 * place, begin + step)
            history.append({**one, "frames": stack})
    path.write_bytes(pickle.dumps(found, protocol=4))


def _chrome(path: Path, times: int) -> None:
    events = [
        {
            "ph": "X",
            "cat": "net",
            "name": f"call {n % 100}",
            "pid": 1,
            "tid": n % 8,
            "ts": 10 * n,
            "dur": 5.25,
            "args": {"size": n},
        }
        for n in range(10_000 * times + 1)
    ]
    path.write_text(json.dumps({"traceEvents": events}))


def _flight(path: Path, times: int) -> None:
    """A dump of the flight recorder as PyTorch pickles it: frames are shared between entries."""
    frames = [entry(n, n)["frames"] for n in range(10)]
    entries = [entry(n, n, frames=list(frames[n % 10])) for n in range(1, 2_000 * times + 2)]
    path.write_bytes(as_pytorch(dump(entries)))


def _inspector(path: Path, times: int) -> None:
    log(path, *(perf(n, 8192, 10) for n in range(1, 2_000 * times + 2)))


def _speedscope(path: Path, times: int) -> None:
    """Samples in turns of two stacks."""
    found = speedscope()
    (profile,) = found["profiles"]
    profile["samples"] *= 5_000 * times + 1
    profile["weights"] *= 5_000 * times + 1
    path.write_text(json.dumps(found))


def _gecko(path: Path, times: int) -> None:
    """A sample each 10 ms, of two stacks."""
    found = gecko()
    samples = found["threads"][0]["samples"]
    count = 4 * (5_000 * times + 1)
    samples |= {"stack": samples["stack"] * (count // 4), "length": count}
    samples["time"] = [10.0 * n for n in range(count)]
    path.write_text(json.dumps(found))


def _collapsed(path: Path, times: int) -> None:
    """Stacks of which each is another."""
    lines = (
        f"main (train.py:3);step (train.py:{n});op {n % 97} 3" for n in range(5_000 * times + 1)
    )
    path.write_text("\n".join(lines) + "\n")


def _pprof(path: Path, times: int) -> None:
    """Stacks of which each is another: the small profile, and samples of further places."""
    parts = [gzip.decompress(pprof())]
    for n in range(4, 5_000 * times + 4):
        line = wire.blob(4, wire.number(1, 2) + wire.number(2, n))
        parts.append(wire.blob(4, wire.number(1, n) + line))
        stack, values = wire.varint(n) + wire.varint(1), wire.varint(1) + wire.varint(10_000_000)
        parts.append(wire.blob(2, wire.blob(1, stack) + wire.blob(2, values)))
    path.write_bytes(b"".join(parts))


def _tachyon(path: Path, times: int) -> None:
    path.write_bytes(tachyon(times=5_000 * times + 1))


def _rocprof_trace(path: Path, times: int) -> None:
    """The small run of rocprof 1 again and again, a hundredth of a second later each."""
    first = json.loads(old_trace(path).read_text())
    events = [one for one in first["traceEvents"] if one]
    moving = [one for one in events if "ts" in one]
    for n in range(1, 1_000 * times + 1):
        for one in moving:
            moved = {**one, "ts": one["ts"] + n * 10_000}
            if "id" in one:
                moved["id"] = one["id"] + 10 * n
            if "args" in one:
                later = {
                    key: str(int(one["args"][key]) + n * 10**7) for key in ("BeginNs", "EndNs")
                }
                moved["args"] = {**one["args"], **later}
            events.append(moved)
    path.write_text(json.dumps({**first, "traceEvents": events}))


def _perf(path: Path, times: int) -> None:
    samples = [one for one in PERF.split("\n\n") if one.strip()]
    whole = "\n\n".join(one.rstrip("\n") for one in samples)
    later = (whole.replace(" 100.0", f" {100 + n}.0") for n in range(1_000 * times + 1))
    path.write_text("\n\n".join(later) + "\n\n")


def _perfetto(path: Path, times: int) -> None:
    """A thread with two slices, one in the other, and a counter."""
    packets = [small()]
    for at in range(10_000, 10_000 + 1_000 * (5_000 * times), 1_000):
        packets += [
            packet(event_of(1, 2, number=1), at=at, flags=NEEDS),
            packet(event_of(1, 2, name="launch"), at=at + 200),
            packet(event_of(2, 2), at=at + 300),
            packet(event_of(2, 2), at=at + 900),
            packet(event_of(4, 4, wire.number(30, 21)), at=at + 950),
        ]
    path.write_bytes(b"".join(packets))


MADE: Final[dict[str, Callable[[Path, int], None]]] = {
    "nsight:n.sqlite": _nsight,
    "nsight-tables:parquet": _parquet,
    "nsight-tables:arrow": _arrow,
    "rocpd:r.db": _rocpd,
    "rocprof-json:r.json": _rocprof_json,
    "rocprof-trace:o.json": _rocprof_trace,
    "rocprof-database:o.db": _rocprof_database,
    "rocprof-csv:r_kernel_trace.csv": _rocprof_csv,
    "torch-memory:m.pickle": _snapshot,
    "kineto:c.json": _chrome,
    "nccl-flight:nccl_trace_rank_0": _flight,
    "nccl-inspector:i.log": _inspector,
    "speedscope:s.speedscope.json": _speedscope,
    "gecko:g.json": _gecko,
    "pprof:p.pb": _pprof,
    "tachyon:t.bin": _tachyon,
    "collapsed:c.collapsed": _collapsed,
    "perf-script:p.perf": _perf,
    "perfetto:t.pftrace": _perfetto,
}


if __name__ == "__main__":
    raise SystemExit(main())
