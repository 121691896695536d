"""Profiles drawn as text: one row per line, one column per unit of time.

    draw(
        '''
        /host:CPU
          python      S--------.S--------.
          tf_exec     .P------...P------..
          "           ..I-.M.....I-.M.....
        /device:GPU:0
          Stream #7   .....K--.......K--..
        ''',
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        P=event("ExecutorState::Process"),
        I=event("IteratorGetNext"),
        M=event("model/dense/MatMul:MatMul"),
        K=event("sgemm", correlation_id=u(1000 + nth)),
    )

A letter starts an event, each ``-`` makes it one unit longer, ``.`` is nothing. A row that is a
single word names a plane; ``"`` continues the line above it, which is how nesting is drawn. Names
of lines may hold single spaces: two spaces end them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Any

from tests.profiles.model import NVIDIA_A100, Event, Line, Plane, Stats, Unsigned


@dataclass(frozen=True, slots=True)
class Nth:
    """Stands for how often a letter was drawn before (0, 1, 2 …), plus a constant."""

    plus: int = 0

    def __add__(self, other: int) -> Nth:
        return Nth(self.plus + other)

    __radd__ = __add__


nth = Nth()


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a letter means. ``{nth}`` in the name becomes the number, as ``nth`` does in stats."""

    name: str
    stats: Stats

    def at(self, number: int, start_us: float, duration_us: float) -> Event:
        """The event of this letter's ``number``-th appearance."""
        stats = {name: _resolve(value, number) for name, value in self.stats.items()}
        return Event(self.name.replace("{nth}", str(number)), start_us, duration_us, stats)


def event(name: str, **stats: Any) -> Drawn:
    """The meaning of a letter in a drawing."""
    return Drawn(name, stats)


def _resolve(value: Any, number: int) -> Any:
    if isinstance(value, Nth):
        return number + value.plus
    if isinstance(value, Unsigned):
        return Unsigned(_resolve(value.value, number))
    return value


def draw(picture: str, *, unit_us: float = 1.0, **letters: Drawn) -> tuple[Plane, ...]:
    """The planes of a picture; planes named ``/device:GPU:…`` are A100s.

    Letters are numbered in order of time, line after line.

    Raises:
        ValueError: A row that is not of the form above; the message quotes it.
    """
    planes: list[Plane] = []
    counts: Counter[str] = Counter()
    for row in dedent(picture).splitlines():
        cells = re.split(r"\s{2,}", row.strip(), maxsplit=1)
        if cells == [""]:
            continue
        if len(cells) == 1:
            stats = NVIDIA_A100 if cells[0].startswith("/device:GPU") else {}
            planes.append(Plane(cells[0], (), stats, id=len(planes)))
            continue
        name, bars = cells
        if not planes:
            raise ValueError(f"a plane must be named before the line {row!r}")
        events = _read_bars(bars, unit_us, letters, counts)
        planes[-1] = _with_row(planes[-1], name, events, row)
    return tuple(planes)


def _with_row(plane: Plane, name: str, events: tuple[Event, ...], row: str) -> Plane:
    """The plane with one more line, or with its last line extended."""
    if name != '"':
        return replace(plane, lines=(*plane.lines, Line(name, events, id=_line_id(name))))
    if not plane.lines:
        raise ValueError(f"nothing above to continue: {row!r}")
    *before, last = plane.lines
    return replace(plane, lines=(*before, replace(last, events=last.events + events)))


def _line_id(name: str) -> int | None:
    """A stream's number is its line's id; other lines are numbered by place."""
    numbered = re.match(r"Stream #(\d+)", name)
    return int(numbered[1]) if numbered else None


def _read_bars(
    bars: str, unit_us: float, letters: dict[str, Drawn], counts: Counter[str]
) -> tuple[Event, ...]:
    if not re.fullmatch(r"(\.|[A-Za-z]-*)+", bars):
        raise ValueError(f"bars are letters, each followed by its dashes, and dots: {bars!r}")
    events = []
    for bar in re.finditer(r"([A-Za-z])-*", bars):
        letter = bar[1]
        if letter not in letters:
            raise ValueError(f"{letter!r} is drawn but has no meaning: {bars!r}")
        start_us, duration_us = bar.start() * unit_us, len(bar[0]) * unit_us
        events.append(letters[letter].at(counts[letter], start_us, duration_us))
        counts[letter] += 1
    return tuple(events)
