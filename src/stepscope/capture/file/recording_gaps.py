"""The gaps of a recording, on a line of the file, so that steps can leave them out.

A framework hands over its events by ending its session; until the next session begins, nothing is
recorded. A program that profiles itself takes the frameworks' profilers meanwhile.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from stepscope.capture.recorder import Note
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.quantities import share_words
from stepscope.schema import names

# A tenth of the time missed changes what averages say.
_MUCH: Final = 0.1


class Gap(NamedTuple):
    """A time in which a recorder recorded nothing.

    Attributes:
        recorder: Its name.
        begin_ns, end_ns: Since 1970.
        reason: ``names.GAP_CHUNK``, ``names.GAP_PAUSE`` or ``names.GAP_REST``.
        is_at_step: Whether the mark of the loop's next step had just been reached.
    """

    recorder: str
    begin_ns: int
    end_ns: int
    reason: str = names.GAP_CHUNK
    is_at_step: bool = False


class RecordingGaps:
    """The gaps of one recording."""

    def __init__(self) -> None:
        self.found: list[Gap] = []
        #: What the program recorded itself with; a set in order.
        self.profilers: dict[str, None] = {}
        self._paused_ns, self._is_at_step = 0, False

    def __bool__(self) -> bool:
        return bool(self.found)

    def pause(self, *, at_step: bool = False) -> None:
        """Every recorder stops now, as the loop's next step has been marked or elsewhere."""
        self._paused_ns, self._is_at_step = time.time_ns(), at_step

    def resume(self, recorders: Iterable[str], reason: str = names.GAP_PAUSE) -> None:
        """These record again since now."""
        now_ns = time.time_ns()
        if self._paused_ns:
            begin_ns, at_step = self._paused_ns, self._is_at_step
            self.found += [Gap(one, begin_ns, now_ns, reason, at_step) for one in recorders]
        self._paused_ns = 0

    def forget(self, before_ns: int) -> None:
        """Forget gaps that were over by then (since 1970)."""
        if self.found and self.found[0].end_ns < before_ns:
            self.found = [gap for gap in self.found if gap.end_ns >= before_ns]

    def missed_ns(self, *reasons: str) -> dict[str, int]:
        """How long each recorder recorded nothing, for these reasons or for any."""
        missed: dict[str, int] = defaultdict(int)
        for gap in self.found:
            if not reasons or gap.reason in reasons:
                missed[gap.recorder] += gap.end_ns - gap.begin_ns
        return missed

    def plane(self, reads_ns: Sequence[int] = ()) -> bytes:
        """An XSpace with an event for each.

        Args:
            reads_ns: When the loop had read results, which goes into the same plane.
        """
        plane = PlaneWriter(names.RECORDING_PLANE)
        begin = np.asarray([gap.begin_ns for gap in self.found], np.int64)
        end = np.asarray([gap.end_ns for gap in self.found], np.int64)
        at_step = np.flatnonzero([gap.is_at_step for gap in self.found])
        metadata = [
            plane.name(
                f"{gap.recorder}: {gap.reason}",
                stats={names.GAP_RECORDER: gap.recorder, names.GAP_REASON: gap.reason},
            )
            for gap in self.found
        ]
        plane.line(
            1,
            names.GAPS_LINE,
            metadata=np.asarray(metadata, np.int64),
            start_ns=begin,
            duration_ns=end - begin,
            stats=[Stat(names.GAP_AT_STEP, np.ones(len(at_step), np.int64), at_step)],
        )
        if reads_ns:
            read = np.full(len(reads_ns), plane.name(names.READS_LINE))
            plane.line(2, names.READS_LINE, metadata=read, start_ns=np.asarray(reads_ns, np.int64))
        return plane.xspace()

    def notes(self, recorded_ns: int, *, is_whole: bool) -> list[Note]:
        """Messages for a person about them.

        Args:
            recorded_ns: How long was recorded, gaps included.
            is_whole: Whether every step was to be recorded.
        """
        chunks = self._chunk_notes(recorded_ns) if is_whole else []
        return [*self._paused_notes(recorded_ns), *chunks]

    def _paused_notes(self, recorded_ns: int) -> list[Note]:
        missed = self.missed_ns(names.GAP_PAUSE)
        if not missed:
            return []
        text = (
            f"Recording paused for {max(missed.values()) / 1e9:.2g} s of {recorded_ns / 1e9:.3g} s "
            f"while the program recorded itself with {' and '.join(self.profilers)}. Steps in that "
            "time are missing."
        )
        return [Note("paused", "warning", text)]

    def _chunk_notes(self, recorded_ns: int) -> list[Note]:
        missed = self.missed_ns(names.GAP_CHUNK)
        if not missed:
            return []
        name, most = max(missed.items(), key=lambda item: item[1])
        share = most / max(recorded_ns, 1)
        text = (
            f"{name} was not recorded for {most / 1e9:.2f} s of {recorded_ns / 1e9:.1f} s "
            f"({share_words(share)}), while chunks were written. Steps are missing there; a lower "
            "host_tracer_level (stepscope record --host-level), or in Python a larger "
            "chunk_seconds, makes the gaps smaller."
        )
        return [Note("gaps", "warning" if share > _MUCH else "info", text)]
