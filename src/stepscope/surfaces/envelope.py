"""Data about runs, files and tools around a result, ready for JSON.

The shapes are typed dictionaries because the TypeScript types are generated from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, TypedDict, cast, get_args, get_origin

from stepscope.field_names import adds_up, is_cumulative, is_share, label_of
from stepscope.needs import Unavailable
from stepscope.panels import Panel, Shown, ShownRows
from stepscope.registry import Option, Tool
from stepscope.result import Checked, Finding, Result, columns_of, tables_of
from stepscope.session import FileReport
from stepscope.store import Run
from stepscope.store.notes import NO_NOTE, RunNote
from stepscope.surfaces.brought_names import bringing, names_of
from stepscope.surfaces.fields import field_names, own_fields, records_in, table_fields
from stepscope.tables.core.profile import Profile, TimeBase
from stepscope.utf8 import shown

OptionType = Literal["bool", "str", "int", "float"]
# Shorter columns are not worth a list of values beside them.
_CODED_FROM_ROWS: Final = 16
# Codes of values that repeat less often compress worse than the values.
_REPEATED: Final = 4
# Rows that are looked at first, spread over the table.
_SAMPLE: Final = 64
_LONG_IN_JSON: Final = frozenset({str, float, type(None)})
NOTHING_CHOSEN: Final[Mapping[str, str]] = MappingProxyType({})


class RunInfo(TypedDict):
    """One run. ``modified`` is the ISO 8601 time of its newest file."""

    id: str
    name: str
    path: str
    hosts: list[str]
    modified: str
    bytes: int
    tags: list[str]
    note: str


class RunFactsInfo(TypedDict):
    """What a list of runs says about one; ``problem`` is why it says nothing."""

    run: str
    headline: str
    bound_by: str
    step_time_ms: float | None
    steps: int
    device: str
    problem: str


class FileInfo(TypedDict):
    """One file that was looked at, and why it is not simply opened. ``bytes`` -1 is unknown."""

    path: str
    bytes: int
    state: Literal["opened", "damaged", "failed", "skipped", "waiting"]
    reason: str
    hint: str
    error: str


class SessionInfo(TypedDict):
    """What is served: runs (newest first) and files."""

    version: str
    path: str
    runs: list[RunInfo]
    default_run: str
    files: list[FileInfo]
    notes: list[str]
    capture_allowed: bool


class AdviceInfo(TypedDict):
    """All advice on a run, and the outcome of every rule."""

    session: str
    hosts: list[str]
    findings: list[Finding]
    rules_checked: list[str]
    checked: list[Checked]


class OptionInfo(TypedDict):
    """One option of a tool."""

    name: str
    label: str
    type: OptionType
    default: str | int | float | bool | None
    choices: list[str]
    help: str


class ColumnInfo(TypedDict):
    """One column of a table; ``whole_…``: the same where times are of the whole recording.

    ``adds_up``: a sum over rows means something. ``is_share``: its ratios are of one whole.
    ``is_cumulative``: a row holds the sum of those before it.
    """

    name: str
    label: str
    unit: str
    kind: str
    help: str
    sort: str
    hidden: bool
    whole_label: str
    whole_help: str
    adds_up: bool
    is_share: bool
    is_cumulative: bool


class ToolInfo(TypedDict):
    """One tool. ``missing`` says what the profile lacks, ``record`` how to record it.

    ``labels``: fields of its result and parts of a step, in words. ``words``: of fields that are
    one of a few values, these in words. ``times_of``: what ``per`` can
    make its times of, first what they are of without it. ``opens``: options to ask with where
    nobody chose. ``page``: the parts of its page, in order.
    """

    id: str
    short: str
    title: str
    tab: str
    summary: str
    available: bool
    missing: str
    record: str
    options: list[OptionInfo]
    tables: dict[str, list[ColumnInfo]]
    labels: dict[str, str]
    words: dict[str, dict[str, str]]
    times_of: list[TimeBase]
    opens: dict[str, str]
    page: list[Panel]


class ToolsInfo(TypedDict):
    """All tools, in menu order."""

    tools: list[ToolInfo]


class QueryColumnInfo(TypedDict):
    """One column of a table that queries name."""

    name: str
    type: Literal["text", "integer", "number", "flag"]
    meaning: str


class QueryTableInfo(TypedDict):
    """One table that queries name."""

    name: str
    meaning: str
    columns: list[QueryColumnInfo]


class QueryExampleInfo(TypedDict):
    """A query to begin with."""

    question: str
    query: str


class QueryTablesInfo(TypedDict):
    """All tables that queries name, and queries to begin with."""

    tables: list[QueryTableInfo]
    examples: list[QueryExampleInfo]


class QueryInfo(TypedDict):
    """The answer to a query: its first rows, and whether there are more (``cut``).

    ``has_times``: whether its rows can be drawn on the timeline.
    """

    rows: int
    cut: bool
    has_times: bool
    seconds: float
    schema: list[ColumnInfo]
    columns: dict[str, list[Any]]


class QueryLanesInfo(TypedDict):
    """The answer to a query as a track: stretches by their begin, each with its lane.

    ``event``: ids of events on the timeline; -1 where the answer has none.
    """

    cut: bool
    lanes: int
    name: list[str]
    begin_ps: list[int]
    end_ps: list[int]
    lane: list[int]
    event: list[int]


class ThingInfo(TypedDict):
    """Something that a text names, and where its page shows it (``session.things``)."""

    kind: str
    name: str
    detail: str
    tool: str
    table: str
    row: str
    from_ms: float | None
    to_ms: float | None
    options: dict[str, str]
    title: str


class ThingsInfo(TypedDict):
    """What a text names in a recording."""

    things: list[ThingInfo]


class AboutLinkInfo(TypedDict):
    """Where an answer about a thing leads (``session.about.AnswerLink``)."""

    label: str
    tool: str
    what: str
    rows: list[str]
    event: int | None
    from_ms: float | None
    to_ms: float | None
    part: str
    value: str
    options: dict[str, str]


class AnswerInfo(TypedDict):
    """An answer about a thing."""

    question: str
    text: str
    links: list[AboutLinkInfo]


class AboutInfo(TypedDict):
    """All answers about a thing (``session.about``); ``lines`` are (number, text)."""

    name: str
    answers: list[AnswerInfo]
    step_num: list[int]
    step_ms: list[float]
    bin_edge_ms: list[float]
    bin_count: list[int]
    file: str
    line: int
    lines: list[tuple[int, str]]
    changed: str


class ProgressInfo(TypedDict):
    """How far the opening of a run is; ``done`` and ``total`` are bytes of the stage."""

    state: Literal["idle", "opening", "ready", "failed"]
    stage: str
    done: int
    total: int
    message: str


class ErrorInfo(TypedDict):
    """Why there is no answer; ``error`` is an anchor in docs/errors.md."""

    error: str
    what: str
    where: str
    why: str
    hint: str


class CaptureWorkerInfo(TypedDict):
    """One worker of a recording from outside; ``left_s`` until its phase should end."""

    address: str
    phase: Literal[
        "connecting",
        "busy",
        "ready",
        "waiting",
        "recording",
        "writing",
        "done",
        "failed",
    ]
    left_s: float | None
    events: int | None
    bytes: int | None
    error: str
    hint: str
    notes: list[str]


class CaptureCheckInfo(TypedDict):
    """One worker, looked at before recording; ``problem`` is "" where it can record."""

    address: str
    server: str
    problem: str
    hint: str


class CaptureChecksInfo(TypedDict):
    """The workers of a recording that is not begun yet."""

    workers: list[CaptureCheckInfo]


class CaptureInfo(TypedDict):
    """How a recording from outside goes; ``run`` is the new run's id once it is done."""

    state: Literal["idle", "running", "done", "failed"]
    workers: list[CaptureWorkerInfo]
    run: str
    notes: list[str]
    error: ErrorInfo | None


ENVELOPES: tuple[type, ...] = (
    RunInfo,
    RunFactsInfo,
    FileInfo,
    SessionInfo,
    OptionInfo,
    ColumnInfo,
    Shown,
    ShownRows,
    *get_args(Panel),
    ToolInfo,
    ToolsInfo,
    QueryColumnInfo,
    QueryTableInfo,
    QueryExampleInfo,
    QueryTablesInfo,
    QueryInfo,
    QueryLanesInfo,
    ProgressInfo,
    ErrorInfo,
    AdviceInfo,
    ThingInfo,
    ThingsInfo,
    AboutLinkInfo,
    AnswerInfo,
    AboutInfo,
    CaptureWorkerInfo,
    CaptureCheckInfo,
    CaptureChecksInfo,
    CaptureInfo,
)


def run_info(run: Run, note: RunNote = NO_NOTE) -> RunInfo:
    """A run for JSON, with what people wrote about it."""
    modified = datetime.fromtimestamp(run.modified).astimezone()
    return {
        "id": run.id,
        "name": run.id,
        "path": shown(run.path),
        "hosts": list(run.hosts),
        "modified": modified.isoformat(timespec="seconds"),
        "bytes": run.size_bytes,
        "tags": list(note.tags),
        "note": note.text,
    }


def file_info(report: FileReport) -> FileInfo:
    """A file's report for JSON."""
    return {
        "path": report.path,
        "bytes": report.size_bytes,
        "state": report.state,
        "reason": report.reason,
        "hint": report.hint,
        "error": report.slug,
    }


def tool_info(
    tool: Tool, unavailable: Unavailable | None, opens: Mapping[str, str] = NOTHING_CHOSEN
) -> ToolInfo:
    """A tool for JSON, with what the profile lacks for it and what its page opens with."""
    return {
        **_described(tool),
        "available": unavailable is None,
        "missing": unavailable.missing if unavailable else "",
        "record": unavailable.record if unavailable else "",
        "opens": dict(opens),
    }


@cache  # every first page asks for all tools, whose columns and labels are read off their classes
def _described(tool: Tool) -> ToolInfo:
    return {
        "id": tool.id,
        "short": tool.short,
        "title": tool.title,
        "tab": tool.tab,
        "summary": tool.summary,
        "available": True,
        "missing": "",
        "record": "",
        "options": [option_info(option) for option in tool.option_list()],
        "tables": {name: column_infos(row) for name, row in table_fields(tool.result).items()},
        "labels": field_labels(tool.result),
        "words": field_words(tool.result),
        "times_of": list(tool.times_of),
        "opens": {},
        "page": cast("list[Panel]", [asdict(panel) for panel in tool.page]),
    }


def field_labels(result: type[Result]) -> dict[str, str]:
    """The fields of a result and the parts of a step, at any depth, in words."""
    # A part of a field in ms (``breakdown_ms``) is a column in ms of a table beside it.
    parts = {
        name.removesuffix("_ms"): column.label
        for row in table_fields(result).values()
        for name, (_, column) in columns_of(row).items()
        if name.endswith("_ms")
    }
    return parts | {name: label_of(name) for name in field_names(result)}


def field_words(result: type) -> dict[str, dict[str, str]]:
    """``{field: {value: words}}`` of the fields, at any depth, that are one of a few texts."""
    found: dict[str, dict[str, str]] = {}
    for name, hint in own_fields(result).items():
        if get_origin(hint) is Literal:
            found[name] = {str(one): str(one).replace("_", " ") for one in get_args(hint)}
        for record in records_in(hint):
            found |= field_words(record)
    return found


def option_info(option: Option) -> OptionInfo:
    """An option for JSON."""
    return {
        "name": option.name,
        "label": label_of(option.name),
        "type": option_type(option.type),
        "default": option.default,
        "choices": list(option.choices),
        "help": option.help,
    }


def option_type(hint: Any) -> OptionType:
    """The plain type of an option, None aside."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    names: dict[type, OptionType] = {bool: "bool", int: "int", float: "float"}
    return names.get(kinds[0], "str")


def column_infos(row: type) -> list[ColumnInfo]:
    """The columns of a row schema for JSON."""
    return [
        {
            "name": name,
            "label": column.label,
            "unit": column.unit,
            "kind": column.kind,
            "help": column.help,
            "sort": column.sort,
            "hidden": column.hidden,
            "whole_label": column.whole_label or column.label,
            "whole_help": column.whole_help or column.help,
            "adds_up": adds_up(name, column.kind),
            "is_share": is_share(column.label, column.kind),
            "is_cumulative": is_cumulative(column.label),
        }
        for name, (_, column) in columns_of(row).items()
    ]


def columnar(
    result: Result, top: int | None = None, profile: Profile | None = None
) -> dict[str, Any]:
    """A result's JSON with each table as ``{"rows": n, "columns": {name: values}}``, for the pages.

    ``short_names`` has the short names of kernels among the names in the tables; those of a
    ``profile``'s kernels are the same in all results.
    """
    # Row form is made of no rows: the tables are put in as columns below.
    body = result.to_dict(0)
    for name, whole in tables_of(result).items():
        table = whole if top is None else whole.head(top)
        *path, last = name.split(".")
        place = body
        for part in path:
            place = place[part]
        place[last] = {"rows": len(table), "columns": table.to_dict()}
    return bringing(body, names_of(result), profile)


def coded(body: dict[str, Any], result: Result) -> dict[str, Any]:
    """``columnar`` JSON with columns of few values as ``{"values": …, "codes": …}``."""
    for name in tables_of(result):
        table: Any = body
        for part in name.split("."):
            table = table[part]
        table["columns"] = {key: _coded(cells) for key, cells in table["columns"].items()}
    return body


def _coded(cells: list[Any]) -> list[Any] | dict[str, list[Any]]:
    if len(cells) < _CODED_FROM_ROWS:
        return cells
    some = cells[:: max(len(cells) // _SAMPLE, 1)]
    # Whole numbers are as short as codes; lists and records cannot be looked up.
    if not set(map(type, some)) <= _LONG_IN_JSON or 2 * len(set(some)) > len(some):
        return cells
    try:
        code_of: dict[str | float | None, int] = {}
        codes = [code_of.setdefault(cell, len(code_of)) for cell in cells]
    except TypeError:  # a list or a record further down
        return cells
    is_short = _REPEATED * len(code_of) <= len(cells)
    return {"values": list(code_of), "codes": codes} if is_short else cells
