"""Nsight Systems' exports to SQLite (``nsys export --type sqlite``) or to folders (``parquetdir``).

A folder has a file for each of the same tables, in Parquet or Arrow.

The schema changes with every minor version, so each table and column is looked for and none but
the kernels' is needed. Values of environment variables, which an export holds twice, are never
read, nor are command lines, users, hosts and paths.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stepscope.formats.format import Format, Input, Peek

if TYPE_CHECKING:
    from stepscope.columns.space import Space

_NAME: Final = re.compile(r"\.(sqlite3?|db)(\.gz)?$", re.IGNORECASE)
_MAGIC: Final = b"SQLite format 3\0"
# Some table of the schema, which is in the first pages of a file.
_TABLE: Final = re.compile(
    r"(StringIds|CUPTI_ACTIVITY_KIND_\w{1,80}|NVTX_EVENTS|OSRT_API|META_DATA_(?:CAPTURE|EXPORT)"
    r"|TARGET_INFO_\w{1,80}|ENUM_(?:CUDA|NSYS|CUPTI)_\w{1,80})"
    r"\.(parquet|arrow)"
)
_TABLES: Final = (b"CUPTI_ACTIVITY_KIND_", b"NVTX_EVENTS", b"OSRT_API", b"TARGET_INFO_SESSION")


def _promises(name: str) -> bool:
    return bool(_NAME.search(name))


def _starts(first: bytes) -> bool:
    return first.startswith(_MAGIC) and any(table in first for table in _TABLES)


def _open(pieces: Input, file: str) -> Space:
    from stepscope.formats.nsight.read import open_export

    return open_export(pieces, file=file)


def _writer(pieces: Peek) -> str:
    from stepscope.formats.nsight.read import writer_of

    return writer_of(pieces)


def _is_table(name: str) -> bool:
    return bool(_TABLE.fullmatch(name))


def _open_folder(pieces: Input, file: str) -> Space:
    from stepscope.formats.nsight.read import open_folder

    return open_folder(pieces, file=file)


def _writer_of_folder(pieces: Peek) -> str:
    from stepscope.formats.nsight.read import writer_of_folder

    return writer_of_folder(pieces)


FORMAT = Format(
    id="nsight",
    title="Nsight Systems export (SQLite)",
    head_bytes=1 << 20,
    promises=_promises,
    starts=_starts,
    open=_open,
    writer=_writer,
)
FOLDER = Format(
    id="nsight-tables",
    title="Nsight Systems export (folder of tables)",
    head_bytes=0,
    promises=lambda _: False,
    starts=lambda _: False,
    open=_open_folder,
    writer=_writer_of_folder,
    is_table=_is_table,
)
FORMATS: Final = (FORMAT, FOLDER)
