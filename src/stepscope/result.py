"""The only data types that surfaces see: tables, results, diagnostics, findings.

A tool's answer is a frozen dataclass derived from ``Result``. Its fields are plain values,
nested frozen dataclasses and ``Table``s; their names carry their unit (``_ms``, ``_us``,
``_bytes``, ``_frac`` …) because these names *are* the published contract: the JSON of the CLI
and of HTTP, the columns of data frames and the generated TypeScript types all use them.
Picoseconds are the unit up to ``analysis``; a tool converts once, with ``us()`` and ``ms()``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)
from weakref import WeakKeyDictionary

import numpy as np

from stepscope.errors import UsageError
from stepscope.records import dataclass, field

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SCHEMA_VERSION = 1

ColumnKind = Literal[
    "name", "text", "category", "count", "time", "ratio", "bytes", "rate", "number", "flag", "rank"
]
Severity = Literal["info", "low", "medium", "high"]
Likelihood = Literal["likely", "possible", "doubtful"]
# What the times of a result are of; "" where it has none, or not one thing.
TimesOf = Literal["", "step", "recording"]


def us(ps: float) -> float:
    """Picoseconds to microseconds."""
    return float(ps) / 1e6


def ms(ps: float) -> float:
    """Picoseconds to milliseconds."""
    return float(ps) / 1e9


@dataclass(frozen=True, slots=True)
class Column:
    """What a field means to a person: the label, unit and kind every surface uses.

    Attributes:
        label: Heading.
        unit: Unit as printed after the number ("µs", "%" …); "" for none.
        kind: How to draw and sort it. ``ratio`` values are fractions 0–1, shown as per cent.
        help: One sentence: what the number is.
        sort: "desc" on the column a table is sorted by when it arrives.
        hidden: Not shown until asked for.
        whole_label, whole_help: The same where times are of the whole recording and not of its
            mean step; "" where nothing changes.
    """

    label: str
    unit: str = ""
    kind: ColumnKind = "number"
    help: str = ""
    sort: Literal["", "asc", "desc"] = ""
    hidden: bool = False
    whole_label: str = ""
    whole_help: str = ""

    def said_of(self, times_of: TimesOf) -> Column:
        """The same column in the words for what times are of."""
        if times_of != "recording":
            return self
        label, text = self.whole_label or self.label, self.whole_help or self.help
        return dataclasses.replace(self, label=label, help=text)


class Row:
    """Base of table schemas: a class of ``name: Annotated[type, Column(…)]`` lines."""


R = TypeVar("R", bound=Row)


# Reading annotations takes a millisecond, and every table asks: it is done once a schema. Answers
# to queries have schemas of their own, which are gone when they are.
_COLUMNS: WeakKeyDictionary[type[Row], Mapping[str, tuple[Any, Column]]] = WeakKeyDictionary()


def columns_of(row: type[Row]) -> Mapping[str, tuple[Any, Column]]:
    """``{field: (python type, Column)}`` of a row schema, in declaration order."""
    if row not in _COLUMNS:
        _COLUMNS[row] = MappingProxyType(_read_columns(row))
    return _COLUMNS[row]


def _read_columns(row: type[Row]) -> dict[str, tuple[Any, Column]]:
    found: dict[str, tuple[Any, Column]] = {}
    for name, hint in get_type_hints(row, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{row.__name__}.{name} needs Annotated[type, Column(...)]")
        python_type, *notes = get_args(hint)
        column = next((note for note in notes if isinstance(note, Column)), None)
        if column is None:
            raise TypeError(f"{row.__name__}.{name} has no Column")
        found[name] = (python_type, column)
    return found


# A record takes a kilobyte.
_MOST_RECORDS: Final = 10_000
_NUMBERS: Final = frozenset({int, float, bool, type(None)})
_BEGINS_NUMBER: Final = re.compile(r"[-\d]|inf|nan|None|True|False")


class Table(Generic[R]):
    """Rows of one schema, stored as columns.

    Args:
        schema: The row class.
        columns: ``{field: array or list}``; every field of the schema, equally long.
    """

    __slots__ = ("_columns", "_records", "schema")

    def __init__(self, schema: type[R], columns: Mapping[str, Any]) -> None:
        wanted = columns_of(schema)
        missing, extra = wanted.keys() - columns.keys(), columns.keys() - wanted.keys()
        if missing or extra:
            raise ValueError(
                f"{schema.__name__}: missing {sorted(missing)}, unknown {sorted(extra)}"
            )
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{schema.__name__}: columns differ in length: {lengths}")
        self.schema = schema
        self._columns: dict[str, Any] = {name: columns[name] for name in wanted}
        self._records: list[R] | None = None

    @classmethod
    def empty(cls, schema: type[R]) -> Table[R]:
        """A table without rows."""
        return cls.from_rows(schema, ())

    @classmethod
    def from_rows(cls, schema: type[R], rows: Iterable[Mapping[str, Any]]) -> Table[R]:
        """A table of rows, each with a value for every field; what else a row has is left out."""
        listed = list(rows)
        return cls(schema, {name: [row[name] for row in listed] for name in columns_of(schema)})

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __repr__(self) -> str:
        return f"Table[{self.schema.__name__}]({len(self)} rows: {', '.join(self._columns)})"

    def __getitem__(self, name: str) -> Any:
        """One column, as it is stored (NumPy array or list)."""
        return self._columns[name]

    @property
    def columns(self) -> Mapping[str, Any]:
        """All columns by name."""
        return self._columns

    def head(self, rows: int) -> Table[R]:
        """The first ``rows`` rows."""
        return Table(self.schema, {name: values[:rows] for name, values in self._columns.items()})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows as dictionaries of plain Python values."""
        plain = self.to_dict()
        for values in zip(*plain.values(), strict=True):
            yield dict(zip(plain, values, strict=True))

    def records(self) -> Iterator[R]:
        """Rows as objects of the schema, for code: a field that is renamed fails the type check.

        Numbers that are not available stay NaN. Small tables keep their records: a dozen rules
        read the kernels, one after another.
        """
        if self._records is None:
            plain = [
                values.tolist() if isinstance(values, np.ndarray) else values
                for values in self._columns.values()
            ]
            records = (self._record(row) for row in zip(*plain, strict=True))
            if len(self) > _MOST_RECORDS:
                return records
            self._records = list(records)
        return iter(self._records)

    def _record(self, values: tuple[Any, ...]) -> R:
        record = object.__new__(self.schema)
        record.__dict__.update(zip(self._columns, values, strict=True))
        return record

    def cells(self, name: str) -> list[Any]:
        """One column as a list of plain values; empty if there is none of this name."""
        return _plain_list(self._columns[name]) if name in self._columns else []

    def rows_with(self, texts: Iterable[str]) -> set[int]:
        """Numbers of the rows of which any cell, as text, is one of these."""
        wanted = frozenset(texts)
        # Most columns hold numbers, and nearly every text is none: those are not made texts.
        skipped = frozenset() if any(map(_BEGINS_NUMBER.match, wanted)) else _NUMBERS
        rows: set[int] = set()
        for values in self._columns.values():
            if isinstance(values, list) and {*map(type, values)} == {str}:
                if not wanted.isdisjoint(values):
                    rows |= {row for row, cell in enumerate(values) if cell in wanted}
            elif not (skipped and isinstance(values, np.ndarray) and values.dtype.kind in "biuf"):
                cells = enumerate(_plain_list(values))
                rows |= {
                    row for row, cell in cells if type(cell) not in skipped and str(cell) in wanted
                }
        return rows

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists of plain values (NaN becomes None: "not available" is never 0)."""
        return {name: _plain_list(values) for name, values in self._columns.items()}

    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars frame."""
        import polars as pl

        def series(name: str, values: Any) -> pl.Series:
            try:
                return pl.Series(name, values)
            except TypeError:
                # Integers beside fractions: a frame's column has one type, and doubles hold both.
                return pl.Series(name, values, strict=False)
            except UnicodeEncodeError:
                # A name whose bytes are not UTF-8: what cannot be encoded becomes "?".
                clean = [
                    v.encode("utf-8", "replace").decode() if isinstance(v, str) else v
                    for v in values
                ]
                return pl.Series(name, clean)

        return pl.DataFrame([series(name, values) for name, values in self._columns.items()])

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame.

        Raises:
            UsageError: pandas is not installed; Stepscope itself does without.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError(
                "to_pandas() needs pandas.",
                why=str(error),
                hint="Run `pip install pandas`, or use to_polars().",
                slug="no-pandas",
            ) from error
        return pd.DataFrame(dict(self._columns))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something the reader of a number must know about it.

    Attributes:
        slug: Stable name of the case. "empty-<table>" says why a table of the result has no rows;
            pages show it in the place of the table.
        severity: "info", "warning" or "error".
        message: One sentence, complete in itself.
        where: Host, plane or file concerned; "" for the whole session.
    """

    slug: str
    severity: Literal["info", "warning", "error"]
    message: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Ref:
    """A pointer to what proves a finding.

    Attributes:
        tool: Tool id.
        what: What to look at there: a column of a table (``causes.idle_ms``), a field, a condition
            on a column (``category=copy-done``), or words. The column, or the one that the table is
            sorted by, sums over the rows to a figure of the finding.
        rows: Names of the rows that prove it, as the tool's table shows them.
        from_ms: Start of the range of the timeline to open, from the begin of the recording; None
            for no range.
        to_ms: End of that range; None for no range.
        words: ``what`` as a person reads it; filled in by ``advise``.
    """

    tool: str
    what: str = ""
    rows: tuple[str, ...] = ()
    from_ms: float | None = None
    to_ms: float | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the program, or in what it runs, a finding's time goes; "" and 0 where unknown.

    Attributes:
        function: A function of the program.
        file: The file it is in, as recorded.
        line: The line it is at, or where it begins.
        caller: Where the program calls that function, as ``file:line function``.
        call: What it calls there that takes the time: a library's function by its public name.
        op: Name of the op.
        family: Family of the op.
    """

    function: str = ""
    file: str = ""
    line: int = 0
    caller: str = ""
    call: str = ""
    op: str = ""
    family: str = ""

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}" if self.file and self.line else self.file
        code = f"{self.function} ({at})" if self.function and at else self.function or at
        return " · ".join(part for part in (self.call, code, self.op or self.family) if part)


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of advice with its evidence.

    A rule fills what it measured; what is the same for every finding of a rule (``title``,
    ``threshold``, ``wrong_when``), what depends on the other findings (``explained_by``) and how
    its saving reads (``saving_text``) is filled in by ``advise``.

    Attributes:
        rule: Id of the rule that fired.
        severity: "info", "low", "medium" or "high".
        saving_ms: What fixing it is expected to save per step, in ms; None if nothing is known.
        confidence: 0–1.
        message: What is wrong, with the measured values.
        evidence: Where to see it.
        actions: What to do, most useful first.
        title: The problem in a few words.
        place: Where it is; None where the finding is about no one place.
        saving_low_ms: What fixing it saves per step at least, in ms; None if nothing is known.
        saving_high_ms: What fixing it saves per step at most, in ms; None if it cannot be bounded.
        saving_per: Base of the saving: "step", or "recording" if no step was found.
        assumption: Assumption behind the range of savings.
        no_saving: Reason for an unknown saving.
        saving_text: Saving in words: "saves 3.1–3.6 ms (15–17 %)".
        likelihood: The confidence in a word: "likely" (from 0.8 on), "possible" or "doubtful".
        measured: Numbers that the finding rests on; names end in their unit.
        threshold: When the rule fires.
        wrong_when: When the finding is wrong.
        code: The change as code, by framework: "tensorflow", "jax", "pytorch".
        explained_by: Rules that fired and name the cause of this one.
        cause: Id of the cause in the catalogue; "" for rules of other packages.
        why: Why it costs time, for a page that explains the finding.
        details: What else is known, in sentences, for the same page.
    """

    rule: str
    severity: Severity
    saving_ms: float | None
    confidence: float
    message: str
    evidence: tuple[Ref, ...] = ()
    actions: tuple[str, ...] = ()
    title: str = ""
    place: Place | None = None
    saving_low_ms: float | None = None
    saving_high_ms: float | None = None
    saving_per: Literal["step", "recording"] = "step"
    assumption: str = ""
    no_saving: str = ""
    saving_text: str = ""
    likelihood: Likelihood = "possible"
    measured: dict[str, float | str] = field(default_factory=dict)
    threshold: str = ""
    wrong_when: str = ""
    code: dict[str, str] = field(default_factory=dict)
    explained_by: tuple[str, ...] = ()
    cause: str = ""
    why: str = ""
    details: tuple[str, ...] = ()


Outcome = Literal["fired", "silent", "unknown", "failed"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of one rule of advice.

    Attributes:
        rule: Id of the rule.
        title: The problem it looks for, in a few words.
        outcome, said: "fired", "silent" (the problem is not there), "unknown" (the recording does
            not say) or "failed" (the rule itself broke); the same in words.
        reason: Why it is silent or cannot know; "" when it fired.
        subject: What it is about: "input", "host", "device", "memory", "workers", "step" or
            "recording"; "" for a rule of another package.
    """

    rule: str
    title: str
    outcome: Outcome
    reason: str = ""
    subject: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Advice:
    """The findings of a run, most useful first, and every rule that was checked.

    Attributes:
        findings: The findings.
        checked: The rules.
        note: The step that savings are stated on, where it is not the recorded one.
    """

    findings: tuple[Finding, ...]
    checked: tuple[Checked, ...]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The published JSON form."""
        return {
            "findings": _plain(self.findings, None),
            "rules_checked": [one.rule for one in self.checked],
            "checked": _plain(self.checked, None),
            "note": self.note,
        }


#: What every result has beside its own fields.
ENVELOPE: Final = frozenset(
    {"session", "hosts", "diagnostics", "files_used", "times", "times_of", "selection"}
)


@dataclass(frozen=True, kw_only=True)
class Result:
    """Base of every tool's answer.

    Attributes:
        session: Name of the session (run).
        hosts: Hosts the numbers are over.
        diagnostics: What to know before believing them.
        files_used: Names of the files the numbers are from.
        times: What its times are of, as a sentence; "" where that is not one thing.
        times_of: The same for programs.
        selection: The part of the recording that the numbers are of, in words; "" for all of it.
    """

    tool: ClassVar[str] = ""
    session: str = ""
    hosts: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    files_used: tuple[str, ...] = ()
    times: str = ""
    times_of: TimesOf = ""
    selection: str = ""

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """The published JSON form. ``top`` keeps the first N rows of every table."""
        body = {
            f.name: _plain(getattr(self, f.name), top)
            for f in dataclasses.fields(self)
            if f.name not in ENVELOPE
        }
        return {
            "tool": type(self).tool,
            "schema_version": SCHEMA_VERSION,
            "session": self.session,
            "hosts": list(self.hosts),
            "diagnostics": _plain(self.diagnostics, None),
            "files_used": list(self.files_used),
            "times": self.times,
            "times_of": self.times_of,
            "selection": self.selection,
            **body,
        }

    def as_recorded(self) -> Result:
        """Return the result with times as recorded, where it took the recorder's cost out."""
        return self

    def tables(self) -> dict[str, Table[Any]]:
        """The result's tables by field name."""
        return {
            f.name: value
            for f in dataclasses.fields(self)
            if isinstance(value := getattr(self, f.name), Table)
        }


def _plain(value: Any, top: int | None) -> Any:
    """JSON-ready form of any value a result may hold."""
    if isinstance(value, Table):
        return list((value if top is None else value.head(top)).rows())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), top) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, top) for key, item in value.items()}
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        return _plain_list(value)
    if isinstance(value, Sequence):
        return [_plain(item, top) for item in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _plain_list(values: Any) -> list[Any]:
    """A column as plain values; numbers and text go in bulk, mixed columns cell by cell."""
    if isinstance(values, list):
        kinds = {*map(type, values)}
        if kinds <= {str}:
            return list(values)
        if kinds <= {int, float, bool} and len(kinds) == 1:
            values = np.asarray(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        listed: list[Any] = values.tolist()
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return [value if isfinite(value) else None for value in listed]
        return listed
    return [_plain_scalar(value) for value in values]


def tables_of(value: Any) -> dict[str, Table[Any]]:
    """The tables a result holds, named as by ``table_fields``; absent records have none."""
    found: dict[str, Table[Any]] = {}
    for f in dataclasses.fields(value):
        inner = getattr(value, f.name)
        if isinstance(inner, Table):
            found[f.name] = inner
        elif dataclasses.is_dataclass(inner):
            found |= {f"{f.name}.{name}": table for name, table in tables_of(inner).items()}
    return found
