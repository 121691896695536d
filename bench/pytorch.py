"""``python3 dev.py bench --pytorch``: PyTorch's traces, ours against HTA, cold.

Files are the shared ones of ``../shared/data/kineto``, and two that are made of one of them by
repetition, with times and ids moved on. Each program starts afresh for each file: ours makes the
whole overview, HTA its temporal breakdown. Processor time and peak memory are those of the process.
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
_ASK: Final = """
import sys
from hta.trace_analysis import TraceAnalysis
if __name__ == "__main__":
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
    print(analysis.get_temporal_breakdown(visualize=False))
"""


def main() -> int:
    """Measure every file, print a row each."""
    parser = argparse.ArgumentParser(prog="dev.py bench --pytorch", description=__doc__)
    parser.add_argument("--pytorch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ours-only", action="store_true", help="leave HTA out")
    parser.add_argument("--small-only", action="store_true", help="leave the made files out")
    given = parser.parse_args()
    if not FILES.is_dir():
        print(f"{FILES} is not here: nothing to measure.")
        return 1
    python = None if given.ours_only else _hta()
    print(machine())
    print(
        f"{'file':<34}{'MB':>6}{'ours s':>9}{'cpu s':>8}{'MB/s':>7}{'peak MB':>9}   HTA cpu, peak"
    )
    for label, path in _files(with_large=not given.small_only):
        print(_row(label, path, python), flush=True)
    return 0


def _files(*, with_large: bool) -> Iterator[tuple[str, Path]]:
    for path in sorted(FILES.rglob("*.json.gz")):
        yield path.name.split(".json")[0][:32], path
    if with_large:
        for times in (8, 25):
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
                out.write(("" if first else ",\n") + json.dumps(_moved(one, number, length)))
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


def _hta() -> Path | None:
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


def _row(label: str, path: Path, python: Path | None) -> str:
    log = FOLDER / "pytorch.log"
    FOLDER.mkdir(parents=True, exist_ok=True)
    ours = measure(
        [sys.executable, "-m", "stepscope", "show", "overview_page", str(path), "--format", "json"],
        log,
    )
    size = _text_bytes(path) / 1e6
    row = f"{label:<34}{size:>6.0f}{ours.wall_s:>9.2f}{ours.cpu_s:>8.2f}"
    row += f"{size / ours.cpu_s:>7.0f}{ours.peak_mb:>9.0f}"
    if python is None:
        return row
    try:
        theirs = measure([str(python), "-c", _ASK, str(path)], log)
    except ProcessFailed as error:
        return f"{row}   failed: {str(error).splitlines()[-1][:60]}"
    return f"{row}   {_against(ours, theirs)}"


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
