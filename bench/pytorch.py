"""``python3 dev.py bench --pytorch``: PyTorch's traces, ours against HTA, cold.

Files are the shared ones of ``../shared/data/kineto``, and two of 0.3 and 1 GB that are made of
one of them by repetition, with times and ids moved on. Each program starts afresh for each file:
ours makes the whole overview, HTA its temporal breakdown. Processor time and peak memory are those
of the process.

``--every-page`` asks for every page of the file of 0.3 GB instead, each in a process of its own,
beside HTA's analysis of the same subject; where it has none, beside its temporal breakdown.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.machine import machine, say
from bench.measure import ProcessFailed, Run, measure
from bench.recordings import ROOT

HTA: Final = "HolisticTraceAnalysis==0.5.0"
FOLDER: Final = ROOT / ".stepscope" / "bench"
FILES: Final = ROOT.parent / "shared" / "data" / "kineto"
REPEATED: Final = "hta-trace-diff/control/control.json.gz"
_IDS: Final = ("correlation", "External id", "external id", "Ev Idx")
_APART: Final = 10_000_000
#: Times of the source in the files made; of the first every page is asked for.
MADE: Final = (8, 28)
_ASK: Final = """
import sys
from hta.trace_analysis import TraceAnalysis
if __name__ == "__main__":
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
    print(getattr(analysis, sys.argv[2])(visualize=False))
"""
_BREAKDOWN: Final = "get_temporal_breakdown"
_PAGES: Final = """
import sys
import stepscope
from stepscope.analysis import TOOLS
with stepscope.open(sys.argv[1]) as session:
    print(*(tool for tool in TOOLS.ids if session.available(tool) is None))
"""
#: HTA's analysis of what a page of ours shows.
_SAME_SUBJECT: Final = {
    "kernel_stats": "get_gpu_kernel_breakdown",
    "device_idle": "get_idle_time_breakdown",
    "collectives": "get_comm_comp_overlap",
    "host_activity": "get_cuda_kernel_launch_stats",
}
_HEAD: Final = f"{'MB':>6}{'ours s':>9}{'cpu s':>8}{'MB/s':>7}{'peak MB':>9}   HTA cpu, peak"


def main() -> int:
    """Measure every file, print a row each."""
    parser = argparse.ArgumentParser(prog="dev.py bench --pytorch", description=__doc__)
    parser.add_argument("--pytorch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ours-only", action="store_true", help="leave HTA out")
    parser.add_argument("--small-only", action="store_true", help="leave the made files out")
    parser.add_argument("--every-page", action="store_true", help="each page of 0.3 GB instead")
    given = parser.parse_args()
    if not FILES.is_dir():
        print(f"{FILES} is not here: nothing to measure.")
        return 1
    python = None if given.ours_only else hta()
    print(machine())
    if given.every_page:
        _every_page(repeated(FILES / REPEATED, FOLDER, MADE[0]), python)
        return 0
    print(f"{'file':<34}{_HEAD}")
    for label, path in _files(with_large=not given.small_only):
        print(_row(label, path, "overview_page", _Theirs(python, path)), flush=True)
    return 0


def _every_page(path: Path, python: Path | None) -> None:
    """A row for each page that there is of a file."""
    print(f"{'page of ' + path.name:<34}{_HEAD}", flush=True)
    found = subprocess.run(
        [sys.executable, "-c", _PAGES, str(path)], check=True, capture_output=True, text=True
    ).stdout.split()
    theirs = _Theirs(python, path)
    # First those that share one analysis of HTA's, each of which takes as long as ours together.
    for tool in sorted(found, key=lambda one: one in _SAME_SUBJECT):
        print(_row(tool, path, tool, theirs), flush=True)


def _files(*, with_large: bool) -> Iterator[tuple[str, Path]]:
    for path in sorted(FILES.rglob("*.json.gz")):
        yield path.name.split(".json")[0][:32], path
    if with_large:
        for times in MADE:
            yield f"control x {times}", repeated(FILES / REPEATED, FOLDER, times)


def repeated(source: Path, folder: Path, times: int) -> Path:
    """A trace so many times one after another, in one file; made once."""
    target = folder / f"{source.name.split('.')[0]}-{times}.json"
    if target.exists():
        return target
    say(f"making {target.name}")
    with gzip.open(source) as file:
        trace = json.load(file)
    events: list[dict[str, Any]] = trace.pop("traceEvents")
    begins = [one["ts"] for one in events if one.get("ph") == "X"]
    length = max(begins) - min(begins) + 1000
    folder.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with part.open("w", encoding="utf-8") as out:
        out.write(json.dumps(trace)[:-1] + ', "traceEvents": [\n')
        for number in range(times):
            for one in events:
                first = number == 0 and one is events[0]
                text = json.dumps(_moved(one, number, length), indent=1)
                out.write(("" if first else ",\n") + text)
        out.write("\n]}")
    part.replace(target)
    return target


def _moved(event: dict[str, Any], number: int, length: float) -> dict[str, Any]:
    """The event as it is in one of the repetitions."""
    moved = dict(event)
    if "ts" in moved:
        moved["ts"] += number * length
    if isinstance(moved.get("id"), int):
        moved["id"] += number * _APART
    if isinstance(moved.get("args"), dict):
        moved["args"] = {
            key: value + number * _APART if key in _IDS and isinstance(value, int) else value
            for key, value in moved["args"].items()
        }
    return moved


def hta() -> Path | None:
    """The interpreter of an environment with HTA; None, with the reason said, without one."""
    environment = FOLDER / HTA.replace("==", "-")
    python = environment / "bin" / "python"
    if not (environment / "installed").exists():
        say(f"installing {HTA}")
        try:
            subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "-qq", HTA], check=True)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{HTA} cannot be installed here, so only ours is measured: {error}")
            return None
        (environment / "installed").touch()
    return python


def asking(python: Path, path: Path, analysis: str = _BREAKDOWN) -> list[str]:
    """HTA: a trace to one of its analyses."""
    return [str(python), "-c", _ASK, str(path), analysis]


class _Theirs:
    """HTA on one file; each analysis is run once.

    Args:
        python: The interpreter that has it; None: it is left out.
        path: The file.
    """

    def __init__(self, python: Path | None, path: Path) -> None:
        self._python, self._path = python, path
        self._known: dict[str, Run | str] = {}

    def against(self, tool: str, ours: Run) -> str:
        """What HTA takes for the subject of a tool, beside ours; "" where it is left out."""
        if self._python is None:
            return ""
        analysis = _SAME_SUBJECT.get(tool, _BREAKDOWN)
        if analysis not in self._known:
            self._known[analysis] = self._measured(analysis)
        theirs = self._known[analysis]
        said = theirs if isinstance(theirs, str) else _against(ours, theirs)
        return said + (f"  {analysis}" if tool in _SAME_SUBJECT else "")

    def _measured(self, analysis: str) -> Run | str:
        assert self._python is not None
        try:
            return measure(asking(self._python, self._path, analysis), FOLDER / "pytorch.log")
        except ProcessFailed as error:
            return f"failed: {str(error).splitlines()[-1][:60]}"


def _row(label: str, path: Path, tool: str, theirs: _Theirs) -> str:
    FOLDER.mkdir(parents=True, exist_ok=True)
    ours = measure(
        [sys.executable, "-m", "stepscope", "show", tool, str(path), "--format", "json"],
        FOLDER / "pytorch.log",
    )
    size = _text_bytes(path) / 1e6
    row = f"{label:<34}{size:>6.0f}{ours.wall_s:>9.2f}{ours.cpu_s:>8.2f}"
    row += f"{size / ours.cpu_s:>7.0f}{ours.peak_mb:>9.0f}"
    return f"{row}   {theirs.against(tool, ours)}".rstrip()


def _against(ours: Run, theirs: Run) -> str:
    return (
        f"{theirs.cpu_s:.1f} s ({theirs.cpu_s / ours.cpu_s:.1f} x), "
        f"{theirs.peak_mb:.0f} MB ({theirs.peak_mb / ours.peak_mb:.1f} x)"
    )


def _text_bytes(path: Path) -> int:
    """Bytes of a file when it is inflated."""
    if path.suffix != ".gz":
        return path.stat().st_size
    with gzip.open(path) as file:
        return sum(len(piece) for piece in iter(lambda: file.read(1 << 20), b""))
