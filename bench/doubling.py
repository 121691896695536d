"""Processor time per plane, track, device, rank, name, step and run, at sizes that double.

    python -m bench.doubling [planes tracks …] [--first 1000] [--last 16000]

Advice, the timeline, collectives and a comparison are asked about each recording, each in a
process of its own. Time per unit that grows names work that is not linear; the growth does not
know the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from stepscope.surfaces.cli.main import run as command
from tests.profiles import worked_example
from tests.profiles.messages import parse

#: Time for twice as many beyond this is marked.
MAX_RATIO: Final = 2.8
# As many bytes per plane and line as the limit of planes and lines asks for.
_PADDING: Final = "-" * 520
_RANKS_PER_GROUP: Final = 8
_COLLECTIVE: Final = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def peak_mb() -> float:
    """Return the most memory of this process; ``ru_maxrss`` begins with that of its parent."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def planes(folder: Path, count: int) -> list[Path]:
    """Devices with a stream of a product and a collective each."""
    return [_xspace(folder, [[f"/device:GPU:{number}", "Stream #1"] for number in range(count)])]


def tracks(folder: Path, count: int) -> list[Path]:
    """Threads of one process with two calls each."""
    return [_xspace(folder, [["/host:CPU", *(f"thread {number}" for number in range(count))]])]


def _xspace(folder: Path, listed: list[list[str]], steps: int = 3) -> Path:
    message = parse(worked_example(steps=steps))
    for name, *lines in listed:
        plane = message.planes.add(name=name)
        for entry, called in enumerate(("gemm", _COLLECTIVE), 1):
            plane.event_metadata[entry].id, plane.event_metadata[entry].name = entry, called
        for number, line in enumerate(lines):
            added = plane.lines.add(id=number + 1, name=line, display_name=f"{line} {_PADDING}")
            for entry in (1, 2):
                at_ps = 1_000_000 * (number + entry)
                added.events.add(metadata_id=entry, offset_ps=at_ps, duration_ps=900_000)
    path = folder / "host.xplane.pb"
    path.write_bytes(message.SerializeToString())
    return path


def grid(folder: Path, count: int) -> list[Path]:
    """As many devices that ran once as a tenth of the steps: neither times the other."""
    devices = [[f"/device:GPU:{number}", "Stream #1"] for number in range(count // 10)]
    return [_xspace(folder, devices, steps=count)]


def names(folder: Path, count: int) -> list[Path]:
    """Kernels of which each has a name of its own."""
    message = parse(worked_example(gpu=True, steps=3))
    plane = next(plane for plane in message.planes if plane.name.startswith("/device"))
    for number in range(count):
        plane.event_metadata[10_000 + number].id = 10_000 + number
        plane.event_metadata[10_000 + number].name = f"void layer_{number}::gemm<{number}>(float*)"
        plane.lines[0].events.add(
            metadata_id=10_000 + number,
            offset_ps=10**12 + 2_000_000 * number,
            duration_ps=1_000_000,
        )
    path = folder / "host.xplane.pb"
    path.write_bytes(message.SerializeToString())
    return [path]


def steps(folder: Path, count: int) -> list[Path]:
    """Steps of a program on a GPU."""
    path = folder / "host.xplane.pb"
    path.write_bytes(worked_example(gpu=True, steps=count))
    return [path]


def devices(folder: Path, count: int) -> list[Path]:
    """Devices in PyTorch's JSON, with a launched product and a collective each."""
    events: list[dict[str, Any]] = []
    for number in range(count):
        linked = {"correlation": number + 1}
        on = {"device": number, "stream": 7, "note": _PADDING, **linked}
        events += [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": number, "tid": 7,
             "ts": 10 + number % 7, "dur": 3, "args": on},
            {"ph": "X", "cat": "kernel", "name": _COLLECTIVE, "pid": number, "tid": 7,
             "ts": 20 + number % 7, "dur": 3, "args": {"device": number, "stream": 7}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 99_999,
             "tid": 1, "ts": number * 0.01, "dur": 0.005, "args": linked},
        ]  # fmt: skip
    path = folder / "a.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return [path]


def ranks(folder: Path, count: int) -> list[Path]:
    """Dumps of NCCL's flight recorder, one a rank, in groups: who lists all lists count²."""
    for rank in range(count):
        first = rank - rank % _RANKS_PER_GROUP
        members = json.dumps(list(range(first, min(first + _RANKS_PER_GROUP, count))))
        name = f"group {first}"
        entries = [
            {"time_created_ns": 10**18 + number * 10**6 + rank, "collective_seq_id": number,
             "profiling_name": "nccl:all_reduce", "process_group": (name, "data_parallel"),
             "state": "completed", "input_sizes": [[4]], "frames": []}
            for number in range(2)
        ]  # fmt: skip
        group = {"name": name, "desc": "data_parallel", "ranks": members}
        dump = {"version": "2.4", "pg_config": {name: group}, "pg_status": {}, "entries": entries}
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump, protocol=2))
    return [folder]


def runs(folder: Path, count: int) -> list[Path]:
    """Runs of a program, to compare."""
    data = worked_example(gpu=True, steps=6)
    made = [folder / f"run{number}" / "host.xplane.pb" for number in range(count)]
    for path in made:
        path.parent.mkdir()
        path.write_bytes(data)
    return made


#: What is multiplied.
BUILDERS: Final[dict[str, Callable[[Path, int], list[Path]]]] = {
    one.__name__: one for one in (planes, tracks, grid, names, steps, devices, ranks, runs)
}


def _twice(paths: list[Path]) -> list[Path]:
    """The paths, and again under another name if there is one only."""
    if len(paths) > 1:
        return paths
    (path,) = paths
    again = path.parent / "again" / path.name
    again.parent.mkdir(exist_ok=True)
    if not again.exists():
        again.symlink_to(path, target_is_directory=path.is_dir())
    return [path, again]


#: What is asked, by its name.
ANSWERS: Final[dict[str, Callable[[list[Path]], list[str]]]] = {
    "advise": lambda paths: ["advise", *map(str, paths)],
    "timeline": lambda paths: ["show", "trace_viewer", *map(str, paths)],
    "collectives": lambda paths: ["show", "collectives", *map(str, paths)],
    "compare": lambda paths: ["compare", *map(str, _twice(paths))],
}


def ask(answer: str, paths: list[Path]) -> int:
    """Ask about a recording, without its output; the exit code."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        return command(ANSWERS[answer](paths))


def _measure(answer: str, made: list[list[Path]], outcome: Any) -> None:
    ask(answer, made[0])  # imports are no part of an answer
    for paths in made[1:]:
        before_s = time.process_time()
        code = ask(answer, paths)
        outcome.send((code, time.process_time() - before_s, peak_mb()))


def measured(answer: str, made: list[list[Path]]) -> list[tuple[object, float, float]]:
    """Exit code, processor seconds and peak megabytes of an answer at all sizes but the first."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(answer, made, there))
    process.start()
    there.close()
    results: list[tuple[object, float, float]] = []
    try:
        while len(results) < len(made) - 1:
            results.append(here.recv())
    except EOFError:
        results += [("ended", float("nan"), float("nan"))] * (len(made) - 1 - len(results))
    process.join()
    return results


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main() -> int:
    """Print the table; 1 if the time of any answer grows by more than ``MAX_RATIO``."""
    parser = argparse.ArgumentParser(prog="python -m bench.doubling", description=__doc__)
    parser.add_argument("only", nargs="*", default=list(BUILDERS), help=", ".join(BUILDERS))
    parser.add_argument("--first", type=int, default=1_000, help="the smallest count")
    parser.add_argument("--last", type=int, default=16_000, help="no count is larger")
    given = parser.parse_args()
    counts = [given.first]
    while counts[-1] * 2 <= given.last:
        counts.append(counts[-1] * 2)
    is_worse = False
    heads = " ".join(f"{count:>8,}" for count in counts)
    print(f"{'µs for each of':20} {heads} {'growth':>7} {'MB':>6}  exit")
    for name in given.only:
        with tempfile.TemporaryDirectory() as folder:
            made = [BUILDERS[name](_made(Path(folder, str(n))), n) for n in (2, *counts)]
            for answer in ANSWERS:
                took = measured(answer, made)
                each = [s / count * 1e6 for (_, s, _), count in zip(took, counts, strict=True)]
                ratio = max(after / before for before, after in pairwise(each)) * 2
                mark = " <- not linear" if not ratio <= MAX_RATIO else ""
                is_worse |= bool(mark)
                shown = " ".join(f"{one:8.0f}" for one in each)
                code, _, most_mb = took[-1]
                print(f"{name:8} {answer:11} {shown} {ratio / 2:7.2f} {most_mb:6.0f}  {code}{mark}")
                sys.stdout.flush()
    return 1 if is_worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
