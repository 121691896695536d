"""Processor time and memory of answers about N and 2N planes, tracks, ranks, names, steps or runs.

    python -m bench.doubling [planes tracks …] [--scale 1.0]

Each answer has a process of its own. Time that grows by much more than 2 names a part of the work
that is not linear; the ratio does not know the machine.
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
from pathlib import Path
from typing import Any, Final

from stepscope.surfaces.cli.main import run as command
from tests.profiles import worked_example
from tests.profiles.messages import parse

#: Ratios beyond this are marked.
MAX_RATIO: Final = 2.8


def peak_mb() -> float:
    """Return the most memory of this process; ``ru_maxrss`` begins with that of its parent."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def planes(folder: Path, count: int) -> list[Path]:
    """Devices with one stream and one kernel each."""
    return [_xspace(folder, [[f"/device:GPU:{number}", "Stream #1"] for number in range(count)])]


def tracks(folder: Path, count: int) -> list[Path]:
    """Threads of one process with one call each."""
    return [_xspace(folder, [["/host:CPU", *(f"thread {number}" for number in range(count))]])]


def _xspace(folder: Path, listed: list[list[str]], steps: int = 3) -> Path:
    message = parse(worked_example(steps=steps))
    for name, *lines in listed:
        plane = message.planes.add(name=name)
        plane.event_metadata[1].id, plane.event_metadata[1].name = 1, "gemm"
        for number, line in enumerate(lines):
            # As many bytes as the limit of planes and lines asks for.
            added = plane.lines.add(id=number + 1, name=line, display_name=f"{line} {'-' * 520}")
            added.events.add(metadata_id=1, offset_ps=1_000_000 * number, duration_ps=900_000)
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
    """Devices in PyTorch's JSON, with one launched kernel each."""
    events: list[dict[str, Any]] = []
    for number in range(count):
        linked = {"correlation": number + 1}
        on = {"device": number, "stream": 7, **linked}
        events += [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": number, "tid": 7,
             "ts": 10 + number % 7, "dur": 3, "args": on},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 99_999,
             "tid": 1, "ts": number * 0.01, "dur": 0.005, "args": linked},
        ]  # fmt: skip
    path = folder / "a.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return [path]


def ranks(folder: Path, count: int) -> list[Path]:
    """Dumps of NCCL's flight recorder, one a rank."""
    members = json.dumps(list(range(count)))
    for rank in range(count):
        entries = [
            {"time_created_ns": 10**18 + number * 10**6 + rank, "collective_seq_id": number,
             "profiling_name": "nccl:all_reduce", "process_group": ("0", "default_pg"),
             "state": "completed", "input_sizes": [[4]], "frames": []}
            for number in range(2)
        ]  # fmt: skip
        group = {"name": "0", "desc": "default_pg", "ranks": members}
        dump = {"version": "2.4", "pg_config": {"0": group}, "pg_status": {}, "entries": entries}
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


#: Each structure that is multiplied, its count, and the commands that are asked.
GROWN: Final[dict[str, tuple[Callable[[Path, int], list[Path]], int, tuple[str, ...]]]] = {
    "planes": (planes, 5_000, ("advise", "show trace_viewer", "show overview_page")),
    "tracks": (tracks, 5_000, ("advise", "show trace_viewer", "show host_activity")),
    "grid": (grid, 8_000, ("advise", "show pod_viewer", "show device_idle")),
    "names": (names, 20_000, ("advise", "show kernel_stats", "show trace_viewer")),
    "steps": (steps, 50_000, ("advise", "show overview_page", "show trace_viewer")),
    "devices": (devices, 1_500, ("advise", "show trace_viewer", "show kernel_stats")),
    "ranks": (ranks, 1_000, ("advise", "show hung_collectives", "show trace_viewer")),
    "runs": (runs, 500, ("compare",)),
}


def _answer(asked: str, paths: list[Path], small: list[Path], outcome: Any) -> None:
    first, *rest = asked.split()
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        # Imports are no part of the answer.
        command([first, *rest, *map(str, small)])
        before_s = time.process_time()
        code = command([first, *rest, *map(str, paths)])
    outcome.send((code, time.process_time() - before_s, peak_mb()))


def measured(asked: str, paths: list[Path], small: list[Path]) -> tuple[object, float, float]:
    """Exit code, processor seconds and peak megabytes of a command about these paths."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(asked, paths, small, there))
    process.start()
    there.close()
    try:
        answer: tuple[object, float, float] = here.recv()
    except EOFError:
        answer = ("ended", float("nan"), float("nan"))
    process.join()
    return answer


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main() -> int:
    """Print the table; 1 if anything grows by more than ``MAX_RATIO``."""
    parser = argparse.ArgumentParser(prog="python -m bench.doubling", description=__doc__)
    parser.add_argument("only", nargs="*", default=list(GROWN), help=", ".join(GROWN))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the counts")
    given = parser.parse_args()
    is_worse = False
    print(f"{'of':8} {'asked':20} {'N':>8} {'N s':>7} {'2N s':>7} {'ratio':>6} {'2N MB':>7}  exit")
    for name in given.only:
        build, count, commands = GROWN[name]
        count = int(count * given.scale)
        with tempfile.TemporaryDirectory() as folder:
            few, once, twice = (
                build(_made(Path(folder, str(number))), number) for number in (2, count, 2 * count)
            )
            for asked in commands:
                _, before_s, _ = measured(asked, once, few)
                code, after_s, peak_mb = measured(asked, twice, few)
                ratio = after_s / before_s
                mark = " <- not linear" if not ratio <= MAX_RATIO else ""
                is_worse |= bool(mark)
                print(
                    f"{name:8} {asked:20} {count:8,} {before_s:7.2f} {after_s:7.2f} {ratio:6.2f} "
                    f"{peak_mb:7.0f}  {code}{mark}"
                )
                sys.stdout.flush()
    return 1 if is_worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
