"""Recordings of other tools: any bytes that begin like one open, or say why not."""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import pickle
import random
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from fuzz.decode import check_sound
from fuzz.kineto import mutated as mutated_text
from fuzz.kineto import seed_trace
from fuzz.mutate import mutated as mutated_bytes
from fuzz.target import Target
from stepscope.columns import Space
from stepscope.errors import DecodeError, FormatError
from stepscope.formats import FORMATS, database, packed, table_pages
from stepscope.formats.format import Format
from stepscope.formats.kineto.reading import scan
from tests.unit.formats.nccl.dumps import dump, entry, perf
from tests.unit.formats.nsight.export import call, export, kernel, range_
from tests.unit.formats.perfetto.traces import described, gpu_counters, packet, small
from tests.unit.formats.rocprof.files import (
    kernel_csv,
    old_database,
    old_kernel,
    old_trace,
    rocpd,
    run,
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
from tests.unit.formats.test_step_log import chunk
from tests.unit.formats.torch_memory.snapshot import training

_SQLITE = b"SQLite format 3\0"
# Hardly any room, so that the edge of every block is met; one input in eight has it all.
_SCARCE: tuple[tuple[ModuleType, dict[str, Any]], ...] = (
    (packed, {"_BLOCK": 16}),
    (database, {"_ROWS": 7, "_KEYS": 3}),
    (table_pages, {"_READ_BYTES": 2048}),
    (scan, {"_TOKENS": 512, "_VALUE_ROWS": 256, "_EVENT_ROWS": 3}),
)
_WITH_FULL_ROOM = 8
# Cut at the end of a line, they are whole.
_OF_LINES = ("nccl-inspector", "step-log", "collapsed", "perf-script", "rocprof-csv")
_CELLS = (None, 0, -1, 1, 2**31, 2**63 - 1, -(2**63), 1.5, 1e308, "", "text", b"", b"\xff\0")

# What may stand where a number, a text or a list is awaited.
_ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**400, 0.5, -1e300, float("inf"),
    float("nan"), "", "x", "1", "-7.5", "\ud800", "a\0b\n", [], [[]], [1, "2", None], {}, {"": {}},
)  # fmt: skip
_ONLY_PICKLED = (b"", b"\xff", (), (1, (2,)), {1: 2}, {(1, 2): None}, 10**3000)

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
        *_parts(folder),
    ]
    for path in files:
        _packed(path)
    found = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    hung = _hung()
    records = [perf(n, 8192 * n, 10 * n, collective="AllGather") for n in range(1, 9)]
    logged = "\n".join(map(json.dumps, records))
    jsons = (hung, speedscope(), evented(), gecko(), gecko(rows=True))
    written = [*map(json.dumps, jsons), logged, COLLAPSED, PLACED, PERF]
    return [
        *found,
        *_pickles(),
        *(text.encode() for text in written),
        gzip.decompress(pprof()),
        small(),
        small() + packet(gpu_counters(0, (1, 4), said=described(1, "Busy", unit=37)), at=1_700),
        tachyon(),
        seed_trace(),
        chunk([10_000] * 3) + chunk([20_000] * 3, 3, group=2, wait_us=5),
    ]


def _parts(folder: Path) -> Iterator[Path]:
    """Databases that hold one kind of event each: most of a table's faults show without others."""
    kernels = [kernel(300 + n, 500 + n, 1, n) for n in range(1, 10)]
    yield export(folder / "kernels.sqlite", ("gemm",), kernels=kernels)
    ranges = [range_(90 * n, 90 * n + 70, "step 1") for n in range(1, 10)]
    yield export(folder / "ranges.sqlite", kernels=kernels[:1], ranges=ranges)
    calls = [call(100 + n, 120 + n, 1, n) for n in range(1, 10)]
    yield export(folder / "calls.sqlite", ("cudaLaunchKernel_v7000",), calls=calls)
    for generation in (3, 4):
        for kind in run()["buffer_records"]:
            part = run()
            records = part["buffer_records"]
            records.update({one: [] for one in records if one != kind})
            yield rocpd(folder / f"{kind}{generation}.db", part, generation=generation)


def _hung() -> dict[str, Any]:
    return dump([entry(n, n, "started" if n > 8 else "completed") for n in range(1, 10)])


@cache
def _pickles() -> tuple[bytes, ...]:
    values = (training(), _hung())
    return tuple(pickle.dumps(one, protocol) for one in values for protocol in (2, 4, 5))


def _packed(path: Path) -> None:
    """A database in pages of the least size: a table takes one, and a try writes them all.

    Tables without rows go, as most are left out where a tool has nothing to say.
    """
    if path.read_bytes()[: len(_SQLITE)] != _SQLITE:
        return
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if not database.execute(f'SELECT 1 FROM "{table}"').fetchone():
                database.execute(f'DROP TABLE "{table}"')
        database.commit()
        database.execute("PRAGMA page_size = 512")
        database.execute("VACUUM")


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    if seed.startswith(_SQLITE) and rng.random() < 0.7:
        return _with_odd_cells(rng, seed)
    if rng.random() < 0.5 and (value := _value(seed)) is not None:
        return _with_odd_values(rng, value, seed)
    if seed[:1] in (b"{", b'"') and rng.random() < 0.7:
        return mutated_text(rng, seed)
    return mutated_bytes(rng, seed)


def _value(seed: bytes) -> Any:
    """What a text of JSON holds, or a pickle of our own; None for others.

    What a mutation made of a pickle is not opened here, where it would be executed.
    """
    if seed in _pickles():
        return pickle.loads(seed)
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(seed) if seed[:1] == b"{" else None
    return None


def _with_odd_values(rng: random.Random, value: Any, seed: bytes) -> bytes:
    """The same value with a few of its parts replaced, left out or repeated."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        inside, key = _place(rng, value)
        what = rng.randrange(4)
        if what == 0:
            del inside[key]
        elif what == 1 and isinstance(inside, list):
            inside.extend(copy.deepcopy(inside[key:]) * rng.randrange(1, 4))
        else:
            odd = _ODD_VALUES if seed[:1] == b"{" else (*_ODD_VALUES, *_ONLY_PICKLED)
            inside[key] = copy.deepcopy(rng.choice(odd))
        if not value:
            break
    if seed[:1] == b"{":
        return json.dumps(value).encode()
    return pickle.dumps(value, rng.choice((2, 3, 4, 5)))


def _place(rng: random.Random, value: Any) -> tuple[Any, Any]:
    """A list or dictionary within a value, and an index of it: each depth is as likely."""
    places: list[tuple[Any, Any]] = []
    while isinstance(value, list | dict) and value:
        key = rng.randrange(len(value)) if isinstance(value, list) else rng.choice(list(value))
        places.append((value, key))
        value = value[key]
    return rng.choice(places)


def _with_odd_cells(rng: random.Random, seed: bytes) -> bytes:
    """The database with a few cells of other types: bytes alone would mostly break its pages."""
    path = _folder() / "mutated"
    path.write_bytes(seed)
    # After a mutation, a name in a schema need not be UTF-8, and a row may claim to have 4 GB.
    broken = contextlib.suppress(sqlite3.Error, UnicodeDecodeError, MemoryError)
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
    with contextlib.ExitStack() as scarce:
        if zlib.crc32(data) % _WITH_FULL_ROOM:
            for module, room in _SCARCE:
                scarce.enter_context(patch.multiple(module, **room))
        return _opened(one, data)


def _opened(one: Format, data: bytes) -> str:
    try:
        space = one.open(_Bytes(data), "input")
    except (FormatError, DecodeError) as error:
        json.dumps(error.to_dict())
        return f"{one.id}: {error.why[:30]}"
    check_sound(space)
    for texts in (space.event_metadata.name, space.stat_metadata.name, space.warnings):
        "\n".join(texts).encode()
    if not _is_told(space):
        _check_cut(one, data, space)
    return f"{one.id}: {'told' if _is_told(space) else 'sound'}"


def _is_told(space: Space) -> bool:
    return bool(space.warnings or space.damage)


def _check_cut(one: Format, data: bytes, whole: Space) -> None:
    """Raise AssertionError where events of an eighth of the inputs go missing without a word.

    Of a text of lines nobody can tell that more followed.
    """
    sum_ = zlib.crc32(data)
    if sum_ % 8 or not data.startswith((_SQLITE, b"{", b"[", b"\x80")) or one.id in _OF_LINES:
        return
    cut = data[: len(data) - 1 - sum_ // 8 % (len(data) // 2)]
    try:
        part = one.open(_Bytes(cut), "input")
    except (FormatError, DecodeError):
        return
    assert _is_told(part) or len(part.events) >= len(whole.events), (len(cut), len(data))


TARGET = Target("imports", 0.15, _seeds, _mutate, _attempt, _kind)
