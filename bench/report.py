"""The numbers of one benchmark run, and the table a person reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.measure import Run

BUSY_LOAD = 0.7  # of one core, before anything of ours runs


@dataclass(frozen=True)
class Case:
    """One tool on one file.

    Attributes:
        size: "base" or "large".
        ours, theirs: Medians; ``theirs`` is None where the incumbent was left out or failed.
        failure: Why the incumbent gave no answer.
        wanted_faster: How many times faster ours is to be.
        wanted_memory: At most this share of the incumbent's peak memory.
    """

    tool: str
    size: str
    megabytes: float
    ours: Run
    theirs: Run | None
    failure: str
    ours_runs: list[Run]
    theirs_runs: list[Run]
    wanted_faster: float
    wanted_memory: float

    def row(self) -> list[str]:
        """The table's cells."""
        cells = [self.tool, f"{self.megabytes:.0f} MB", f"{self.ours.wall_s:.2f} s"]
        if self.theirs is None:
            reason = self.failure or "not measured"
            return [*cells, "–", reason, "", "–", f"{self.ours.peak_mb:.0f} MB", "–", "", ""]
        faster = self.theirs.wall_s / self.ours.wall_s
        memory = self.ours.peak_mb / self.theirs.peak_mb
        return [
            *cells,
            f"{self.theirs.wall_s:.1f} s",
            f"{faster:.1f}×",
            verdict(faster >= self.wanted_faster, f"≥ {self.wanted_faster:.0f}×"),
            f"{self.theirs.cpu_s / self.ours.cpu_s:.1f}×",
            f"{self.ours.peak_mb:.0f} MB",
            f"{self.theirs.peak_mb:.0f} MB",
            f"{memory:.2f}",
            verdict(memory <= self.wanted_memory, f"≤ {self.wanted_memory:.2f}"),
        ]


@dataclass
class Report:
    """Everything measured in one go.

    Attributes:
        decode: Events of the base file, and seconds to decode them on one thread.
    """

    source: str
    machine: dict[str, Any]
    large_times: int
    decode: tuple[int, float] = (0, 0.0)
    cases: list[Case] = field(default_factory=list)

    def render(self, wanted_decode: float) -> str:
        """The report as text."""
        head = ["tool", "file", "ours", "xprof", "faster", "wanted", "less CPU"]
        head += ["ours peak", "xprof peak", "share", "wanted"]
        events, seconds = self.decode
        rate = events / seconds
        lines = [
            f"{self.source}: {events:,} events; the large file is it {self.large_times} times",
            f"Python {self.machine['python']}, {self.machine['system']}",
            *self.warning(),
            "",
            *aligned([head, *(case.row() for case in self.cases)], left=2),
            "",
            f"decode alone, one thread: {rate / 1e6:.1f} M events/s "
            + verdict(rate >= wanted_decode, f"≥ {wanted_decode / 1e6:.0f} M"),
            *self.linearity(),
        ]
        return "\n".join(lines)

    def warning(self) -> list[str]:
        """A line when something else was running: wall times then say little."""
        load, cores = self.machine["load"], self.machine["cores"]
        if load < BUSY_LOAD:
            return []
        return [
            f"BUSY: load {load:.1f} on {cores} cores before the first run; wall times are not to "
            "be trusted, processor times and memory are"
        ]

    def linearity(self) -> list[str]:
        """How time and memory grow from the base file to the large one, per tool."""
        by_key = {(case.tool, case.size): case for case in self.cases}
        lines = []
        for tool in dict.fromkeys(case.tool for case in self.cases):
            base, large = by_key.get((tool, "base")), by_key.get((tool, "large"))
            if base is None or large is None:
                continue
            lines.append(
                f"{tool}, {self.large_times} times the events: ours takes "
                f"{large.ours.wall_s / base.ours.wall_s:.1f} times the time, "
                f"{large.ours.cpu_s / base.ours.cpu_s:.1f} times the processor and "
                f"{large.ours.peak_mb / base.ours.peak_mb:.1f} times the memory"
            )
        return lines


def verdict(met: bool, wanted: str) -> str:
    """What was wanted, and whether it was met."""
    return f"{wanted} {'✓' if met else '✗'}"


def aligned(rows: list[list[str]], left: int) -> list[str]:
    """Rows of text with their columns below one another, the first ``left`` to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
