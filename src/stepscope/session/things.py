"""Find things by name: findings, ops, kernels, modules, lines of Python and steps of a recording.

Pages find pages by their titles; this finds what is *in* them, so that one text field leads to a
kernel as well as to a line of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stepscope.quantities import time_words
from stepscope.session.session import Session

MAX_TEXT: Final = 200
"""Longer texts are cut: no name that a person types is longer."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Something with a name, and the rows that show it.

    Attributes:
        kind: "finding", "step", "op", "HLO op", "kernel", "module", "function" or "line".
        name: Its full name.
        detail: Its time and place.
        tool: The tool that shows it.
        table: The table of that tool, with a condition on its rows ("owners.line=31") for a line;
            empty for findings and steps.
        row: The text that selects its row there.
        from_ms, to_ms: Where a step lies in the recording; None for all else.
    """

    kind: str
    name: str
    detail: str
    tool: str
    table: str = ""
    row: str = ""
    from_ms: float | None = None
    to_ms: float | None = None


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


_SOURCES: Final = (
    _Source("op", "framework_op_stats", "ops", "operation", "self_time_us", "type"),
    _Source("HLO op", "hlo_stats", "ops", "hlo_op", "self_time_us", "framework_op"),
    _Source("kernel", "kernel_stats", "kernels", "name", "total_duration_us", "op_name"),
    _Source("module", "module_tree", "modules", "path", "device_ms"),
    _Source("function", "host_activity", "python", "function", "self_ms", "file"),
    _Source("line", "step_account", "owners", "file", "time_ms", "function", "line"),
)
_STEP: Final = re.compile(r"(?:step\s*)?(\d{1,12})")


def things(session: Session, text: str, most: int = 8) -> list[Thing]:
    """Return what a text names, findings first, at most ``most`` of a kind, longest time first.

    Every word of the text must be in a thing's name or place; upper and lower case are the same.
    """
    words = text[:MAX_TEXT].lower().split()
    if not words:
        return []
    found = _findings(session, words)[:most] + _steps(session, text)
    for source in _SOURCES:
        if session.available(source.tool) is None:
            rows = _rows(session, source)
            hits = (thing for key, thing in rows if all(word in key for word in words))
            found += [thing for _, thing in zip(range(most), hits, strict=False)]
    return found


def _findings(session: Session, words: list[str]) -> list[Thing]:
    return [
        Thing("finding", finding.title or finding.rule, finding.saving_text, "overview_page")
        for finding in session.findings()
        if all(
            word in f"{finding.rule} {finding.title} {finding.message}".lower() for word in words
        )
    ]


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


def _rows(session: Session, source: _Source) -> list[tuple[str, Thing]]:
    """Return the things of a source with the text to search, once per session."""
    key = ("things", source.tool, source.table)
    rows: list[tuple[str, Thing]] = session._once(key, lambda: list(_made(session, source)))
    return rows


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
