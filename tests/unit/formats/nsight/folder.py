"""The tables of a database as a folder of files, as ``nsys export --type parquetdir`` has them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl

KINDS = ("parquet", "arrow", "arrow stream")


def folder_of(database: Path, folder: Path, kind: str = "parquet") -> Path:
    """Write each table of a database to a file of its own."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as connection:
        listed = "SELECT name FROM sqlite_master WHERE type = 'table'"
        for (name,) in connection.execute(listed).fetchall():
            rows = connection.execute(f'SELECT * FROM "{name}"')
            columns = [one[0] for one in rows.description]
            frame = pl.DataFrame(
                rows.fetchall(), schema=columns, orient="row", infer_schema_length=None
            )
            write(frame, folder / f"{name}.{kind.partition(' ')[0]}", kind)
    return folder


def write(frame: pl.DataFrame, path: Path, kind: str = "parquet") -> None:
    """Write one table."""
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "arrow":
        frame.write_ipc(path)
    else:
        frame.write_ipc_stream(path)
