"""What a query may say: one statement that reads the tables, and nothing outside of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.errors import UsageError, cut
from stepscope.sql.tables import TABLES

LONGEST_QUERY: Final = 100_000
#: As much of a query as its error repeats.
SHOWN_CHARS: Final = 300
_FIRST_CHARS: Final = 4096

_STRING = re.compile(r"'(?:[^']|'')*'")
_READING = re.compile(r"\b(?:read|scan)_\w*", re.IGNORECASE)
_FIRST_WORD = re.compile(r"(?:[\s(]|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(\w*)")
# Functions that make texts of any length, and such a call whose length is said and small.
_MAKING_TEXT = re.compile(r"\b(?:lpad|rpad|repeat)\b", re.IGNORECASE)
_SHORT_TEXT = re.compile(
    r"\b(?:lpad|rpad|repeat)\s{0,9}\([^()]{1,200}?,\s{0,9}\d{1,4}\s{0,9}[,)]", re.IGNORECASE
)
_STATEMENTS: Final = frozenset({"select", "with", "from", "values", "explain"})
# Where one of these occurs, only the database's own parser can distinguish quotes from text.
_UNCLEAR: Final = ("--", "/*", "\\", "$", '"', "`", "[")


def check_query(query: str) -> None:
    """Refuse what is more than reading the tables.

    Functions that read files must be called by their name, so that a query without such a name
    has none. The name may be in a plain text literal; where it is not clear whether it does,
    the query is refused.

    Raises:
        UsageError: It says why, and what to do.
    """
    if len(query) > LONGEST_QUERY:
        raise refusal(query[:80], f"It is longer than {LONGEST_QUERY:,} characters.", "Shorten it.")
    try:
        query.encode()
    except UnicodeEncodeError:
        raise refusal(
            query, "It has half of a character (a lone surrogate).", "Remove it."
        ) from None
    first = _FIRST_WORD.match(query[:_FIRST_CHARS])
    word = first[1].lower() if first else ""
    if word not in _STATEMENTS:
        why = f"It begins with {word!r}." if word else "It is empty."
        hint = f"Begin with {', '.join(sorted(_STATEMENTS)).upper()}. Tables: {', '.join(TABLES)}."
        raise refusal(query, why, hint, slug="sql")
    plain = _blank_strings(query)
    if len(_MAKING_TEXT.findall(plain)) > len(_SHORT_TEXT.findall(plain)):
        raise refusal(
            query,
            "It makes texts whose length is not a plain number up to 9,999.",
            "Give lpad, rpad and repeat such a number.",
        )
    reading = _READING.search(plain)
    if reading is not None:
        raise refusal(
            query,
            f"It names {reading[0]}, which could read files.",
            "Query the tables of the recording; session.sql(…, trusted=True) may read files.",
        )


def named_tables(query: str, known: Iterable[str]) -> list[str]:
    """Those of the known tables that a query may mean."""
    words = set(re.findall(r"\w+", _STRING.sub("", query).lower()))
    return [name for name in known if name in words]


def refusal(query: str, why: str, hint: str, slug: str = "sql-closed") -> UsageError:
    """The error for a query that is not run."""
    where = cut(query, SHOWN_CHARS)
    return UsageError("This query is not run.", where=where, why=why, hint=hint, slug=slug)


def _blank_strings(query: str) -> str:
    return query if any(mark in query for mark in _UNCLEAR) else _STRING.sub("''", query)
