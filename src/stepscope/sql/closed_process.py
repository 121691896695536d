"""The process that answers queries of strangers: ``python -m stepscope.sql.closed_process BYTES``.

It holds the tables that it was given and, where the system has limits, can open no file and take
no more than its share of memory. A query that wants more ends this process and no other.

Both ways a message is a line of JSON with ``bytes``, and that many bytes of Arrow's IPC stream.
It is given ``{"table": …}`` or ``{"query": …, "rows": …}`` and answers queries with
``{"cut": …}`` or ``{"error": …}``.
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from stepscope.sql.execution import answer, reason_of


def main(memory_bytes: int) -> int:
    """Answer until there are no more questions, with so much memory for tables and queries."""
    _close_doors(memory_bytes)
    frames: dict[str, pl.DataFrame] = {}
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while line := source.readline():
        head = json.loads(line)
        if "table" in head:
            frames[head["table"]] = pl.read_ipc_stream(io.BytesIO(source.read(head["bytes"])))
        else:
            _answer(target, frames, head["query"], head["rows"])
    return 0


def _answer(target: BinaryIO, frames: dict[str, pl.DataFrame], query: str, rows: int) -> None:
    try:
        found = answer(frames, query).head(rows + 1).collect()
    except Exception as error:  # of whatever kind: the caller gets it, and may ask again
        _write(target, {"error": reason_of(error)})
        return
    data = io.BytesIO()
    found.head(rows).write_ipc_stream(data)
    _write(target, {"cut": found.height > rows}, data.getvalue())


def _write(target: BinaryIO, head: dict[str, Any], data: bytes = b"") -> None:
    target.write(json.dumps({**head, "bytes": len(data)}).encode() + b"\n")
    target.write(data)
    target.flush()


def _close_doors(memory_bytes: int) -> None:
    """From here on no file opens, and memory is limited; Windows has no such limits."""
    # Polars' threads and reactor need files of their own when they start.
    one = pl.LazyFrame({"a": [1]})
    pl.SQLContext(a=one, b=one).execute("SELECT count(*) FROM a JOIN b ON a.a = b.a").collect()
    if sys.platform == "win32":
        return
    import resource

    limit = _address_space() + memory_bytes
    with suppress(OSError, ValueError):  # macOS knows the limit and refuses to set it
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _address_space() -> int:
    """What the process has mapped already; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
