"""One answer: its outcome, tables of data, and what was cut.

Texts of a recording are a stranger's. They appear in cells and nowhere else: what we say around
them is fixed text and numbers. A cell cannot hold a line break, a control character or one that
changes the direction of text, and ends after 120 characters, those with our sentences later.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any, Final, Literal

from stepscope.errors import UsageError
from stepscope.records import dataclass, replace

#: "rows": there are some. "none": it was recorded, and there were none. "unknown": it was not
#: recorded, and the answer says how to record it. "error": the question is wrong.
ReplyOutcome = Literal["rows", "none", "unknown", "error"]

DEFAULT_TOKENS: Final = 2000
MOST_TOKENS: Final = 20_000
_BYTES_PER_TOKEN: Final = 3.5
_CELL_LENGTH: Final = 120
#: Of cells with a sentence of ours, in which names of the recording may stand.
WIDE: Final = 400
#: Of cells of an answer about one thing: our longest sentences, but not a stranger's longest name.
WHOLE: Final = 4000
_ELLIPSIS: Final = "…"
_UNWANTED: Final = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")


def tokens_of(text: str) -> int:
    """About how many tokens a text is: a token is some 3.5 bytes."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def cell(value: Any, width: int = _CELL_LENGTH) -> str:
    """A value as a cell: one line, nothing invisible, at most ``width`` characters."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(str(value).split())
    text = "".join(c for c in text if unicodedata.category(c) not in _UNWANTED)
    return text if len(text) <= width else text[: width - 1] + _ELLIPSIS


@dataclass(frozen=True, slots=True)
class Data:
    """A table of an answer.

    Attributes:
        name: What its rows are.
        columns: Headings; names end in their unit.
        rows: Cells.
        total: Rows there are in all; more than ``rows`` where the question asked for a part.
        first: Place of the first row among them.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int
    first: int = 0


def data(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    first: int = 0,
    width: int = _CELL_LENGTH,
) -> Data:
    """A table from values; rows before ``first`` are skipped."""
    cells = tuple(tuple(cell(value, width) for value in row) for row in rows[first:])
    return Data(name, tuple(columns), cells, len(rows), first)


@dataclass(frozen=True, slots=True)
class AgentReply:
    """One answer.

    Attributes:
        outcome: Whether there is something, nothing, or no knowing.
        said: Sentences of ours; nothing of a recording is in them.
        tables: The data, the most important first.
        recording: Handle of the recording.
        files_used: Names of the files it is from.
        more: The question that gives what was cut, with ``{cursor}`` for where it goes on.
    """

    outcome: ReplyOutcome
    said: tuple[str, ...] = ()
    tables: tuple[Data, ...] = ()
    recording: str = ""
    files_used: tuple[str, ...] = ()
    more: str = ""

    def text(self, max_tokens: int = DEFAULT_TOKENS) -> str:
        """The answer within a budget, cut at rows, the last tables first; 0 gives everything.

        Raises:
            UsageError: The budget is not a number from 0 to 20,000.
        """
        if not 0 <= max_tokens <= MOST_TOKENS:
            raise UsageError(
                f"max_tokens cannot be {max_tokens}.", hint=f"0 to {MOST_TOKENS}; 0 is all."
            )
        whole = self._rendered()
        if max_tokens == 0 or tokens_of(whole) <= max_tokens:
            return whole
        kept = list(self.tables)
        for place in reversed(range(len(kept))):
            table = kept[place]
            low, high = 0, len(table.rows)
            while low < high:  # as many rows of this table as fit
                middle = (low + high + 1) // 2
                kept[place] = replace(table, rows=table.rows[:middle])
                text = replace(self, tables=tuple(kept))._rendered()
                low, high = (middle, high) if tokens_of(text) <= max_tokens else (low, middle - 1)
            kept[place] = replace(table, rows=table.rows[:low])
            text = replace(self, tables=tuple(kept))._rendered()
            if tokens_of(text) <= max_tokens:
                return text
        # What is left is headings; the budget was too small for any row.
        most = int(max_tokens * _BYTES_PER_TOKEN)
        return text.encode()[:most].decode("utf-8", "ignore")

    def summary(self) -> dict[str, Any]:
        """The answer without its rows, for programs that read fields."""
        return {
            "outcome": self.outcome,
            "recording": self.recording,
            "files_used": list(self.files_used),
            "tables": {one.name: one.total for one in self.tables},
        }

    def _rendered(self) -> str:
        lines = [f"outcome: {self.outcome}"]
        if self.recording:
            files = ", ".join(cell(name) for name in self.files_used[:3])
            more = f" and {len(self.files_used) - 3} more" if len(self.files_used) > 3 else ""
            lines.append(f"recording: {self.recording}; files_used: {files}{more}")
        lines += self.said
        for one in self.tables:
            end = one.first + len(one.rows)
            cut = one.total - end
            shown = (
                f"rows {one.first + 1}-{end} of {one.total}" if one.rows else f"0 of {one.total}"
            )
            lines += ["", f"data {one.name} ({shown}, tab-separated, texts are the recording's):"]
            lines.append("\t".join(one.columns))
            lines += ["\t".join(row) for row in one.rows]
            if cut > 0:
                rest = f" For the rest: {self.more.format(cursor=end)}" if self.more else ""
                lines.append(f"CUT: {cut} of {one.total} rows of {one.name} are not shown.{rest}")
        return "\n".join(lines) + "\n"
