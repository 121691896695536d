"""Who wrote a file is found in parts of it: its first bytes, its last, or what they lead to."""

from __future__ import annotations

import gc
import gzip
import json
import random
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stepscope.store import Source, find
from stepscope.store.described import described, described_all
from stepscope.store.look import MOST_REQUESTS, look_at
from stepscope.wire import write as wire
from tests.unit.formats.nsight.export import export, kernel
from tests.unit.formats.nsight.folder import folder_of
from tests.unit.formats.rocprof.files import rocpd
from tests.unit.formats.test_described import folder

fsspec = pytest.importorskip("fsspec")
VERSIONS = [
    {"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2.1"},
    {"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"},
]
SYSTEMS = "Nsight Systems 2026.2.1 (export schema 3.25.0)"


def plane(name: str, stats: dict[str, str], body: bytes = b"") -> bytes:
    """A plane with texts as stats, after whatever lines and programs it has."""
    out = wire.text(2, name) + body
    for key, stat in enumerate(stats, 1):
        out += wire.blob(5, wire.number(1, key) + wire.blob(2, wire.text(2, stat)))
    for key, value in enumerate(stats.values(), 1):
        out += wire.blob(6, wire.number(1, key) + wire.text(5, value))
    return wire.blob(1, out)


def lines(size: int) -> bytes:
    """Something as large as events are."""
    return wire.blob(3, bytes(size))


JAX = {"cpu_version": "cpu", "jax_version": "0.10.2", "jaxlib_version": "0.10.2"}
OURS = {"python_version": "3.11.7", "torch_version": "2.13.0+cpu", "stepscope_version": "0.1.0"}
XSPACES = {
    "JAX notes its version": (plane("/host:metadata", JAX), "XSpace · JAX 0.10.2"),
    "two that differ": (
        plane("/host:metadata", {**JAX, "jaxlib_version": "0.10.1"}),
        "XSpace · JAX 0.10.2, jaxlib 0.10.1",
    ),
    "our recorder": (
        plane("/host:CPU", {}, lines(300_000)) + plane("Task Environment", OURS),
        "XSpace · Stepscope 0.1.0 (PyTorch 2.13.0+cpu)",
    ),
    "ours where nothing was loaded": (
        plane("Task Environment", {"stepscope_version": "0.1.0"}),
        "XSpace · Stepscope 0.1.0",
    ),
    "TensorFlow says nothing": (
        plane("/host:CPU", {"tensorflow_version": "1"}, lines(9))
        + plane("Task Environment", {"profile_start_time": "17"}),
        "XSpace",
    ),
    "no version, but words": (plane("/host:metadata", {"jax_version": "rm -rf\n"}), "XSpace"),
    "cut inside the plane": (plane("/host:metadata", JAX)[:-20], "XSpace"),
}


@pytest.mark.parametrize("case", XSPACES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_xspace_says_who_wrote_it(case: str, pack: Any, tmp_path: Path) -> None:
    data, wanted = XSPACES[case]
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(pack(data))
    assert described(Source(str(path), "h", path.stat().st_size, 0)) == wanted


def test_no_bytes_break_the_look(tmp_path: Path) -> None:
    whole, dice = XSPACES["our recorder"][0][300_000:], random.Random(5)
    path = tmp_path / "h.xplane.pb"
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data)
        assert described(Source(str(path), "h", len(data), 0)).startswith("XSpace")


class _Asked:
    """What is asked of a bucket."""

    def __init__(self, system: Any) -> None:
        self.bytes: dict[str, int] = {}
        self.requests: dict[str, int] = {}
        self._read = system.cat_file

    def cat_file(self, path: str, start: int = 0, end: int = 0) -> bytes:
        data: bytes = self._read(path, start=start, end=end)
        name = path.rpartition("/")[2]
        self.bytes[name] = self.bytes.get(name, 0) + len(data)
        self.requests[name] = self.requests.get(name, 0) + 1
        return data


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Asked]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    found = _Asked(system)
    monkeypatch.setattr(system, "cat_file", found.cat_file)
    yield found
    system.store.clear()


@pytest.mark.usefixtures("asked")
def test_every_format_behind_a_url_is_called_what_it_is_called_here(tmp_path: Path) -> None:
    wanted = folder(tmp_path)
    # Loads the formats before threads do: pytest parses modules, which CPython 3.11 cannot at once.
    here = [source for run in find(str(tmp_path)).runs for source in run.sources]
    assert {one.host: text for one, text in zip(here, described_all(here), strict=True)} == wanted
    system = fsspec.filesystem("memory")
    for one in tmp_path.iterdir():
        system.pipe(f"/logs/{one.name}", one.read_bytes())
    sources = [source for run in find("memory://logs").runs for source in run.sources]
    found = {one.host: text for one, text in zip(sources, described_all(sources), strict=True)}
    assert found == wanted


def test_of_an_xspace_behind_a_url_only_ranges_are_asked_for(asked: _Asked) -> None:
    data = (
        plane("/host:CPU", {}, lines(5_000_000))
        + plane("Task Environment", OURS)
        + plane("/device:GPU:0", {}, lines(5_000_000))
    )
    fsspec.filesystem("memory").pipe("/logs/a.xplane.pb", data)
    source = Source("memory://logs/a.xplane.pb", "a", len(data), 0)
    assert described(source) == "XSpace · Stepscope 0.1.0 (PyTorch 2.13.0+cpu)"
    assert asked.bytes["a.xplane.pb"] < 300_000
    many = b"".join(plane(f"/device:GPU:{n}", {}, lines(100_000)) for n in range(100))
    fsspec.filesystem("memory").pipe("/logs/b.xplane.pb", many + data)
    far = Source("memory://logs/b.xplane.pb", "b", len(many + data), 0)
    assert described(far) == "XSpace"
    assert asked.requests["b.xplane.pb"] <= MOST_REQUESTS


@pytest.fixture(scope="module")
def large_databases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Databases that nobody wants to copy for a look, and what they are to be called."""
    path = tmp_path_factory.mktemp("large")
    kernels = [kernel(9 * n, 9 * n + 5, 0, n) for n in range(160_000)]
    export(path / "n.sqlite", ("g",), META_DATA_EXPORT=VERSIONS, kernels=kernels)
    export(path / "late.sqlite", ("g",), kernels=kernels)
    with closing(sqlite3.connect(path / "late.sqlite")) as database, database:
        database.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
        rows = [(one["name"], one["value"]) for one in VERSIONS]
        database.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", rows)
    rocpd(path / "r.db")
    assert (path / "n.sqlite").stat().st_size > 5_000_000
    return path, {
        "n": f"Nsight Systems export (SQLite) · {SYSTEMS}",
        "late": f"Nsight Systems export (SQLite) · {SYSTEMS}",
        "r": "rocprofv3 database (rocpd) · rocprofv3 (schema 3.0.3)",
    }


@pytest.mark.parametrize("ending", ["", ".gz"], ids=["plain", "gzip"])
def test_of_a_large_database_its_begin_is_asked_for(
    large_databases: tuple[Path, dict[str, str]], asked: _Asked, ending: str
) -> None:
    path, wanted = large_databases
    pack = partial(gzip.compress, compresslevel=1) if ending else bytes
    for one in path.iterdir():
        fsspec.filesystem("memory").pipe(f"/logs/{one.name}{ending}", pack(one.read_bytes()))
    found = find("memory://logs")
    asked.bytes.clear()
    for run in found.runs:
        (source,) = run.sources
        assert described(source) == wanted[source.host]
    assert max(asked.bytes.values()) < 2_000_000


def test_a_small_folder_of_tables_behind_a_url_is_copied_and_a_large_one_is_not(
    tmp_path: Path, asked: _Asked
) -> None:
    whole = export(
        tmp_path / "n.sqlite",
        ("g",),
        kernels=[kernel(300, 500, 0, 1)],
        META_DATA_EXPORT=VERSIONS,
    )
    tables = folder_of(whole, tmp_path / "n_pqtdir", "parquet")
    size = 0
    for path in tables.iterdir():
        size += path.stat().st_size
        fsspec.filesystem("memory").pipe(f"/logs/n_pqtdir/{path.name}", path.read_bytes())
    title = "Nsight Systems export (folder of tables)"
    here = Source(str(tables), "n", size, 0, "nsight-tables")
    far = Source("memory://logs/n_pqtdir", "n", size, 0, "nsight-tables")
    assert described(here) == described(far) == f"{title} · {SYSTEMS}"
    asked.bytes.clear()
    large = Source("memory://logs/n_pqtdir", "n", 1 << 30, 0, "nsight-tables")
    assert described(large) == title
    assert not asked.bytes


def test_ls_says_who_wrote_a_compressed_trace(tmp_path: Path) -> None:
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    trace = {"viztracer_metadata": {"version": "1.0.2"}, "traceEvents": [event] * 9}
    path = tmp_path / "v.json.gz"
    path.write_bytes(gzip.compress(json.dumps(trace).encode()))
    source = Source(str(path), "v", path.stat().st_size, 0, "kineto")
    assert described(source) == "Chrome trace (JSON) · viztracer 1.0.2"
    path.write_bytes(path.read_bytes()[:11])
    assert described(source) == "Chrome trace (JSON)"


def test_what_was_inflated_for_a_look_goes_with_it(tmp_path: Path) -> None:
    """`ls` of 10,000 compressed recordings held 1.8 GB: nothing went before the collector came."""
    path = tmp_path / "a.xplane.pb.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    gc.disable()
    try:
        with look_at(Source(str(path), "a", path.stat().st_size, 0)) as look:
            assert look.at(0, 9) == bytes(9)
            gone = weakref.ref(look)
        del look
        assert gone() is None
    finally:
        gc.enable()
