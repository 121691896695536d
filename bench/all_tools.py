"""All tools on one large recording: ours in one process, the incumbent's in one each.

python3 dev.py bench --all-tools [--ours-only] [--small-only]

The incumbent parses the file again for every page it shows, so a person who looks at all of them
waits for the sum. Only tools that both answer count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.contestants import INCUMBENT, Incumbent, alone, install_incumbent
from bench.machine import machine, say
from bench.measure import ProcessFailed, Run, measure, middle
from bench.recordings import ROOT, prepare
from bench.report import aligned, verdict

FOLDER: Final = ROOT / ".stepscope" / "bench"
# Ours → theirs, where they give the tool another name.
THEIR_NAME: Final = {"trace_viewer": "trace_viewer@"}
# Runs of ours; the medians count.
OURS: Final = 3
WANTED_FASTER: Final = 60.0
WANTED_MEMORY: Final = 1 / 6


@dataclass
class AllTools:
    """What was measured.

    Attributes:
        ours: The one process that answered with every tool.
        ours_s: Seconds of decoding and of each tool in it; None where there is nothing to show.
        theirs: The incumbent's process per tool.
        failed: Why the incumbent gave no answer, by tool.
    """

    source: str
    machine: dict[str, Any]
    ours: Run = field(default_factory=lambda: Run(0.0, 0.0, 0.0))
    ours_s: dict[str, float | None] = field(default_factory=dict)
    theirs: dict[str, Run] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def render(self) -> str:
        """The report as text."""
        rows = [["tool", "ours", "xprof", "xprof peak"]]
        for tool, seconds in self.ours_s.items():
            theirs = self.theirs.get(tool)
            mine = "nothing to show" if seconds is None else f"{seconds:.3f} s"
            if theirs is None:
                rows.append([tool, mine, self.failed.get(tool, "–"), ""])
            else:
                rows.append([tool, mine, f"{theirs.wall_s:.1f} s", f"{theirs.peak_mb:.0f} MB"])
        lines = [self.source, *aligned(rows, left=1), "", f"ours, one process: {self._ours()}"]
        return "\n".join([*lines, *self._together()])

    def _ours(self) -> str:
        return f"{self.ours.wall_s:.2f} s, {self.ours.peak_mb:.0f} MB"

    def _together(self) -> list[str]:
        if not self.theirs:
            return []
        total = sum(run.wall_s for run in self.theirs.values())
        peak = max(run.peak_mb for run in self.theirs.values())
        faster, share = total / self.ours.wall_s, self.ours.peak_mb / peak
        return [
            f"xprof, {len(self.theirs)} tools that both answer: {total:.1f} s, {peak:.0f} MB",
            f"faster: {faster:.0f}×, {verdict(faster >= WANTED_FASTER, f'≥ {WANTED_FASTER:.0f}×')}"
            f"; memory: {share:.2f}, {verdict(share <= WANTED_MEMORY, f'≤ {WANTED_MEMORY:.2f}')}",
        ]


def main() -> int:
    """Measure, print, keep the numbers."""
    arguments = parse()
    recordings = prepare(FOLDER)
    recording = recordings.base if arguments.small_only else recordings.large
    size = f"{recordings.source}, {recording.stat().st_size / 1e6:.0f} MB"
    report = AllTools(source=size, machine=machine())
    answer(recordings.base)  # not counted: leaves the compiled modules behind
    say("ours, every tool in one process")
    runs = [answer(recording)]
    incumbent = None if arguments.ours_only else find_incumbent()
    if incumbent is not None:
        for tool, seconds in runs[0][1].items():
            if seconds is not None and tool != "decode":
                ask(incumbent, recording, tool, report)
                if len(runs) < OURS:  # between the incumbent's, so that both meet the same machine
                    runs.append(answer(recording))
    runs += [answer(recording) for _ in range(OURS - len(runs))]
    report.ours = middle([run for run, _ in runs])
    report.ours_s = min(runs, key=lambda one: abs(one[0].wall_s - report.ours.wall_s))[1]
    print(report.render())
    kept = FOLDER / f"all-tools-{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
    kept.write_text(json.dumps(asdict(report), indent=1), "utf-8")
    print(f"\nnumbers: {kept.relative_to(ROOT)}")
    return 0


def parse() -> argparse.Namespace:
    """The flags."""
    parser = argparse.ArgumentParser(prog="dev.py bench --all-tools")
    parser.add_argument("--all-tools", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ours-only", action="store_true", help="leave the incumbent out")
    parser.add_argument("--small-only", action="store_true", help="the file of 2 million events")
    return parser.parse_args()


def answer(recording: Path) -> tuple[Run, dict[str, float | None]]:
    """Every tool of ours on a recording: the process, and the seconds per tool."""
    log = FOLDER / "output.log"
    run = measure([sys.executable, "-m", "bench.every_tool", str(recording)], log)
    return run, json.loads(log.read_text("utf-8").splitlines()[-1])


def find_incumbent() -> Incumbent | None:
    """The incumbent, or None with the reason printed."""
    try:
        return install_incumbent(FOLDER)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{INCUMBENT} cannot be installed here, so only ours is measured: {error}")
        return None


def ask(incumbent: Incumbent, recording: Path, tool: str, report: AllTools) -> None:
    """One tool of the incumbent, from a cold process; a failure is part of the report."""
    say(f"{INCUMBENT}: {tool}")
    try:
        with alone(recording) as link:
            command = incumbent.command(link, THEIR_NAME.get(tool, tool))
            report.theirs[tool] = measure(command, FOLDER / "output.log")
    except ProcessFailed as error:
        report.failed[tool] = str(error).splitlines()[-1][:80]


if __name__ == "__main__":
    sys.exit(main())
