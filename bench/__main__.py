"""Cold process to answer, ours against the incumbent's, alternating on the same files.

python3 dev.py bench [--quick] [--runs N] [--ours-only] [--small-only]
python3 dev.py bench --timeline [--quick] [--ours-only] [--small-only]
python3 dev.py bench --all-tools [--ours-only] [--small-only]
python3 dev.py bench --advice [--built-only] [--collection]
python3 dev.py bench --capture [--quick]
python3 dev.py bench --price [--quick] [--own] [--full] [NAME …]
python3 dev.py bench --pytorch [--ours-only] [--small-only] [--every-page]
python3 dev.py bench --peers [--process] [--rounds N] [--page PAGE] [FILE …]
python3 dev.py bench --formats [--times N]
python3 dev.py bench --pods [--quick] [--faulty N] [--clean N] [--hosts N]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from bench.contestants import INCUMBENT, Incumbent, alone, install_incumbent, ours
from bench.machine import machine, say
from bench.measure import ProcessFailed, Run, measure, middle
from bench.recordings import LARGE_TIMES, ROOT, SAMPLE, prepare
from bench.report import Case, Report

TOOLS = ("overview_page", "framework_op_stats")
FOLDER = ROOT / ".stepscope" / "bench"
# What issue 2 asks for: (times faster, share of the incumbent's memory) by size and tool.
WANTED = {
    ("base", "overview_page"): (15.0, 1 / 3),
    ("base", "framework_op_stats"): (8.0, 1 / 3),
    ("large", "overview_page"): (50.0, 1 / 5),
    ("large", "framework_op_stats"): (20.0, 1 / 5),
}
WANTED_DECODE = 8e6


def main() -> int:
    """Measure, print the table, keep the numbers."""
    arguments = parse()
    where = machine()
    recordings = prepare(FOLDER)
    incumbent = None if arguments.ours_only else find_incumbent()
    report = Report(source=recordings.source, machine=where, large_times=LARGE_TIMES)
    report.decode = decode_alone(recordings.base)
    sizes = [("base", recordings.base)]
    if not arguments.small_only:
        sizes.append(("large", recordings.large))
    for size, recording in sizes:
        for tool in TOOLS:
            report.cases.append(compare(size, recording, tool, incumbent, arguments.runs))
    print(report.render(WANTED_DECODE))
    kept = FOLDER / f"results-{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
    kept.write_text(json.dumps(asdict(report), indent=1), "utf-8")
    print(f"\nnumbers: {kept.relative_to(ROOT)}")
    return 0


def parse() -> argparse.Namespace:
    """The flags."""
    parser = argparse.ArgumentParser(prog="dev.py bench", description=__doc__.splitlines()[0])
    for flag, module in MODES.items():
        parser.add_argument(flag, action="store_true", help=f"something else: see {module}")
    parser.add_argument("--quick", action="store_true", help="one run of each")
    parser.add_argument("--runs", type=int, default=3, help="runs of each at the base size")
    parser.add_argument("--ours-only", action="store_true", help="leave the incumbent out")
    parser.add_argument("--small-only", action="store_true", help="leave the large file out")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.runs = 1
    return arguments


def find_incumbent() -> Incumbent | None:
    """The incumbent, or None with the reason printed."""
    try:
        return install_incumbent(FOLDER)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{INCUMBENT} cannot be installed here, so only ours is measured: {error}")
        return None


def compare(size: str, recording: Path, tool: str, incumbent: Incumbent | None, runs: int) -> Case:
    """Alternate the two programs; the incumbent runs once on the large file (it takes minutes)."""
    mine: list[Run] = []
    theirs: list[Run] = []
    log = FOLDER / "output.log"
    failure = ""
    measure(ours(SAMPLE, tool), log)  # not counted: leaves the compiled modules behind
    for number in range(runs):
        say(f"{tool}, {size} file: run {number + 1} of {runs}")
        mine.append(measure(ours(recording, tool), log))
        if incumbent is not None and not failure and (number == 0 or size == "base"):
            try:
                with alone(recording) as link:
                    theirs.append(measure(incumbent.command(link, tool), log))
            except ProcessFailed as error:
                failure = str(error).splitlines()[-1]
    faster, memory = WANTED[size, tool]
    return Case(
        tool=tool,
        size=size,
        megabytes=recording.stat().st_size / 1e6,
        ours=middle(mine),
        theirs=middle(theirs) if theirs else None,
        failure=failure,
        ours_runs=mine,
        theirs_runs=theirs,
        wanted_faster=faster,
        wanted_memory=memory,
    )


def decode_alone(recording: Path) -> tuple[int, float]:
    """Events of the file and the seconds one thread takes to decode them."""
    say("decoding alone, one thread")
    command = [sys.executable, "-m", "bench.decode_alone", str(recording)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    events, seconds = answer.stdout.split()
    return int(events), float(seconds)


# Other things to measure, each in a file of its own.
MODES = {
    "--timeline": "bench.timeline.__main__",
    "--all-tools": "bench.all_tools",
    "--advice": "bench.advice",
    "--capture": "bench.capture",
    "--price": "bench.price",
    "--pytorch": "bench.pytorch",
    "--peers": "bench.peers",
    "--formats": "bench.formats",
    "--pods": "bench.pods.__main__",
}


def chosen() -> int:
    """Two tools from cold processes, or what a flag names."""
    for flag, module in MODES.items():
        if flag in sys.argv:
            code: int = import_module(module).main()
            return code
    return main()


if __name__ == "__main__":
    try:
        sys.exit(chosen())
    except ProcessFailed as error:
        sys.exit(f"✗ {error}")
