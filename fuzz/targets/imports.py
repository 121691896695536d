"""Recordings of other tools: any bytes that begin like one open, or say why not."""

from __future__ import annotations

import contextlib
import gzip
import json
import pickle
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fuzz.decode import check_sound
from fuzz.kineto import mutated as mutated_text
from fuzz.kineto import seed_trace
from fuzz.mutate import mutated as mutated_bytes
from fuzz.target import Target
from stepscope.errors import DecodeError, FormatError
from stepscope.formats import FORMATS
from tests.unit.formats.nccl.dumps import dump, entry, perf
from tests.unit.formats.nsight.export import call, export, kernel, range_
from tests.unit.formats.perfetto.traces import described, gpu_counters, packet, small
from tests.unit.formats.rocprof.files import (
    kernel_csv,
    old_database,
    old_kernel,
    old_trace,
    rocpd,
    tool_json,
)
from tests.unit.formats.stacks.files import (
    COLLAPSED,
    PERF,
    PLACED,
    evented,
    gecko,
    pprof,
    speedscope,
    tachyon,
)
from tests.unit.formats.torch_memory.snapshot import training

_SQLITE = b"SQLite format 3\0"
_CELLS = (None, 0, -1, 1, 2**31, 2**63 - 1, -(2**63), 1.5, 1e308, "", "text", b"", b"\xff\0")


# Databases are written and read at each try: memory serves them faster than a disk.
_MEMORY = Path("/dev/shm")


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    place = _MEMORY if _MEMORY.is_dir() else None
    return tempfile.TemporaryDirectory(prefix="stepscope-fuzz-", dir=place)


def _folder() -> Path:
    return Path(_temporary().name)


@dataclass
class _Bytes:
    """Bytes as readers take them."""

    data: bytes

    def __iter__(self) -> Iterator[bytes]:
        size = 1 + len(self.data) % 1000
        for at in range(0, len(self.data), size):
            yield self.data[at : at + size]

    @contextlib.contextmanager
    def on_disk(self) -> Iterator[Path]:
        path = _folder() / "input"
        path.write_bytes(self.data)
        yield path


def _seeds(_: Path | None) -> list[bytes]:
    folder = _folder()
    texts = ("gemm", "cudaLaunchKernel_v7000", "forward")
    files = [
        export(
            folder / "n.sqlite",
            texts,
            kernels=[kernel(300 + n, 500 + n, 1, n) for n in range(1, 20)],
            calls=[call(100 + n, 120 + n, 2, n) for n in range(1, 20)],
            ranges=[range_(90, 200, "aten::mm, op_id = 3"), range_(80, None, "step 1")],
        ),
        rocpd(folder / "r3.db"),
        rocpd(folder / "r4.db", generation=4),
        tool_json(folder / "r.json"),
        kernel_csv(folder / "r.csv"),
        old_trace(folder / "o.json"),
        old_database(folder / "o.db"),
        old_database(folder / "k.db", OPS=(), KERN=[old_kernel(0, 5_000, 6_000, SQ_WAVES=16)]),
    ]
    for path in files:
        _packed(path)
    found = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    hung = dump([entry(n, n, "started" if n > 8 else "completed") for n in range(1, 10)])
    values = [pickle.dumps(one, protocol) for one in (training(), hung) for protocol in (2, 4, 5)]
    records = [perf(n, 8192 * n, 10 * n, collective="AllGather") for n in range(1, 9)]
    logged = "\n".join(map(json.dumps, records))
    jsons = (hung, speedscope(), evented(), gecko(), gecko(rows=True))
    written = [*map(json.dumps, jsons), logged, COLLAPSED, PLACED, PERF]
    return [
        *found,
        *values,
        *(text.encode() for text in written),
        gzip.decompress(pprof()),
        small(),
        small() + packet(gpu_counters(0, (1, 4), said=described(1, "Busy", unit=37)), at=1_700),
        tachyon(),
        seed_trace(),
    ]


def _packed(path: Path) -> None:
    """A database in pages of the least size: a table takes one, and a try writes them all."""
    if path.read_bytes()[: len(_SQLITE)] != _SQLITE:
        return
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("VACUUM")


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    if seed.startswith(_SQLITE) and rng.random() < 0.7:
        return _with_odd_cells(rng, seed)
    if seed[:1] in (b"{", b'"') and rng.random() < 0.7:
        return mutated_text(rng, seed)
    return mutated_bytes(rng, seed)


def _with_odd_cells(rng: random.Random, seed: bytes) -> bytes:
    """The database with a few cells of other types: bytes alone would mostly break its pages."""
    path = _folder() / "mutated"
    path.write_bytes(seed)
    # A name in a schema that was mutated before need not be UTF-8.
    broken = contextlib.suppress(sqlite3.Error, UnicodeDecodeError)
    with contextlib.closing(sqlite3.connect(path)) as database, broken:
        database.execute("PRAGMA journal_mode = MEMORY")
        database.execute("PRAGMA synchronous = OFF")
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for _ in range(rng.randrange(1, 8)):
            (table,) = rng.choice(tables)
            columns = database.execute(f'PRAGMA table_info("{table}")').fetchall()
            column = rng.choice(columns)[1]
            database.execute(
                f'UPDATE "{table}" SET "{column}" = ? WHERE rowid % ? = 0',
                (rng.choice(_CELLS), rng.randrange(1, 4)),
            )
        database.commit()
    return path.read_bytes()


def _kind(data: bytes) -> str:
    """The reader that takes these bytes: the first that knows their begin."""
    return next((one.id for one in FORMATS.values() if one.starts(data[: one.head_bytes])), "")


def _attempt(data: bytes) -> str:
    kind = _kind(data)
    if not kind:
        return "not recognised"
    one = FORMATS[kind]
    try:
        space = one.open(_Bytes(data), "input")
    except (FormatError, DecodeError) as error:
        json.dumps(error.to_dict())
        return f"{one.id}: {error.why[:30]}"
    check_sound(space)
    for texts in (space.event_metadata.name, space.stat_metadata.name, space.warnings):
        "\n".join(texts).encode()
    return f"{one.id}: {'told' if space.warnings else 'sound'}"


TARGET = Target("imports", 0.2, _seeds, _mutate, _attempt, _kind)
