"""Every table of every tool as Parquet files, with a manifest that says what they are."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepscope.analysis import TOOLS
from stepscope.errors import NothingToShow, StepscopeError
from stepscope.result import SCHEMA_VERSION, Table, columns_of, tables_of
from stepscope.store.atomic import write_atomic
from stepscope.surfaces.export.tables import parquet_bytes
from stepscope.surfaces.format import heading

if TYPE_CHECKING:
    from stepscope.session import Session

MANIFEST: Final = "manifest.json"


def write_tables(session: Session, folder: Path) -> None:
    """Write the folder whole, or leave nothing new behind.

    Raises:
        StoreError: The system refuses.
    """
    there, new = folder.exists(), []
    try:
        for name, data in table_files(session):
            path = folder / name
            if not path.exists():
                new.append(path)
            write_atomic(path, [data])
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        if not there:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def table_files(session: Session) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each file of the folder; the manifest comes last.

    The manifest has, for each table, its file, tool, rows and columns with their headings and
    kinds; for each tool the values that are not in tables; and of what has nothing to show, why.
    """
    tables: list[dict[str, Any]] = []
    values: dict[str, Any] = {}
    unavailable: dict[str, str] = {}
    for tool in TOOLS:
        try:
            result = session.run(tool.id)
        except NothingToShow as error:
            unavailable[tool.id] = error.why
            continue
        except StepscopeError as error:
            unavailable[tool.id] = str(error)
            continue
        values[tool.id] = _plain(result.to_dict(0))
        for name, table in tables_of(result).items():
            file = f"{tool.id}.{name}.parquet"
            tables.append(_described(file, tool.id, name, table))
            yield file, parquet_bytes(table)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "session": session.name,
        "hosts": list(session.hosts),
        "tables": tables,
        "values": values,
        "unavailable": unavailable,
    }
    yield MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False).encode()


def _described(file: str, tool: str, name: str, table: Table[Any]) -> dict[str, Any]:
    columns = {
        field: {"heading": heading(column), "kind": column.kind, "help": column.help}
        for field, (_, column) in columns_of(table.schema).items()
    }
    return {"file": file, "tool": tool, "table": name, "rows": len(table), "columns": columns}


def _plain(value: Any) -> Any:
    """Plain values; a table of no rows is an empty list."""
    if isinstance(value, dict):
        kept = {key: _plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if inner != []}
    return value
