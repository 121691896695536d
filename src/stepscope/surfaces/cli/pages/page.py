"""A page of terminal text: lines of styled pieces, printed with colour or without.

Text goes out literally (no markup is interpreted), so names from a recording cannot style or
command the terminal.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping
from typing import IO, Any, Final

import click

from stepscope.quantities import NOT_AVAILABLE, count_words
from stepscope.records import dataclass, field
from stepscope.result import Column, ColumnKind, Table, TimesOf, columns_of
from stepscope.surfaces.cli.arguments import EVERYTHING
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
# Where nothing else gives way, this much of a name stays beside the numbers.
_LEAST_TEXT = 6
# Numbers of a row that stay at any width.
_NUMBERS = 3
_TEXTS = ("name", "text", "category")
# Columns of how much of the whole a row is.
_OF_THE_ROW: Final = ("share", "occurrences")
# Kinds of numbers, the most telling first.
_TELLING: Final[tuple[ColumnKind, ...]] = ("time", "ratio", "count", "rate", "bytes", "number")
# The end of a page that is cut: how to see the rest, and the command to run next.
_PROMPT, _END = 1, 2


def terminal_width() -> int:
    """Columns of the terminal, or of COLUMNS; 80 where there is neither, such as in a pipe."""
    return max(_terminal("COLUMNS", 0, 80), 40)


def terminal_height() -> int:
    """Lines of the terminal, or of LINES; 24 where there is neither."""
    return max(_terminal("LINES", 1, 24), 12)


def _terminal(variable: str, side: int, default: int) -> int:
    """A side of the terminal; as ``shutil`` has it, whose import costs more than a small answer."""
    with contextlib.suppress(KeyError, ValueError):
        if (wanted := int(os.environ[variable])) > 0:
            return wanted
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.__stdout__.fileno())[side] or default  # type: ignore[union-attr]
    return default


def prints_everything() -> bool:
    """Whether the command was called with ``--all``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(EVERYTHING))


def use_colour(stream: IO[str]) -> bool:
    """Colour only on a terminal that wants it (NO_COLOR, TERM=dumb are honoured)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass
class Page:
    """Lines being laid out for a terminal.

    Attributes:
        width: Columns to fit into; None for no limit.
        height: Lines to fit into, with one for the prompt; None for no limit.
        more: How to see the rows that a table leaves out.
        times_of: What the times of its tables are of.
        short_names: What kernels are called, by their names as recorded.
        next: The command to run next; it ends the page.
        paths: What it runs on; PATH stands for them where they do not fit.
    """

    width: int | None = None
    height: int | None = None
    more: str = "--top N, or --all"
    times_of: TimesOf = ""
    short_names: Mapping[str, str] = field(default_factory=dict)
    next: str = ""
    paths: tuple[str, ...] = ()
    lines: list[list[Piece]] = field(default_factory=list)

    @classmethod
    def of_terminal(cls, *, next: str = "", paths: tuple[str, ...] = ()) -> Page:
        """A page for standard output: one screen, or with ``--all`` as long as it gets."""
        height = None if prints_everything() else terminal_height()
        return cls(terminal_width(), height, next=next, paths=paths)

    @property
    def room(self) -> int | None:
        """Lines left on the screen, beside those that end the page; None for no limit."""
        if self.height is None:
            return None
        return self.height - _PROMPT - (_END if self.next else 1) - len(self.lines)

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

    def folded(self, text: str, lines: int, *, style: str = "", indent: int = 0) -> None:
        """Add words on at most ``lines`` lines; "…" ends a text that is cut."""
        if not text:
            return
        room = max((self.width or 10_000) - indent, 20)
        wrapped = _wrapped(text, room)
        if len(wrapped) > lines:
            wrapped = wrapped[:lines]
            wrapped[-1] = f"{wrapped[-1][: room - 2]} …"
        for words in wrapped:
            self.line(
                " " * indent, (words if width(words) <= room else shorten(words, room), style)
            )

    def table(
        self,
        table: Table[Any],
        top: int | None,
        *,
        skip: tuple[str, ...] = (),
        keep: tuple[str, ...] = (),
        brief: bool = False,
    ) -> None:
        """Add a table: aligned, headings with units, long names shortened, never wrapped.

        Columns without any value and columns that do not fit are left out and named below, if the
        table is not to be brief. ``keep`` names those that stay at any width.
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
        for name in (n for n in names if schema[n][1].kind == "name"):
            texts[name] = [self.short_names.get(text, text) for text in texts[name]]
        heads = {name: heading(schema[name][1].said_of(self.times_of)) for name in names}
        left = {name: schema[name][1].kind in _TEXTS for name in names}
        widths = {name: max([width(heads[name]), *map(width, texts[name])]) for name in names}
        wanted = _wanted(names, {name: schema[name][1] for name in names}) if not keep else {*keep}
        if self.width is not None:
            wanted |= _telling_apart({n: texts[n] for n in names if left[n]}, wanted)
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
        if brief:
            cut = len(names) - len(kept)
            rows = len(table) - min(len(table), top or len(table))
            counts = ((rows, "more row"), (cut, "more column"))
            left_out = [count_words(number, noun) for number, noun in counts if number > 0]
            if left_out:
                self.line("  ", (f"… {' and '.join(left_out)}", "dim"))
            return
        self._table_end(
            table,
            top,
            [heads[n] for n in names if n not in kept],
            [schema[n][1].said_of(self.times_of).label for n in empty],
        )

    def _table_end(
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

    def _next_command(self) -> str:
        """The command to run next, ready to be copied."""
        whole = shlex.join(["stepscope", *self.next.split(), *self.paths])
        if self.width is None or width(f"Next: {whole}") <= self.width:
            return whole
        return f"stepscope {self.next} {'PATH' if len(self.paths) == 1 else 'PATH…'}"

    def _screen(self) -> list[list[Piece]]:
        """The lines to print: those that fit, how to see the others, and what to run next."""
        end: list[list[Piece]] = []
        if self.next:
            end = [[("Next: ", "dim"), (self._next_command(), "bold")]]
        if self.height is None or len(self.lines) + len(end) <= self.height - _PROMPT:
            return self.lines + end
        kept = max(self.height - _PROMPT - len(end) - 1, 1)
        cut = f"… {len(self.lines) - kept:,} more lines: --all"
        return [*self.lines[:kept], [(cut, "dim")], *end]

    def print(self, stream: IO[str] | None = None, *, colour: bool | None = None) -> None:
        """Write the page."""
        out = sys.stdout if stream is None else stream
        coloured = use_colour(out) if colour is None else colour
        for line in self._screen():
            out.write(
                "".join(_styled(text, style) if coloured else text for text, style in line) + "\n"
            )


def _styled(text: str, style: str) -> str:
    codes = ";".join(_SGR[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _wanted(names: list[str], columns: Mapping[str, Column]) -> set[str]:
    """The columns that stay at any width: what a row is, and its most telling numbers.

    The first is what the table is sorted by; then one of each kind.
    """
    title = next((n for n in names if columns[n].kind == "name"), None)
    title = title or next((n for n in names if columns[n].kind in _TEXTS), None)
    numbers = [n for n in names if columns[n].kind in _TELLING]
    chosen = [n for n in numbers if columns[n].sort][:1]
    for kind in _TELLING:
        if kind not in {columns[n].kind for n in chosen}:
            own = [n for n in numbers if columns[n].kind == kind]
            chosen += sorted(own, key=lambda n: not n.startswith(_OF_THE_ROW))[:1]
    chosen += [n for n in numbers if n not in chosen]
    return {*filter(None, [title]), *chosen[:_NUMBERS]}


def _telling_apart(texts: Mapping[str, list[str]], wanted: set[str]) -> set[str]:
    """The columns of text without which rows that differ in one of them would read the same."""
    added: set[str] = set()

    def distinct(*more: str) -> int:
        return len(
            set(zip(*(texts[n] for n in texts if n in {*wanted, *added, *more}), strict=True))
        )

    while others := [n for n in texts if n not in wanted | added]:
        best = max(others, key=lambda n: (distinct(n), -max(map(width, texts[n]), default=0)))
        if distinct(best) <= max(distinct(), 1):
            break
        added.add(best)
    return added


def _fit(
    names: list[str],
    widths: dict[str, int],
    left: dict[str, bool],
    wanted: set[str],
    room: int | None,
) -> list[str]:
    """Which columns fit: texts shrink (in ``widths``), then unwanted columns go, the last first."""
    kept, natural = list(names), dict(widths)
    if room is None:
        return kept

    def excess() -> int:
        return sum(widths[name] for name in kept) + _GAP * (len(kept) - 1) - room

    def shrink(floor: int) -> None:
        for name in sorted((n for n in kept if left[n]), key=lambda n: -widths[n]):
            if (over := excess()) > 0 and widths[name] > floor:
                widths[name] = max(widths[name] - over, floor)

    shrink(_GOOD_TEXT)
    expendable = [name for name in kept if name not in wanted]
    expendable.sort(key=lambda name: left[name])  # the last goes first: texts before numbers
    while excess() > 0 and expendable:
        kept.remove(expendable.pop())
    shrink(_MIN_TEXT)
    shrink(_LEAST_TEXT)
    while excess() > 0 and len(kept) > 1:
        kept.pop()
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
