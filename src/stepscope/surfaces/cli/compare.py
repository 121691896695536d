"""``stepscope compare``: what changed between runs, for a person, a script or a pull request."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepscope.comparison import Comparison
from stepscope.result import Table
from stepscope.session.compare import compare
from stepscope.surfaces import export
from stepscope.surfaces.cli.comparison_commands import ComparisonFormat
from stepscope.surfaces.cli.page import Page, terminal_width
from stepscope.surfaces.cli.progress import Waiting
from stepscope.surfaces.cli.render import diagnostics
from stepscope.surfaces.format import clean, signed

DEFAULT_ROWS = 15
_TITLE = "Comparison"


def print_comparison(
    paths: Sequence[str],
    *,
    format: ComparisonFormat,
    top: int | None,
    table: str | None,
    output: str | None,
) -> None:
    """Compare the runs at these paths and print or write the answer."""
    with Waiting() as waiting:
        result = compare(*paths, progress=waiting.update)
        waiting.stop()
        rows = DEFAULT_ROWS if top is None and format is ComparisonFormat.table else top or None
        target = Path(output).expanduser() if output else None
        text = _rendered(result, format, rows, table, to_file=target is not None)
        if text is None:
            return
        if target is None:
            print(text, end="")
            return
        from stepscope.store import write_atomic

        write_atomic(target, text.encode())
        print(f"wrote {target}", file=sys.stderr)


def _rendered(
    result: Comparison,
    format: ComparisonFormat,
    rows: int | None,
    table: str | None,
    *,
    to_file: bool,
) -> str | None:
    """The answer as text; None where a page printed itself."""
    if format is ComparisonFormat.json:
        return export.json_text(result, rows) + "\n"
    if format is ComparisonFormat.csv:
        return export.csv_text(export.main_table(result, table)[1], rows)
    if format is ComparisonFormat.md:
        return markdown(result, rows)
    page = Page(None if to_file else terminal_width(sys.stdout))
    if table:
        page.table(export.main_table(result, table)[1], rows)
    else:
        write_comparison(page, result, rows)
    if not to_file:
        page.print()
        return None
    text = io.StringIO()
    page.print(text)
    return text.getvalue()


def write_comparison(page: Page, result: Comparison, rows: int | None) -> None:
    """Write what changed, with so many rows per table."""
    page.line((_TITLE, "bold"), (f"  ·  {clean(result.session)}", "dim"))
    page.blank()
    page.text(clean(result.headline), style="bold")
    diagnostics(page, tuple(one for one in result.diagnostics if one.severity != "info"))
    _differences(page, result)
    if len(result.runs) > 2:
        page.heading("The runs, in order")
        page.table(result.runs, None)
    page.heading("Where the step changed")
    page.table(result.step_parts, None, skip=("where", "type"))
    page.heading(f"What changed · the parts sum to {signed(result.delta_ms)} ms")
    page.table(result.parts, rows)
    if len(result.worker_times):
        page.heading("Workers")
        page.table(result.worker_times, rows)
    if len(result.slowest_worker_parts):
        page.heading("What changed for the worker the others wait for")
        page.table(result.slowest_worker_parts, rows)
    page.blank()
    page.text("By module or kernel: --table modules, --table kernels. Everything: --format json.",
              indent=2, style="dim")  # fmt: skip


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


def markdown(result: Comparison, rows: int | None) -> str:
    """The answer as Markdown: verdict, what else differed, parts."""
    escape = export.markdown_escape
    lines = [f"# {_TITLE}: {escape(result.session)}", "", f"**{escape(result.headline)}**", ""]
    lines += [
        f"- {row['property']} differs: {escape(row['baseline'])} → {escape(row['candidate'])}. "
        f"{row['note']}"
        for row in result.parity.rows()
        if row["status"] == "differs"
    ]
    sections: list[tuple[str, Table[Any]]] = [
        ("Where the step changed", result.step_parts),
        (f"What changed (sums to {signed(result.delta_ms)} ms)", result.parts),
    ]
    if len(result.runs) > 2:
        sections.insert(0, ("Runs", result.runs))
    if len(result.worker_times):
        sections.append(("Workers", result.worker_times))
    for title, table in sections:
        lines += ["", f"## {title}", "", export.markdown_table(table, rows)]
        if rows is not None and len(table) > rows:
            lines.append(f"\n… and {len(table) - rows:,} more.")
    return "\n".join(lines) + "\n"
