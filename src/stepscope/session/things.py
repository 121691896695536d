"""Find things by name: findings, ops, kernels, modules, lines of Python and steps of a recording.

Pages find pages by their titles; this finds what is *in* them, so that one text field leads to a
kernel as well as to a line of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from stepscope.quantities import time_words
from stepscope.records import dataclass, field
from stepscope.session.session import Session
from stepscope.tables.device.short_names import called
from stepscope.tables.sums.work import UNNAMED, WorkGroup

MAX_TEXT: Final = 200
"""Longer texts are cut: no name that a person types is longer."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Something with a name, and the rows that show it.

    Attributes:
        kind: "finding", "step", "type", "op", "kernel", "module", "line", "HLO op" or "function".
        name: Its full name.
        detail: Its time and place.
        tool: The tool that shows it.
        table: The table of that tool, with a condition on its rows ("owners.line=31") for a line
            without work of its own; empty for findings and steps.
        row: The text that selects its row there.
        from_ms, to_ms: Where a step lies in the recording; None for all else.
        options: Options of the tool with which it shows the row.
        title: What pages call it; "" for its name.
    """

    kind: str
    name: str
    detail: str
    tool: str
    table: str = ""
    row: str = ""
    from_ms: float | None = None
    to_ms: float | None = None
    options: dict[str, str] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Source:
    """A table whose rows are things.

    Attributes:
        kind, tool, table: As of `Thing`.
        name: The column of names.
        time: The column to rank by, in µs or ms as its name says.
        place: The column that says where a thing is; empty if its name does.
        line: The column of lines, if the names are files and their lines are the things.
    """

    kind: str
    tool: str
    table: str
    name: str
    time: str
    place: str = ""
    line: str = ""


_OF_WORK: Final[tuple[WorkGroup, ...]] = ("type", "op", "kernel", "module", "line")
"""Groupings of Work whose rows are things, in the order in which they are listed."""
_SOURCES: Final = (
    _Source("HLO op", "hlo_stats", "ops", "hlo_op", "self_time_us", "framework_op"),
    _Source("function", "host_activity", "python", "function", "self_ms", "file"),
    _Source("line", "step_account", "owners", "file", "time_ms", "function", "line"),
)
_STEP: Final = re.compile(r"(?:step\s*)?(\d{1,12})")


def things(session: Session, text: str, most: int = 8) -> list[Thing]:
    """Return what a text names, at most ``most`` of a kind, longest time first.

    Every word of the text must be in a thing's name or place; upper and lower case are the same.
    Findings whose titles have the words come first, those that only mention them last.
    """
    words = text[:MAX_TEXT].lower().split()
    if not words:
        return []
    titled, mentioned = _findings(session, words)
    found = titled[:most] + _steps(session, text)
    seen: set[str] = set()
    for rows in _indexed(session):
        hits = (
            thing
            for key, thing in rows
            if all(word in key for word in words) and thing.name not in seen
        )
        listed = [thing for _, thing in zip(range(most), hits, strict=False)]
        # Rows of Work are listed once, under their name or as "train.py:31 parse".
        seen.update(name for thing in listed for name in (thing.name, thing.name.split(" ")[0]))
        found += listed
    return found + mentioned[: max(most - len(titled), 0)]


def _findings(session: Session, words: list[str]) -> tuple[list[Thing], list[Thing]]:
    """Return the findings with all words in their titles, and those with them in their texts."""
    titled, mentioned = [], []
    for finding in session.findings():
        title = finding.title or finding.rule
        name = f"{finding.rule} {title}".lower()
        thing = Thing("finding", title, finding.saving_text, "overview_page")
        if all(word in name for word in words):
            titled.append(thing)
        elif all(word in f"{name} {finding.message.lower()}" for word in words):
            mentioned.append(thing)
    return titled, mentioned


def _steps(session: Session, text: str) -> list[Thing]:
    """Return the step of a number, where the text is nothing but one."""
    asked = _STEP.fullmatch(text.strip().lower())
    if asked is None:
        return []
    page: Any = session.run_without_findings("overview_page")
    return [
        Thing(
            "step",
            f"Step {step.step_num}",
            time_words(step.step_time_ms),
            "trace_viewer",
            from_ms=step.start_ms,
            to_ms=step.start_ms + step.step_time_ms,
        )
        for step in page.step_table.records()
        if str(step.step_num) == asked[1]
    ][:1]


def _indexed(session: Session) -> list[list[tuple[str, Thing]]]:
    """Return the things of each source with the text to search, once per session."""

    def made() -> list[list[tuple[str, Thing]]]:
        of_work = [list(_worked(session, by)) for by in _OF_WORK]
        return of_work + [
            list(_made(session, source))
            for source in _SOURCES
            if session.available(source.tool) is None
        ]

    found: list[list[tuple[str, Thing]]] = session._once(("things",), made)
    return found


def _worked(session: Session, by: WorkGroup) -> Iterator[tuple[str, Thing]]:
    """Yield the rows of Work in one grouping; a name of both sides once."""
    if session.available("work_table") is not None:
        return
    titles = called(session.profile)
    result: Any = session.run_without_findings("work_table", group_by=by)
    rows: dict[str, Any] = {}
    sides: dict[str, set[str]] = {}
    for row in result.groups.records():
        if row.name == UNNAMED[by]:
            continue
        sides.setdefault(row.name, set()).add(row.host_or_device.lower())
        if row.name not in rows or row.self_time_us > rows[row.name].self_time_us:
            rows[row.name] = row
    for name, row in sorted(rows.items(), key=lambda each: -each[1].self_time_us):
        place = row.mostly if row.mostly != "Unknown" else ""
        where = sides[name].pop() if len(sides[name]) == 1 else "both"
        yield (
            f"{name} {titles.get(name, '')} {place}".lower(),
            Thing(
                by,
                name,
                " · ".join(word for word in (place, time_words(row.self_time_us / 1e3)) if word),
                "work_table",
                "groups",
                name,
                options={"group_by": by, "where": where},
                title=titles.get(name, ""),
            ),
        )


def _made(session: Session, source: _Source) -> Iterator[tuple[str, Thing]]:
    table = getattr(session.run(source.tool), source.table)
    names, times = table[source.name], [float(time) for time in table[source.time]]
    places = table[source.place] if source.place else [""] * len(names)
    per_ms = 1e3 if source.time.endswith("_us") else 1.0
    seen: set[str] = set()
    for at in sorted(range(len(names)), key=lambda at: -times[at]):
        row, place, shown = str(names[at]), str(places[at]), source.table
        name = row
        if source.line:
            if not row:
                continue
            number = int(table[source.line][at])
            name, shown = f"{row}:{number}", f"{shown}.{source.line}={number}"
        if name not in seen:
            seen.add(name)
            detail = " · ".join(word for word in (place, time_words(times[at] / per_ms)) if word)
            yield (
                f"{name} {place}".lower(),
                Thing(source.kind, name, detail, source.tool, shown, row),
            )
