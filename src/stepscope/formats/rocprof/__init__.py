"""What rocprofv3 writes: rocpd databases (its default since ROCm 7), JSON, and CSV by domain.

Beside them the databases and the JSON of rocprof 1 and 2. All tell of the same records; ``work``
makes device events of them, whichever file they are in. Times are of the machine's clock since it
started. Environment, command line and host name, which most of them hold, are not read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stepscope.formats.format import Format, Input, Peek

if TYPE_CHECKING:
    from stepscope.columns.space import Space

_DATABASE: Final = re.compile(r"\.(db|rocpd|sqlite3?)(\.gz)?$", re.IGNORECASE)
_JSON: Final = re.compile(r"\.json(\.gz)?$", re.IGNORECASE)
_CSV: Final = re.compile(r"_(kernel|hip_api|memory_copy|marker_api)_trace\.csv(\.gz)?$", re.I)
_TABLES: Final = (b"rocpd_kernel_dispatch", b"rocpd_region", b"rocpd_info_agent")
# Arguments of the events of rocprof 1 and 2, however they are laid out.
_TRACE: Final = re.compile(rb'"BeginNs"\s*:\s*"\d+"')
# Columns of a table end before the next table, or names of tables alone would take long to search.
_LAYERS: Final = re.compile(
    rb'CREATE TABLE "?(?:rocTX|HSA|HIP|OPS|COPY|KERN)"? ?\((?:[^)C]|C(?!REATE )){0,4096}'
    rb'"(?:BeginNs|KernelName)"'
)
_TOOL: Final = b'"rocprofiler-sdk-tool"'
_HEADER: Final = (b"Kernel_Name", b"Function", b"Direction")


def _is_database(first: bytes) -> bool:
    return first.startswith(b"SQLite format 3\0") and any(one in first for one in _TABLES)


def _has_layers(first: bytes) -> bool:
    return first.startswith(b"SQLite format 3\0") and bool(_LAYERS.search(first))


def _is_json(first: bytes) -> bool:
    return _TOOL in first[:4096]


def _is_trace(first: bytes) -> bool:
    return b'"traceEvents"' in first[:4096] and bool(_TRACE.search(first))


def _is_csv(first: bytes) -> bool:
    head = first.partition(b"\n")[0]
    return b"Start_Timestamp" in head and any(one in head for one in _HEADER)


def _open_database(pieces: Input, file: str) -> Space:
    from stepscope.formats.rocprof.rocpd import open_database

    return open_database(pieces, file=file)


def _writer(pieces: Peek) -> str:
    from stepscope.formats.rocprof.rocpd import writer_of

    return writer_of(pieces)


def _open_layers(pieces: Input, file: str) -> Space:
    from stepscope.formats.rocprof.trace_database import open_database

    return open_database(pieces, file=file)


def _open_json(pieces: Input, file: str) -> Space:
    from stepscope.formats.rocprof.tool_json import open_json

    return open_json(pieces, file=file)


def _open_trace(pieces: Input, file: str) -> Space:
    from stepscope.formats.rocprof.trace_json import open_trace

    return open_trace(pieces, file=file)


def _open_csv(pieces: Input, file: str) -> Space:
    from stepscope.formats.rocprof.trace_csv import open_csv

    return open_csv(pieces, file=file)


FORMATS: Final = (
    Format(
        id="rocpd",
        title="rocprofv3 database (rocpd)",
        head_bytes=1 << 20,
        promises=lambda name: bool(_DATABASE.search(name)),
        starts=_is_database,
        open=_open_database,
        writer=_writer,
    ),
    Format(
        id="rocprof-json",
        title="rocprofv3 JSON",
        head_bytes=4096,
        promises=lambda name: bool(_JSON.search(name)),
        starts=_is_json,
        open=_open_json,
        writer=lambda _: "rocprofv3",
    ),
    Format(
        id="rocprof-trace",
        title="rocprof JSON",
        head_bytes=1 << 16,
        promises=lambda name: bool(_JSON.search(name)),
        starts=_is_trace,
        open=_open_trace,
        writer=lambda _: "rocprof 1 or 2",
    ),
    Format(
        id="rocprof-database",
        title="rocprof database",
        head_bytes=1 << 20,
        promises=lambda name: bool(_DATABASE.search(name)),
        starts=_has_layers,
        open=_open_layers,
        writer=lambda _: "rocprof 1 or 2",
    ),
    Format(
        id="rocprof-csv",
        title="rocprofv3 CSV",
        head_bytes=4096,
        promises=lambda name: bool(_CSV.search(name)),
        starts=_is_csv,
        open=_open_csv,
        writer=lambda _: "rocprofv3",
    ),
)
