"""Small exports of Nsight Systems, described row by row; and shorthands for what is in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
TABLES = {
    "kernels": "CUPTI_ACTIVITY_KIND_KERNEL",
    "calls": "CUPTI_ACTIVITY_KIND_RUNTIME",
    "copies": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "sets": "CUPTI_ACTIVITY_KIND_MEMSET",
    "waits": "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "graphs": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "ranges": "NVTX_EVENTS",
}


def tid(process: int, thread: int) -> int:
    """A global thread id."""
    return 1 << 48 | process << 24 | thread


def pid(process: int) -> int:
    """A global process id."""
    return tid(process, 0)


def export(path: Path, texts: Sequence[str] = (), **tables: Iterable[Row]) -> Path:
    """Write an export; ``StringIds`` numbers the texts from 1 on.

    Args:
        path: Where to.
        texts: Of ``StringIds``.
        tables: Rows by a short name of ``TABLES``, or by the table's own.
    """
    with sqlite3.connect(path) as database:
        add(database, "StringIds", [{"id": n, "value": one} for n, one in enumerate(texts, 1)])
        for name, rows in tables.items():
            add(database, TABLES.get(name, name), list(rows))
    database.close()
    return path


def add(database: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Add a table; its columns are those that any row has."""
    columns = list(dict.fromkeys(key for row in rows for key in row)) or ["start"]
    listed = ", ".join(f'"{one}"' for one in columns)
    database.execute(f"CREATE TABLE {table} ({listed})")
    marks = ", ".join("?" * len(columns))
    values = [[row.get(one) for one in columns] for row in rows]
    database.executemany(f"INSERT INTO {table} ({listed}) VALUES ({marks})", values)


def kernel(start: int, end: int, name: int, launch: int, **more: Any) -> Row:
    """A kernel on stream 7 of device 0 in process 10."""
    place = {"deviceId": 0, "streamId": 7, "globalPid": pid(10)}
    named = {"demangledName": name, "shortName": name, "correlationId": launch}
    return {"start": start, "end": end, **place, **named, **more}


def call(start: int, end: int, name: int, launch: int, **more: Any) -> Row:
    """A call of the main thread of process 10."""
    said = {"globalTid": tid(10, 10), "nameId": name, "correlationId": launch}
    return {"start": start, "end": end, **said, **more}


def range_(start: int, end: int | None, text: str | None, **more: Any) -> Row:
    """A pushed and popped range of the main thread of process 10."""
    said = {"eventType": 59, "globalTid": tid(10, 10), "text": text, "textId": None}
    return {"start": start, "end": end, **said, **more}
