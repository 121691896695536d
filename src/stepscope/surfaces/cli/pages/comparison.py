"""A comparison as a page and as Markdown."""

from __future__ import annotations

from typing import Any, Final

from stepscope.comparison import Comparison
from stepscope.quantities import signed
from stepscope.result import Table
from stepscope.surfaces import export
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.parts import diagnostics
from stepscope.surfaces.format import clean

_TITLE: Final = "Comparison"
# The columns of a change that stay at any width.
_KEPT: Final = ("name", "before_ms", "after_ms", "delta_ms")
# On one screen: parts of the step, and lines around the parts that changed.
_STEP_PARTS: Final = 4
_AFTER_PARTS: Final = 2


def write_comparison(page: Page, result: Comparison, rows: int | None) -> None:
    """Write what changed, with this many rows per table."""
    page.line((_TITLE, "bold"), (f"  ·  {clean(result.session)}", "dim"))
    page.blank()
    page.text(clean(result.headline), style="bold")
    diagnostics(page, tuple(one for one in result.diagnostics if one.severity != "info"))
    _differences(page, result)
    if result.memory_text:
        page.text(clean(result.memory_text))
    brief = page.height is not None
    for text in _left_out(result, 1 if brief else None):
        page.text(clean(text), lead="· ", style="dim")
    if result.starts is not None:
        page.heading("The starts")
        page.table(result.starts.runs, None)
        first, last = result.baseline.name, result.candidate.name
        page.text(f"Below: {clean(last)} against {clean(first)}, the middle of each side.")
    elif len(result.runs) > 2:
        page.heading("The runs, in order")
        page.table(result.runs, None)
    page.heading("Where the step changed")
    most = _STEP_PARTS if brief else None
    page.table(result.step_parts, most, skip=("where", "type"), keep=_KEPT, brief=brief)
    page.heading(f"What changed · the parts sum to {signed(result.delta_ms)} ms")
    if page.room is not None:
        rows = max(page.room - _AFTER_PARTS, 1)
    page.table(result.parts, rows, keep=_KEPT, brief=brief)
    if brief:
        page.line(("More: modules, kernels, workers: --all, --table NAME", "dim"))
        return
    if len(result.worker_times):
        page.heading("Workers")
        page.table(result.worker_times, rows)
    if len(result.suspects):
        page.heading("Who makes the others wait")
        page.table(result.suspects, rows)
    if len(result.slowest_worker_parts):
        page.heading("What changed for the worker the others wait for")
        page.table(result.slowest_worker_parts, rows)


def _left_out(result: Comparison, most: int | None = None) -> list[str]:
    """Which steps of both runs the means leave out: of each run the first ``most`` sentences."""
    sides = (result.baseline, result.candidate)
    return [f"{side.name} leaves out: {text}" for side in sides for text in side.left_out[:most]]


def _differences(page: Page, result: Comparison) -> None:
    """What else differed than the program; said before any number is believed."""
    for row in result.parity.rows():
        if row["status"] == "differs":
            page.text(
                f"{row['property']}: {clean(row['baseline'])} → {clean(row['candidate'])}. "
                f"{row['note']}",
                lead="! ",
                style="yellow",
            )


def comparison_markdown(result: Comparison, rows: int | None) -> str:
    """The answer as Markdown: verdict, what else differed, parts."""
    escape = export.markdown_escape
    lines = [f"# {_TITLE}: {escape(result.session)}", "", f"**{escape(result.headline)}**", ""]
    lines += [
        f"- {row['property']} differs: {escape(row['baseline'])} → {escape(row['candidate'])}. "
        f"{row['note']}"
        for row in result.parity.rows()
        if row["status"] == "differs"
    ]
    lines += [f"- {escape(text)}" for text in (result.memory_text, *_left_out(result)) if text]
    sections: list[tuple[str, Table[Any]]] = [
        ("Where the step changed", result.step_parts),
        (f"What changed (sums to {signed(result.delta_ms)} ms)", result.parts),
    ]
    if result.starts is not None:
        sections.insert(0, ("Starts", result.starts.runs))
    elif len(result.runs) > 2:
        sections.insert(0, ("Runs", result.runs))
    if len(result.worker_times):
        sections.append(("Workers", result.worker_times))
    if len(result.suspects):
        sections.append(("Who makes the others wait", result.suspects))
    for title, table in sections:
        lines += ["", f"## {title}", "", export.markdown_table(table, rows)]
        if rows is not None and len(table) > rows:
            lines.append(f"\n… and {len(table) - rows:,} more.")
    return "\n".join(lines) + "\n"
