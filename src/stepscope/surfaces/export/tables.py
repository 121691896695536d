"""A result, or one table of it, as JSON, CSV, Markdown or Parquet."""

from __future__ import annotations

import io
import json
import re
from typing import Any

from stepscope.errors import NothingToShow, UsageError
from stepscope.field_names import label_of
from stepscope.result import Result, Table, columns_of, tables_of
from stepscope.surfaces.format import cell, clean, escaped_json, heading
from stepscope.surfaces.outline import outline

# A spreadsheet runs a cell that starts with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What Markdown would show as another character; other ampersands stay readable (``T&&``).
_ENTITY = re.compile(r"&(?=#?\w+;)")


def main_table(result: Result, name: str | None = None) -> tuple[str, Table[Any]]:
    """A result's table of this name, or its first one.

    Raises:
        UsageError: It has no table of that name.
        NothingToShow: It has no table at all.
    """
    tables = tables_of(result)
    if not tables:
        raise NothingToShow(
            f"{type(result).tool} has no table.",
            why="Its answer has no rows.",
            hint="Use --format json.",
            slug="no-table",
        )
    if name is None:
        name = next(iter(tables))
    if name not in tables:
        raise UsageError(
            f"{type(result).tool} has no table {name!r}.",
            hint=f"Its tables: {', '.join(tables)}.",
            slug="no-such-table",
        )
    return name, tables[name]


def csv_text(table: Table[Any], top: int | None = None) -> str:
    """The table as CSV (RFC 4180): field names with units in the first line, full precision.

    Text cells a spreadsheet would run as a formula get a leading apostrophe. Control and
    direction characters become visible escapes.
    """
    import csv

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    columns = (table if top is None else table.head(top)).to_dict()
    writer.writerow(columns)
    guarded = [_guarded(values) for values in columns.values()]
    writer.writerows(zip(*guarded, strict=True))
    return out.getvalue()


def _guarded(values: list[Any]) -> list[Any]:
    if not any(isinstance(value, str) for value in values):
        return values
    return [_guarded_text(value) if isinstance(value, str) else value for value in values]


def _guarded_text(text: str) -> str:
    shown = clean(text)
    return f"'{shown}" if text.startswith(_FORMULA) else shown


def parquet_bytes(table: Table[Any], top: int | None = None) -> bytes:
    """The table as a Parquet file."""
    out = io.BytesIO()
    (table if top is None else table.head(top)).to_polars().write_parquet(out)
    return out.getvalue()


def markdown_table(table: Table[Any], top: int | None = None) -> str:
    """The table as a Markdown pipe table, headings with units."""
    schema = columns_of(table.schema)
    shown = (table if top is None else table.head(top)).to_dict()
    names = [name for name in shown if not schema[name][1].hidden]
    lines = [
        "| " + " | ".join(heading(schema[name][1]) for name in names) + " |",
        "| "
        + " | ".join(
            "---" if schema[n][1].kind in ("name", "text", "category") else "---:" for n in names
        )
        + " |",
    ]
    texts = [
        [markdown_escape(cell(value, schema[name][1])) for value in shown[name]] for name in names
    ]
    lines += ["| " + " | ".join(row) + " |" for row in zip(*texts, strict=True)]
    return "\n".join(lines)


def markdown_escape(text: str) -> str:
    """Text that Markdown shows as it is, in a table cell too, and a terminal without harm."""
    text = _ENTITY.sub("&amp;", clean(text))
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, f"\\{mark}") if mark != "<" else text.replace("<", "&lt;")
    return text


def table_json(table: Table[Any]) -> str:
    """The table as a JSON list of rows."""
    return escaped_json(json.dumps(list(table.rows()), ensure_ascii=False, allow_nan=False))


def json_text(result: Result, top: int | None = None) -> str:
    """The published JSON of a result; ``top`` keeps the first N rows of every table.

    A row of a table is one line: people read it, ``grep`` finds it, and Python's fast encoder,
    which cannot indent, writes it.
    """
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
    return escaped_json(_indented(result.to_dict(top), encoder, ""))


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
