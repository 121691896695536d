"""A page of terminal text: lines of styled pieces, printed with colour or without.

Text goes out literally (no markup is interpreted), so names from a recording cannot style or
command the terminal.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import IO, Any

from stepscope.quantities import NOT_AVAILABLE
from stepscope.result import Table, TimesOf, columns_of
from stepscope.surfaces.format import cell, heading, pad, shorten, width

Piece = tuple[str, str]

_SGR = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_GAP = 2
# A name still differs from its neighbours at the first width, just about at the second.
_GOOD_TEXT = 32
_MIN_TEXT = 14


def terminal_width(stream: IO[str]) -> int | None:
    """Columns of the terminal; None when the stream is not one (nothing is shortened then)."""
    if not stream.isatty():
        return None
    import shutil

    return max(shutil.get_terminal_size((100, 24)).columns, 40)


def use_colour(stream: IO[str]) -> bool:
    """Colour only on a terminal that wants it (NO_COLOR, TERM=dumb are honoured)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass
class Page:
    """Lines being laid out for a terminal.

    Attributes:
        width: Columns to fit into; None for no limit.
        more: How to see the rows that a table leaves out.
        times_of: What the times of its tables are of.
    """

    width: int | None = None
    more: str = "--top N, or --top 0 for all"
    times_of: TimesOf = ""
    lines: list[list[Piece]] = field(default_factory=list)

    def line(self, *pieces: str | Piece) -> None:
        """Add a line of texts and (text, style) pieces; style is words of ``bold dim red …``."""
        self.lines.append([piece if isinstance(piece, tuple) else (piece, "") for piece in pieces])

    def blank(self) -> None:
        """Add an empty line, once."""
        if self.lines and self.lines[-1]:
            self.lines.append([])

    def heading(self, text: str) -> None:
        """Start a section."""
        self.blank()
        self.line((text, "bold"))

    def text(
        self, text: str, *, indent: int = 0, style: str = "", lead: str = "", tail: Piece = ("", "")
    ) -> None:
        """Add words, wrapped to the page; ``lead`` comes before the first line, ``tail`` last."""
        room = max((self.width or 10_000) - indent - width(lead), 20)
        lines = _wrapped(f"{text} {tail[0]}", room)
        # The tail is one word, and ends the last line.
        lines[-1] = lines[-1][: len(lines[-1]) - len(tail[0])]
        for at, words in enumerate(lines):
            before = lead if at == 0 else " " * width(lead)
            last = (tail,) if tail[0] and at == len(lines) - 1 else ()
            self.line(" " * indent + before, (words, style), *last)

    def table(self, table: Table[Any], top: int | None, *, skip: tuple[str, ...] = ()) -> None:
        """Add a table: aligned, headings with units, long names shortened, never wrapped.

        Columns without any value and columns that do not fit are left out and named below.
        """
        schema = columns_of(table.schema)
        shown = (table if top is None else table.head(top)).to_dict()
        empty = [
            name
            for name, values in shown.items()
            if values and all(value is None for value in values)
        ]
        names = [n for n in shown if not schema[n][1].hidden and n not in empty and n not in skip]
        texts = {name: [cell(value, schema[name][1]) for value in shown[name]] for name in names}
        heads = {name: heading(schema[name][1].said_of(self.times_of)) for name in names}
        left = {name: schema[name][1].kind in ("name", "text", "category") for name in names}
        widths = {name: max([width(heads[name]), *map(width, texts[name])]) for name in names}
        wanted = {n for n in names if schema[n][1].kind == "name" or schema[n][1].sort}
        kept = _fit(names, widths, left, wanted, None if self.width is None else self.width - 2)
        self.line(
            "  ",
            (
                (" " * _GAP)
                .join(pad(heads[n], widths[n], right=not left[n]) for n in kept)
                .rstrip(),
                "dim",
            ),
        )
        for row in zip(*(texts[n] for n in kept), strict=True):
            cells = (
                pad(shorten(text, widths[n]), widths[n], right=not left[n])
                for n, text in zip(kept, row, strict=True)
            )
            self.line("  " + (" " * _GAP).join(cells).rstrip())
        self._below_table(
            table,
            top,
            [heads[n] for n in names if n not in kept],
            [schema[n][1].said_of(self.times_of).label for n in empty],
        )

    def _below_table(
        self, table: Table[Any], top: int | None, cut: list[str], empty: list[str]
    ) -> None:
        if len(table) == 0:
            self.line("  ", ("no rows", "dim"))
        if top is not None and len(table) > top:
            self.line("  ", (f"… {len(table) - top:,} more rows ({self.more})", "dim"))
        if cut:
            self.text(f"no room here for: {', '.join(cut)}", indent=2, style="dim")
        if empty:
            self.text(f"not recorded ({NOT_AVAILABLE}): {', '.join(empty)}", indent=2, style="dim")

    def print(self, stream: IO[str] | None = None, *, colour: bool | None = None) -> None:
        """Write the page."""
        out = sys.stdout if stream is None else stream
        coloured = use_colour(out) if colour is None else colour
        for line in self.lines:
            out.write(
                "".join(_styled(text, style) if coloured else text for text, style in line) + "\n"
            )


def _styled(text: str, style: str) -> str:
    codes = ";".join(_SGR[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _fit(
    names: list[str],
    widths: dict[str, int],
    left: dict[str, bool],
    wanted: set[str],
    room: int | None,
) -> list[str]:
    """Which columns fit: text columns shrink (in ``widths``), then the last unwanted ones go."""
    kept, natural = list(names), dict(widths)
    if room is None:
        return kept

    def excess() -> int:
        return sum(widths[name] for name in kept) + _GAP * (len(kept) - 1) - room

    for floor in (_GOOD_TEXT, _MIN_TEXT):
        for name in sorted((n for n in kept if left[n]), key=lambda n: -widths[n]):
            if (over := excess()) > 0 and widths[name] > floor:
                widths[name] = max(widths[name] - over, floor)
        expendable = [name for name in kept if name not in wanted]
        while excess() > 0 and expendable:
            kept.remove(expendable.pop())
    for name in kept:  # what the columns that went left over
        widths[name] = min(natural[name], widths[name] + max(-excess(), 0))
    return kept


def _wrapped(text: str, room: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and width(lines[-1]) + 1 + width(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines
