"""The timeline in a browser: first picture, tiles, bytes, memory, frames.

python3 dev.py bench --timeline [--quick] [--ours-only] [--small-only]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict
from math import nan
from pathlib import Path
from typing import Final

from bench.contestants import INCUMBENT, Incumbent, alone, install_incumbent
from bench.machine import machine, say
from bench.measure import ProcessFailed, measure
from bench.recordings import ROOT, prepare, repeated
from bench.served import Served
from bench.timeline.frames import grid_recording, moved
from bench.timeline.page import chromium, first_paint, fresh_page, screens, warm_paint
from bench.timeline.report import Case, Theirs, TimelineReport, Wanted
from bench.timeline.tiles import tiles

FOLDER: Final = ROOT / ".stepscope" / "bench"
VIEWS: Final = 200
SCREENS: Final = 24
#: Times the base recording is repeated (it has 2.05 million events), and what is wanted then.
SIZES: Final = (
    (1, Wanted(cold_s=1.5, warm_s=0.3)),
    (5, Wanted(tile_p95_ms=20)),
    (49, Wanted(cold_s=60, tile_p95_ms=50, peak_mb=12_000)),
)
TRACE_TOOLS: Final = ("trace_viewer@", "trace_viewer")


def main() -> int:
    """Measure, print the table, keep the numbers."""
    arguments = parse()
    report = TimelineReport(source="", machine=machine())
    recordings = prepare(FOLDER)
    report.source = recordings.source
    runs = 1 if arguments.quick else 3
    for times, wanted in SIZES[:1] if arguments.small_only else SIZES:
        recording = repeated(recordings.base, times)
        report.cases.append(case(recording, wanted, runs if times == 1 else 1))
    if not arguments.ours_only:
        ask_incumbent(report, recordings.base)
    say("panning and zooming")
    with chromium() as browser:
        report.moved = moved(browser, grid_recording(FOLDER), FOLDER / "output.log")
    print(report.render())
    kept = FOLDER / f"timeline-{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
    kept.write_text(json.dumps(asdict(report), indent=1), "utf-8")
    print(f"\nnumbers: {kept.relative_to(ROOT)}")
    return 0


def parse() -> argparse.Namespace:
    """The flags."""
    parser = argparse.ArgumentParser(
        prog="dev.py bench --timeline", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--timeline", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="one run of each")
    parser.add_argument("--ours-only", action="store_true", help="leave the incumbent out")
    parser.add_argument("--small-only", action="store_true", help="only the smallest file")
    return parser.parse_args()


def case(recording: Path, wanted: Wanted, runs: int) -> Case:
    """Open one recording in fresh processes; the last of them also answers all the rest."""
    log, cold, warm = FOLDER / "output.log", [], []
    with chromium() as browser:
        for number in range(runs):
            say(f"{recording.name}: first picture, run {number + 1} of {runs}")
            # A person's browser is open already, and so is this page, empty.
            with fresh_page(browser) as page, Served(recording, log) as server:
                cold.append(first_paint(page, server.url).at_s - server.began_s)
                warm.append(warm_paint(browser, server.url).after_s)
                if number == runs - 1:
                    say(f"{recording.name}: {VIEWS} random views, {SCREENS} random screens")
                    asked = tiles(server.url, VIEWS)
                    weighed = screens(browser, server.url, SCREENS)
    return Case(
        name=recording.name.split(".")[0],
        events=asked.events,
        megabytes=recording.stat().st_size / 1e6,
        cold_s=cold,
        warm_s=warm,
        tile_ms=asked.ms,
        screen_bytes=weighed,
        peak_mb=server.peak_mb,
        wanted=wanted,
    )


def ask_incumbent(report: TimelineReport, recording: Path) -> None:
    """The incumbent's timeline of the same file; why not, where it gives none."""
    log = FOLDER / "output.log"
    try:
        incumbent: Incumbent = install_incumbent(FOLDER)
        for tool in TRACE_TOOLS:
            say(f"{INCUMBENT}, {tool}")
            with alone(recording) as link:
                run = measure(incumbent.trace_command(link, tool), log)
            answers = json.loads(log.read_text("utf-8", "replace").splitlines()[-1])
            again = answers[1]["seconds"] if len(answers) > 1 else nan
            report.theirs.append(Theirs(tool, run, again, answers[0]["bytes"]))
    except (subprocess.CalledProcessError, OSError, ProcessFailed) as error:
        report.failure = str(error).splitlines()[-1]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProcessFailed as error:
        sys.exit(f"✗ {error}")
