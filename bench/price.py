"""What recording costs twenty programs: plain, recorded by us, and by the framework's own profiler.

python3 dev.py bench --price [--quick] [--own] [--full] [--seconds S] [NAME …]

The ways take turns, so that what else the machine does falls on all alike. Times are ratios to the
plain run before, of mean steps in yardsticks (see ``bench.priced_programs``). Memory is the most
that the program and its child processes held together, with what they keep in /dev/shm. A run that
needs more than 8 GB is killed, and the table says so.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil

from bench.machine import machine, say
from bench.priced_programs import PROGRAMS
from bench.recordings import ROOT
from bench.report import aligned, verdict

FOLDER: Final = ROOT / ".stepscope" / "bench"
MOST_BYTES: Final = 8_000_000_000
SHARED_MEMORY: Final = Path("/dev/shm")
# What issue 39 asks for.
WANTED_SLOWDOWN, WANTED_MB, WANTED_STOP_S, WANTED_FILE_MB = 1.5, 1000, 5.0, 200
WANTED_STEPS: Final = 10


@dataclass(frozen=True)
class Ran:
    """One run of a program.

    Attributes:
        steps, median_ms, mean_ms, cpu_ms: As the program timed itself; processor time per step.
        yardsticks: The mean step in units of a fixed piece of Python that ran meanwhile.
        peak_mb: Most memory of the process and its children.
        after_s: From the end of the loop to the end of the process.
        killed: Whether it needed too much memory.
        file_mb: Size of what was recorded.
    """

    steps: int
    median_ms: float
    mean_ms: float
    cpu_ms: float
    yardsticks: float
    peak_mb: float
    after_s: float
    killed: bool
    file_mb: float


def main() -> int:
    """Measure, print the table, keep the numbers."""
    given = parse()
    ways = ["plain", "ours", *(["full"] if given.full else []), *(["own"] if given.own else [])]
    rounds, seconds = (1 if given.quick else 3), given.seconds
    found: dict[str, dict[str, Any]] = {}
    rows = [HEAD]
    for name in given.name or PROGRAMS:
        runs: dict[str, list[Ran]] = {way: [] for way in ways}
        for nth in range(rounds):
            for way in ways:
                say(f"{name}, {way}, round {nth + 1}")
                runs[way].append(run(name, way, seconds))
        told = {way: overview(FOLDER / "price" / f"{name}-{way}") for way in ways[1:]}
        found[name] = {way: [asdict(one) for one in done] for way, done in runs.items()}
        found[name]["told"] = told
        rows += [row(name, way, runs, told.get(way, {})) for way in ways]
        print("\n".join(aligned(rows[-len(ways) :], 1)), flush=True)
    print("\n" + "\n".join(aligned(rows, 1)))
    kept = FOLDER / f"price-{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
    kept.write_text(json.dumps({"machine": machine(), "programs": found}, indent=1), "utf-8")
    print(f"\nnumbers: {kept.relative_to(ROOT)}")
    return 0


def parse() -> argparse.Namespace:
    """The flags."""
    parser = argparse.ArgumentParser(prog="dev.py bench --price")
    parser.add_argument("--price", action="store_true", help="this")
    parser.add_argument("--quick", action="store_true", help="one round instead of three")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of the loop")
    parser.add_argument("--own", action="store_true", help="the frameworks' own profilers, too")
    parser.add_argument("--full", action="store_true", help="record --full, too")
    parser.add_argument("name", nargs="*", choices=[*PROGRAMS, []], help="only these programs")
    return parser.parse_args()


def run(name: str, way: str, seconds: float) -> Ran:
    """Run a program one way, and watch its memory."""
    folder = FOLDER / "price" / f"{name}-{way}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = ["-m", "bench.priced_programs", name, str(seconds)]
    if way in ("ours", "full"):
        record = ["-m", "stepscope", "record", "-q", "-o", str(folder)]
        words = [*record, *(["--full"] if way == "full" else []), *words]
    elif way == "own":
        words.append(str(folder))
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    peak, killed = 0, False
    while process.poll() is None:
        held = held_bytes(process.pid)
        peak = max(peak, held)
        if held > MOST_BYTES:
            killed = True
            end(process.pid)
        time.sleep(0.03)
    ended = time.time()
    assert process.stdout is not None
    lines = [line for line in process.stdout.read().splitlines() if line.startswith("{")]
    told: dict[str, float] = json.loads(lines[-1]) if lines else {}
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Ran(
        int(told.get("steps", 0)),
        told.get("median_ms", nan),
        told.get("mean_ms", nan),
        told.get("cpu_ms", nan),
        told.get("yardsticks", nan),
        peak / 1e6,
        ended - told.get("ended", ended),
        killed,
        size / 1e6,
    )


def held_bytes(pid: int) -> int:
    """Memory of a process, of those it has started, and of what they share by name."""
    held = 0
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        for one in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                held += one.memory_info().rss
    with contextlib.suppress(OSError):
        held += sum(path.stat().st_size for path in SHARED_MEMORY.glob("stepscope-*/*"))
    return held


def end(pid: int) -> None:
    """Kill a process that was started here, and those it has started."""
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        for one in (*top.children(recursive=True), top):
            with contextlib.suppress(psutil.Error):
                one.kill()


def overview(folder: Path) -> dict[str, Any]:
    """What our recording says: its steps, the undisturbed one, and the first finding."""
    import stepscope

    try:
        with stepscope.open(folder) as session:
            steps = session.overview_page().steps
            findings = session.advice().findings
    except stepscope.StepscopeError as error:
        return {"said": str(error), "counted": 0, "undisturbed_ms": None, "covered": 0.0}
    return {
        "said": findings[0].title if findings else "nothing",
        "counted": steps.count + steps.dropped,
        "undisturbed_ms": steps.undisturbed_ms,
        "covered": steps.recorded_frac,
        "estimated": (steps.recorder_low_frac, steps.recorder_high_frac),
    }


HEAD: Final = [
    "program", "way", "step", "slower", "processor", "memory", "file", "after", "steps", "covered",
    "undisturbed", "wanted", "first finding",
]  # fmt: skip


def row(name: str, way: str, runs: dict[str, list[Ran]], told: dict[str, Any]) -> list[str]:
    """One line of the table."""
    done, plain = runs[way], runs["plain"]
    step = median(one.median_ms for one in done)
    if any(one.killed for one in done):
        return [name, way, *[""] * 3, "> 8 GB, killed", *[""] * 7]
    pairs = list(zip(done, plain, strict=True))
    slower = median(one.yardsticks / bare.yardsticks for one, bare in pairs)
    processor = median(one.cpu_ms / max(bare.cpu_ms, 1e-6) for one, bare in pairs)
    more_mb = median(one.peak_mb - bare.peak_mb for one, bare in pairs)
    after = median(one.after_s - bare.after_s for one, bare in pairs)
    size = max(one.file_mb for one in done)
    cells = [name, way, f"{step:.2f} ms"]
    if way == "plain":
        return [*cells, *[""] * 10]
    cells += [f"{slower:.2f}×", f"{processor:.2f}×", f"{more_mb:+.0f} MB", f"{size:.1f} MB"]
    cells.append(f"{after:+.1f} s")
    undisturbed = told["undisturbed_ms"]
    if way == "own" and told.get("estimated", (None,))[0] is not None:
        # Estimated from the file and as the processor time tells.
        low, high = told["estimated"]
        undisturbed = f"{low:.0%} to {high:.0%} recorder, {1 - 1 / processor:.0%} measured"
        return [*cells, str(told["counted"]), "", undisturbed, "", told["said"][:60]]
    if way != "ours":
        return [*cells, str(told["counted"]), "", "", "", told["said"][:60]]
    is_met = (
        slower <= WANTED_SLOWDOWN
        and more_mb <= WANTED_MB
        and after <= WANTED_STOP_S
        and size <= WANTED_FILE_MB
        and told["counted"] >= min(WANTED_STEPS, done[-1].steps)
    )
    return [
        *cells,
        f"{told['counted']} of {done[-1].steps}",
        f"{told['covered']:.0%}",
        "not measured" if undisturbed is None else f"{undisturbed:.2f} ms",
        verdict(is_met, "all"),
        told["said"][:60],
    ]


if __name__ == "__main__":
    sys.exit(main())
