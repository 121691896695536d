"""The parameters of a timeline request: a range of time, tracks, numbers and words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from stepscope.errors import UsageError
from stepscope.records import dataclass
from stepscope.timeline import LaneRange, Timeline
from stepscope.timeline.cancellation import CancellationCheck, waits

_TRACK: Final = re.compile(r"(\d{1,9})(?::(\d{1,9})-(\d{1,9}))?")
_MOST_PARTS: Final = 4096


@dataclass(frozen=True, slots=True)
class Query:
    """The query string, read with reasons for what is wrong in it.

    Attributes:
        check: Raises ``GivenUp`` once the client has gone.
    """

    args: Mapping[str, str]
    check: CancellationCheck = waits

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        return self.args.get(name, default)

    def number(self, name: str, default: int | None = None) -> int:
        """An integer; an error without one when there is no default."""
        text = self.args.get(name, "")
        if not text and default is not None:
            return default
        if not re.fullmatch(r"-?\d{1,19}", text, re.ASCII):
            raise UsageError(f"timeline: {name} cannot be {text!r}.", hint="Give an integer.")
        return int(text)

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        """One of some words; the first by default."""
        text = self.args.get(name, known[0])
        if text not in known:
            raise UsageError(
                f"timeline: {name} cannot be {text!r}.", hint=f"One of {', '.join(known)}."
            )
        return text

    def view(self, line: Timeline) -> tuple[int, int]:
        """``start_ps:end_ps``; the whole trace where they are not given."""
        if "start_ps" not in self.args and "end_ps" not in self.args:
            begin, end = line.span()
            return begin, end + 1
        begin, end = self.number("start_ps"), self.number("end_ps")
        if not 0 < end - begin < 1 << 62 or abs(begin) >= 1 << 62:
            raise UsageError(
                "timeline: end_ps must be after start_ps.", hint="Times are integers, in ps."
            )
        return begin, end

    def wanted(self, line: Timeline) -> list[LaneRange]:
        """``tracks=3,5,12:0-40``: ids, or lanes of an id; all tracks where it is not given."""
        text = self.args.get("tracks")
        if text is None:
            return [LaneRange(track.id) for track in line.tracks]
        found: dict[LaneRange, None] = {}  # each once: an answer should not grow with the question
        parts = [part for part in text.split(",") if part]
        if len(parts) > _MOST_PARTS:
            raise UsageError(
                f"timeline: {len(parts):,} tracks are too many.",
                hint=f"Ask for at most {_MOST_PARTS:,} at a time.",
            )
        for part in dict.fromkeys(parts):
            match = _TRACK.fullmatch(part)
            if match is None or int(match[1]) >= len(line.tracks):
                raise UsageError(
                    f"timeline: there is no track {part!r}.",
                    hint=f"Tracks are 0 to {len(line.tracks) - 1}; lanes are written 12:0-40.",
                )
            lanes = (int(match[2]), int(match[3])) if match[2] else (0, None)
            found[LaneRange(int(match[1]), *lanes)] = None
        return list(found)

    def tracks(self, line: Timeline) -> list[int] | None:
        """Ids of ``tracks``; None where it is not given."""
        return None if "tracks" not in self.args else [w.track for w in self.wanted(line)]
