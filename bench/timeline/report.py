"""What the timeline's bench found, and the table a person reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import Any, Final

from bench.measure import Run, percentile
from bench.report import aligned
from bench.timeline.frames import Moved

FRAME_MS: Final = 16.0
SCREEN_BYTES: Final = 400_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """The most a size may take; NaN where nothing is asked of it."""

    cold_s: float = nan
    warm_s: float = nan
    tile_p95_ms: float = nan
    peak_mb: float = nan


@dataclass(frozen=True)
class Case:
    """One recording.

    Attributes:
        cold_s: From the start of the server's process to the first whole picture, per run.
        warm_s: From opening the address to the same, per run: the server has the recording open,
            the browser has had another page of the server.
        tile_ms: Per random view, of all tracks at once, over HTTP.
        screen_bytes: Tiles of a page opened at a random view.
        peak_mb: The most memory the server held over all of that.
    """

    name: str
    events: int
    megabytes: float
    cold_s: list[float]
    warm_s: list[float]
    tile_ms: list[float]
    screen_bytes: list[int]
    peak_mb: float
    wanted: Wanted

    def row(self) -> list[str]:
        """The table's cells."""
        wanted = self.wanted
        screen = max(self.screen_bytes)
        p95 = percentile(self.tile_ms, 95)
        return [
            self.name,
            f"{self.events / 1e6:.2f} M",
            _judged(percentile(self.cold_s, 50), wanted.cold_s, "s"),
            _judged(percentile(self.warm_s, 50), wanted.warm_s, "s"),
            f"{percentile(self.tile_ms, 50):.1f} ms",
            _judged(p95, wanted.tile_p95_ms, "ms"),
            f"{percentile([float(size) for size in self.screen_bytes], 50) / 1e3:.0f} kB",
            _judged(screen / 1e3, SCREEN_BYTES / 1e3, "kB"),
            _judged(self.peak_mb / 1e3, wanted.peak_mb / 1e3, "GB"),
        ]


@dataclass(frozen=True, slots=True)
class Theirs:
    """The incumbent's answer to the same file; ``again_s`` is NaN where it was asked once."""

    tool: str
    run: Run
    again_s: float
    bytes: int


@dataclass
class TimelineReport:
    """Everything measured in one go."""

    source: str
    machine: dict[str, Any]
    cases: list[Case] = field(default_factory=list)
    theirs: list[Theirs] = field(default_factory=list)
    failure: str = ""
    moved: Moved | None = None

    def render(self) -> str:
        """The report as text."""
        head = ["file", "events", "cold", "warm", "tile p50", "tile p95"]
        head += ["screen", "largest", "server peak"]
        lines = [
            f"{self.source}, repeated in time; Python {self.machine['python']}, "
            f"{self.machine['cores']} cores, load {self.machine['load']:.1f} at the begin",
            "cold: from the start of the server to the first whole picture, in a fresh browser;",
            "warm: from opening the page to it, the recording open and the script known",
            "",
            *aligned([head, *(case.row() for case in self.cases)], left=1),
            "",
        ]
        lines += [_told(theirs) for theirs in self.theirs]
        if self.failure:
            lines.append(f"the incumbent: {self.failure}")
        if self.moved is not None:
            frames = self.moved.frames
            busy = _judged(percentile(frames.busy_ms, 95), FRAME_MS, "ms")
            lines += [
                "",
                f"panning and zooming {self.moved.slices:,} slices, {len(frames.busy_ms)} frames: "
                f"drawing thread p50 {percentile(frames.busy_ms, 50):.1f} ms, p95 {busy}; "
                f"from frame to frame p95 {percentile(frames.interval_ms, 95):.1f} ms",
            ]
        return "\n".join(lines)


def _told(theirs: Theirs) -> str:
    again = "" if theirs.again_s != theirs.again_s else f", asked again {theirs.again_s:.2f} s"
    return (
        f"xprof {theirs.tool}, the first file: {theirs.run.wall_s:.1f} s cold{again}, "
        f"{theirs.bytes / 1e6:.1f} MB answered, peak {theirs.run.peak_mb / 1e3:.2f} GB"
    )


def _judged(value: float, most: float, unit: str) -> str:
    text = f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
    if most != most:
        return text
    return f"{text} {'✓' if value <= most else f'✗ ≤ {most:g}'}"
