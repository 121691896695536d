"""A whole result as JSON or Markdown."""

from __future__ import annotations

import json
from typing import Any

from stepscope.field_names import label_of
from stepscope.result import Result, tables_of
from stepscope.surfaces.export.tables import markdown_escape, markdown_table
from stepscope.surfaces.outline import outline


def json_text(result: Result, top: int | None = None) -> str:
    """The published JSON of a result; ``top`` keeps the first N rows of every table.

    A row of a table is one line: people read it, ``grep`` finds it, and Python's fast encoder,
    which cannot indent, writes it.
    """
    return _indented(result.to_dict(top), json.JSONEncoder(ensure_ascii=False, allow_nan=False), "")


def _indented(value: Any, encoder: json.JSONEncoder, margin: str) -> str:
    deeper = margin + "  "
    if isinstance(value, dict) and value:
        items = [
            f"{deeper}{encoder.encode(key)}: {_indented(item, encoder, deeper)}"
            for key, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + f"\n{margin}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(deeper + encoder.encode(item) for item in value) + f"\n{margin}]"
    return encoder.encode(value)


def markdown_text(result: Result, title: str, top: int | None = None) -> str:
    """The result as a Markdown page: what it is over, its values, its tables."""
    lines = [
        f"# {markdown_escape(title)}",
        "",
        f"Run {markdown_escape(result.session)}, {len(result.hosts)} host(s).",
    ]
    for diagnostic in result.diagnostics:
        lines += ["", f"> {diagnostic.severity}: {markdown_escape(diagnostic.message)}"]
    lines.append("")
    for line in outline(result):
        words = ": ".join(filter(None, (markdown_escape(line.label), markdown_escape(line.text))))
        lines.append(f"{'  ' * line.depth}- {words}")
    for name, table in tables_of(result).items():
        lines += ["", f"## {label_of(name.replace('.', '_'))}", "", markdown_table(table, top)]
        if top is not None and len(table) > top:
            lines += ["", f"… {len(table) - top:,} more rows."]
    return "\n".join(lines) + "\n"
