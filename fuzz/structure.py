"""``python -m fuzz.structure --files 100000``: valid small files grown into hostile structures.

The campaign of ``fuzz.campaign`` breaks bytes; this keeps to the grammar and shares, nests, cycles,
repeats and multiplies (``fuzz.grow``). Each file must be read in time and memory that its bytes
explain, and give the same answer when it is read again in gzip, or be refused with an error that
says why. Some are asked for advice and tables, too. File *n* of a seed is the same on every
machine; ``--replay N`` tries it again and keeps it.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gzip
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from fuzz import grow
from fuzz.answers import failures_of
from fuzz.kineto import seed_trace
from fuzz.mutate import small_space
from fuzz.program import run_of, small_program
from stepscope.errors import StepscopeError
from stepscope.session import open
from stepscope.store import column_cache
from tests.profiles import worked_example
from tests.unit.formats.nccl.dumps import dump, entry, perf
from tests.unit.formats.nsight.export import call, export, kernel, range_
from tests.unit.formats.perfetto.traces import described, gpu_counters, packet
from tests.unit.formats.perfetto.traces import small as small_perfetto
from tests.unit.formats.rocprof.files import (
    kernel_csv,
    old_database,
    old_kernel,
    old_trace,
    rocpd,
    tool_json,
)
from tests.unit.formats.stacks import files as stacks
from tests.unit.formats.torch_memory.snapshot import training

ROOT: Final = Path(__file__).parents[1]
_SIZES: Final = (300, 2_000, 10_000, 30_000, 100_000, 300_000)
_LIKELY: Final = (8, 8, 8, 4, 2, 1)
# Allowed for each MB of what was read of a file, and for smaller files.
_S_PER_MB, _MB_PER_MB, _ASKED_S_PER_MB = 2.0, 300.0, 12.0
_ADDRESS_SPACE_BYTES: Final = 6 << 30
_CPU_SECONDS: Final = 60
_TOOLS: Final = (
    "overview_page",
    "trace_viewer",
    "step_account",
    "collectives",
    "hlo_stats",
    "memory_profile",
    "kernel_stats",
    "host_activity",
    "pod_viewer",
    "input_pipeline_analyzer",
)


class Family(NamedTuple):
    """A kind of file: its name on a disk, and the bytes of a grown one."""

    file: str
    build: Callable[[random.Random, int], bytes]


# ---------------------------------------------------------------------------------- files


def _grown_json(value: Any, rng: random.Random, size: int) -> bytes:
    return grow.json_bytes(rng, grow.grown_value(rng, copy.deepcopy(value), size, shares=False))


def _grown_pickle(value: Any, rng: random.Random, size: int) -> bytes:
    return grow.pickle_bytes(rng, grow.grown_value(rng, copy.deepcopy(value), size, shares=True))


def _grown_program(rng: random.Random, size: int) -> bytes:
    return run_of(grow.grown_message(rng, small_program(), size))


def _grown_tables(make: Callable[[Path], Path], rng: random.Random, size: int) -> bytes:
    path = _seed_database(make)
    target = _folder() / "grown.db"
    shutil.copy(path, target)
    grow.grown_database(rng, target, size)
    return target.read_bytes()


@cache
def _folder() -> Path:
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    return Path(tempfile.mkdtemp(prefix="stepscope-structure-", dir=place))


@cache
def _seed_database(make: Callable[[Path], Path]) -> Path:
    path = _folder() / f"seed{len(list(_folder().iterdir()))}.db"
    make(path)
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 512")
    database.execute("VACUUM")
    database.close()
    return path


def _nsight(path: Path) -> Path:
    texts = ("gemm", "cudaLaunchKernel_v7000", "forward")
    return export(
        path,
        texts,
        kernels=[kernel(300 + n, 500 + n, 1, n) for n in range(1, 10)],
        calls=[call(100 + n, 120 + n, 2, n) for n in range(1, 10)],
        ranges=[range_(90, 200, "aten::mm, op_id = 3"), range_(80, None, "step 1")],
    )


def _counted_kernels(path: Path) -> Path:
    return old_database(path, OPS=(), KERN=[old_kernel(0, 5_000, 6_000, SQ_WAVES=16)])


def _chrome() -> dict[str, Any]:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "XLA Ops"}},
        {"ph": "X", "name": "fusion.1", "pid": 1, "tid": 2, "ts": 1, "dur": 5, "args": {"x": "y"}},
        {"ph": "B", "name": "step", "pid": 3, "tid": 4, "ts": 1},
        {"ph": "E", "name": "step", "pid": 3, "tid": 4, "ts": 9},
        {"ph": "b", "cat": "a", "id": 5, "name": "async", "pid": 3, "tid": 4, "ts": 2},
        {"ph": "e", "cat": "a", "id": 5, "name": "async", "pid": 3, "tid": 4, "ts": 6},
        {"ph": "s", "cat": "f", "id": 6, "name": "flow", "pid": 1, "tid": 2, "ts": 2},
        {"ph": "f", "cat": "f", "id": 6, "name": "flow", "pid": 3, "tid": 4, "ts": 4, "bp": "e"},
        {"ph": "C", "name": "counter", "pid": 3, "ts": 3, "args": {"a": 1, "b": 2}},
        {"ph": "i", "name": "mark", "pid": 3, "tid": 4, "ts": 3, "s": "t"},
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _json_of(make: Callable[[Path], Path]) -> Any:
    path = _folder() / "seed.json"
    make(path)
    return json.loads(path.read_text())


def _hung() -> dict[str, Any]:
    return dump([entry(n, n, "started" if n > 8 else "completed") for n in range(1, 10)])


def _grown_csv(rng: random.Random, size: int) -> bytes:
    text = kernel_csv(_folder() / "seed.csv").read_text()
    return grow.grown_lines(rng, text, size, (",", '"', "_")).encode()


def _of_lines(text: str, separators: tuple[str, ...], rng: random.Random, size: int) -> bytes:
    return grow.grown_lines(rng, text, size, separators).encode()


def _of_fields(seed: bytes, rng: random.Random, size: int) -> bytes:
    return grow.grown_message(rng, seed, size)


def _tachyon(rng: random.Random, size: int) -> bytes:
    long = grow.long_text(rng, size)
    times = rng.choice((1, size // 40 + 1))
    return stacks.tachyon(path=rng.choice((stacks.HOME, long)), times=times)


@cache
def families() -> dict[str, Family]:
    """The kinds of files that are built."""
    perfetto = small_perfetto() + packet(
        gpu_counters(0, (1, 4), said=described(1, "Busy", unit=37)), at=1_700
    )
    records = "\n".join(
        json.dumps(perf(n, 8192 * n, 10 * n, collective="AllGather")) for n in range(1, 9)
    )
    kineto, chrome = json.loads(seed_trace()), _chrome()
    text = partial(partial, _of_lines)
    return {
        "xspace": Family("a.xplane.pb", partial(_of_fields, small_space())),
        "hlo": Family("a.xplane.pb", _grown_program),
        "kineto": Family("a.pt.trace.json", partial(_grown_json, kineto)),
        "chrome": Family("a.trace.json", partial(_grown_json, chrome)),
        "memory-snapshot": Family("a.pickle", partial(_grown_pickle, training())),
        "flight-recorder": Family("nccl_trace_rank_0", partial(_grown_pickle, _hung())),
        "flight-json": Family("nccl_trace_rank_0", partial(_grown_json, _hung())),
        "inspector": Family("a.jsonl", text(records, (",", ":", '"', "{"))),
        "nsight": Family("a.sqlite", partial(_grown_tables, _nsight)),
        "rocpd": Family("a.db", partial(_grown_tables, rocpd)),
        "rocprof-database": Family("a.db", partial(_grown_tables, old_database)),
        "rocprof-counters": Family("a.db", partial(_grown_tables, _counted_kernels)),
        "rocprof-json": Family("a.json", partial(_grown_json, _json_of(tool_json))),
        "rocprof-trace": Family("a.json", partial(_grown_json, _json_of(old_trace))),
        "rocprof-csv": Family("a_kernel_trace.csv", _grown_csv),
        "pprof": Family("a.pb", partial(_of_fields, gzip.decompress(stacks.pprof()))),
        "speedscope": Family("a.json", partial(_grown_json, stacks.speedscope())),
        "evented": Family("a.json", partial(_grown_json, stacks.evented())),
        "gecko": Family("a.json", partial(_grown_json, stacks.gecko())),
        "gecko-rows": Family("a.json", partial(_grown_json, stacks.gecko(rows=True))),
        "collapsed": Family("a.collapsed", text(stacks.COLLAPSED, (";", "(", " "))),
        "placed": Family("a.collapsed", text(stacks.PLACED, (";", ":", " "))),
        "perf-script": Family("a.perf", text(stacks.PERF, (" ", "\t", ":"))),
        "tachyon": Family("a.bin", _tachyon),
        "perfetto": Family("a.pftrace", partial(_of_fields, perfetto)),
    }


def built(seed: int, number: int) -> tuple[str, str, bytes]:
    """Family, name and bytes of the file of this number."""
    rng = random.Random(f"{seed}:{number}")
    listed = families()
    name = list(listed)[number % len(listed)]
    (size,) = rng.choices(_SIZES, _LIKELY)
    data = listed[name].build(rng, size)
    file = listed[name].file
    if rng.random() < 0.1:
        data, file = grow.packed(rng, data), f"{file}.gz"
    return name, file, data


# ---------------------------------------------------------------------------------- judge


class Cost(NamedTuple):
    """What one file cost."""

    seconds: float
    megabytes: float


class Fault(Exception):
    """A file that broke a promise."""


def _peak_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _measured(action: Callable[[], str]) -> tuple[str, Cost]:
    Path("/proc/self/clear_refs").write_text("5")
    before, began = _peak_mb(), time.process_time()
    outcome = action()
    return outcome, Cost(time.process_time() - began, _peak_mb() - before)


def _opened(path: Path) -> str:
    """What a file gives: ``opened`` with its sums, or how it is refused."""
    try:
        with open(path) as session:
            found = [
                (len(host.space.events.start_ps), len(host.space.lines))
                for host in session.profile.hosts
            ]
    except StepscopeError as error:
        if "\n" in error.what or not error.what or error.slug == "out-of-memory":
            raise Fault(f"no clear error: {error.what[:200]!r}") from error
        limit = error.what.split("'")[1] if error.slug == "beyond-limit" else ""
        return f"refused: {limit}" if limit else f"refused: {error.slug or error.what[:40]}"
    return f"opened {found}"


def _asked(path: Path) -> str:
    """Fault if advice or a table about a file fails; refusals are answers."""
    wrong = failures_of(path, _TOOLS)
    if wrong:
        raise Fault("; ".join(wrong)[:500])
    try:
        with open(path) as session:
            session.advice()
    except StepscopeError:
        pass
    return "asked"


def attempt(path: Path, number: int, slowness: float, asks: int) -> tuple[str, Cost]:
    """Try one file.

    Args:
        path: The file.
        number: Decides what it is tried with besides.
        slowness: How many times slower than the machine of the limits this one is.
        asks: Ask each n-th file for advice.

    Raises:
        Fault: It costs more than its bytes explain, or is answered with a bug.
    """
    size_mb = max(1.0, _inflated_mb(path))
    outcome, cost = _measured(lambda: _opened(path))
    _check(cost, _S_PER_MB * size_mb, size_mb, slowness, "reading")
    if number % 8 == 0 and path.suffix != ".gz":
        again = path.with_name(f"{path.name}.gz")
        again.write_bytes(gzip.compress(path.read_bytes(), 1))
        same = _opened(again)
        again.unlink()
        if same != outcome and not same.startswith("refused") and "opened" in outcome:
            raise Fault(f"{outcome[:100]} as a file, {same[:100]} in gzip")
    # Families come in turn: each has its share of those that are asked.
    turn = number // len(families()) + number
    if asks and turn % asks == 0 and outcome.startswith("opened"):
        _, asked = _measured(lambda: _asked(path))
        _check(asked, _ASKED_S_PER_MB * size_mb, size_mb, slowness, "asking")
    return outcome, cost


def _check(cost: Cost, allowed_s: float, size_mb: float, slowness: float, what: str) -> None:
    if cost.seconds > allowed_s * slowness:
        raise Fault(f"{what} takes {cost.seconds:.1f} s of processor time, {size_mb:.2f} MB")
    if cost.megabytes > _MB_PER_MB * size_mb:
        raise Fault(f"{what} takes {cost.megabytes:.0f} MB of memory, {size_mb:.2f} MB")


def _inflated_mb(path: Path) -> float:
    """The size after decompression, which itself has a limit."""
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        return len(data) / 1e6
    from stepscope.store.read import inflate

    size = 0
    for piece in inflate([data], []):
        size += len(piece)
        if size > 64 << 20:
            break
    return max(size, len(data)) / 1e6


def _slowness() -> float:
    """How long a fixed sum takes here, over what it takes on the machine of the limits."""
    began = time.process_time()
    sum(number * number for number in range(2_000_000))
    return max(1.0, (time.process_time() - began) / 0.12)


# ------------------------------------------------------------------------------- campaign


def worker(seed: int, first: int, last: int, folder: Path, asks: int) -> None:
    """Try files of these numbers; each outcome is a line of JSON on standard output."""
    os.environ[column_cache.VARIABLE] = "off"
    limit = _ADDRESS_SPACE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    _opened_seed(folder)
    slowness = _slowness()
    for number in range(first, last):
        if number % 50 == 0:
            slowness = _slowness()
        used = int(time.process_time()) + _CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (used, resource.RLIM_INFINITY))
        print(json.dumps({"begun": number}), flush=True)
        name, file, data = built(seed, number)
        path = folder / file
        path.write_bytes(data)
        said: dict[str, Any] = {"number": number, "family": name, "bytes": len(data)}
        try:
            outcome, cost = attempt(path, number, slowness, asks)
            said |= {"outcome": outcome.partition(" [")[0], "s": cost.seconds}
            said |= {"mb": cost.megabytes}
        except Exception as error:
            said |= {"fault": _described(error)}
        path.unlink()
        print(json.dumps(said), flush=True)


def _opened_seed(folder: Path) -> None:
    """Import what reading needs, so that no file is charged with it."""
    path = folder / "host.xplane.pb"
    path.write_bytes(worked_example(gpu=True, steps=20))
    _opened(path)
    _asked(path)
    path.unlink()


def _described(error: BaseException) -> str:
    if isinstance(error, Fault):
        return str(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__} at {place}: {error!s:.200}"


def tried(seed: int, first: int, last: int, asks: int) -> Iterator[dict[str, Any]]:
    """What came of each file; one at which the process dies is a fault, and the next goes on."""
    while first < last:
        with tempfile.TemporaryDirectory(prefix="stepscope-structure-") as folder:
            command = [sys.executable, "-m", "fuzz.structure", "--worker", folder]
            command += ["--seed", str(seed), "--first", str(first), "--files", str(last - first)]
            command += ["--asks", str(asks)]
            begun = first
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
                assert process.stdout is not None
                try:
                    for line in process.stdout:
                        said = json.loads(line)
                        if "begun" in said:
                            begun = said["begun"]
                        else:
                            first = said["number"] + 1
                            yield said
                except (KeyboardInterrupt, GeneratorExit):
                    process.kill()
                    raise
        if process.returncode:
            name = list(families())[begun % len(families())]
            fault = f"the process ends with {process.returncode}"
            yield {"number": begun, "family": name, "bytes": 0, "fault": fault}
            first = begun + 1


def campaign(seed: int, first: int, last: int, asks: int) -> dict[str, Any]:
    """Try files and print each fault; the counts by family and outcome."""
    outcomes: dict[str, Counter[str]] = {}
    slowest = heaviest = (0.0, -1, "")
    files = faults = size = 0
    for said in _until_stopped(tried(seed, first, last, asks)):
        files += 1
        size += said["bytes"]
        fault = said.get("fault", "")
        outcome = "FAULT" if fault else said["outcome"]
        outcomes.setdefault(said["family"], Counter())[outcome] += 1
        if fault:
            faults += 1
            print(f"FAULT {said['family']} --seed {seed} --replay {said['number']}: {fault}")
            sys.stdout.flush()
        else:
            slowest = max(slowest, (said["s"], said["number"], said["family"]))
            heaviest = max(heaviest, (said["mb"], said["number"], said["family"]))
    return {
        "seed": seed,
        "first": first,
        "files": files,
        "bytes": size,
        "faults": faults,
        "slowest": slowest,
        "heaviest": heaviest,
        "outcomes": {name: dict(counted) for name, counted in sorted(outcomes.items())},
    }


def _until_stopped(found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What comes until Ctrl-C or SIGTERM: what was tried then counts."""
    with contextlib.suppress(KeyboardInterrupt):
        yield from found


def _print(said: dict[str, Any]) -> None:
    for name, counted in said["outcomes"].items():
        listed = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counted.items()))
        print(f"{name}: {listed}")
    print(f"{said['files']:,} files, {said['bytes'] / 1e6:,.1f} MB, {said['faults']} faults")
    print(f"slowest {said['slowest'][0]:.2f} s ({said['slowest'][2]} {said['slowest'][1]})")
    print(f"most memory {said['heaviest'][0]:.0f} MB ({said['heaviest'][2]} {said['heaviest'][1]})")


def main() -> int:
    """Try files; 1 if one broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.structure", description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--asks", type=int, default=25, help="ask each n-th for advice (0: none)")
    parser.add_argument("--replay", type=int, help="try only the file of this number, and keep it")
    parser.add_argument("--record", type=Path, help="append the counts to this file")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    last = given.first + given.files
    if given.worker is not None:
        worker(given.seed, given.first, last, given.worker, given.asks)
        return 0
    if given.replay is not None:
        name, file, data = built(given.seed, given.replay)
        path = Path(tempfile.mkdtemp(prefix=f"structure-{given.replay}-")) / file
        _opened_seed(path.parent)
        path.write_bytes(data)
        print(f"{name}: {path}, {len(data):,} bytes")
        print(*attempt(path, given.replay, _slowness(), given.asks))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    said = campaign(given.seed, given.first, last, given.asks)
    _print(said)
    if given.record is not None:
        with given.record.open("a", encoding="utf-8") as out:
            out.write(json.dumps(said) + "\n")
    return 1 if said["faults"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
