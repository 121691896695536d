"""Recordings behind a URL are searched and read like those in a folder."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

import stepscope
from stepscope.errors import StoreError
from stepscope.store import find, ranges, read, remote
from stepscope.store.read import read_pieces
from stepscope.store.remote import Heads
from stepscope.store.tree import Entry
from tests.profiles import worked_example
from tests.unit.formats.nccl.dumps import dump, entry
from tests.unit.formats.nsight.export import export, kernel
from tests.unit.formats.nsight.folder import folder_of
from tests.unit.formats.perfetto.traces import small
from tests.unit.formats.rocprof.files import kernel_csv, rocpd, tool_json
from tests.unit.formats.stacks.files import COLLAPSED, PERF, gecko, pprof, speedscope, tachyon
from tests.unit.formats.torch_memory.snapshot import training

fsspec = pytest.importorskip("fsspec")
DATA = worked_example(gpu=False)
EVENT = b'{"ph": "X", "cat": "cpu_op", "name": "mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'


@pytest.fixture
def memory() -> Iterator[None]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pipe("/logs/plugins/profile/r1/a.xplane.pb", DATA)
    system.pipe("/logs/plugins/profile/r1/b.xplane.pb.gz", gzip.compress(DATA))
    system.pipe("/logs/events.out.tfevents.1.x", b"abc")
    yield
    system.store.clear()


@pytest.mark.usefixtures("memory")
def test_remote_log_directory_is_searched_and_read() -> None:
    found = find("memory://logs")
    (run,) = found.runs
    assert (run.id, run.hosts) == ("r1", ("a", "b"))
    assert [miss.slug for miss in found.misses] == ["event-file"]
    for source in run.sources:
        with read(source.path) as contents:
            assert contents.buffer == DATA


@pytest.mark.usefixtures("memory")
def test_remote_file_opens_itself() -> None:
    (run,) = find("memory://logs/plugins/profile/r1/a.xplane.pb").runs
    assert run.hosts == ("a",)


@pytest.mark.usefixtures("memory")
def test_absent_remote_path_is_an_error() -> None:
    with pytest.raises(StoreError) as caught:
        find("memory://nowhere")
    assert caught.value.anchor == "no-such-path"


def test_a_url_of_no_known_kind_is_refused() -> None:
    with pytest.raises(StoreError) as caught:
        find("nosuchscheme://x/y")
    assert caught.value.anchor == "remote-scheme"


class _Failing(fsspec.AbstractFileSystem):  # type: ignore[misc, name-defined]  # no types
    """A bucket that breaks on request."""

    protocol = "failing"
    cachable = False
    at: ClassVar[str] = ""
    error: ClassVar[Exception] = OSError("no")

    def _break(self, place: str) -> None:
        if place == type(self).at:
            raise type(self).error

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        self._break("info")
        kind = "file" if path.endswith(".pb") else "directory"
        return {"name": path, "size": 10**15, "type": kind}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[dict[str, Any]]:
        self._break("ls")
        if path.strip("/") != "logs":
            raise PermissionError(path)
        folder = {"name": "logs/closed", "type": "directory", "size": 0}
        return [folder, {"name": "logs/a.xplane.pb", "size": 10**15}, {"name": "logs/b.txt"}]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> io.BytesIO:
        self._break("open")
        broken = self

        class Stream(io.BytesIO):
            def read(self, size: int | None = -1) -> bytes:
                broken._break("read")
                return super().read(size)

        return Stream(DATA)


_KINDS = [OSError("no"), TimeoutError("no"), RuntimeError("no"), ValueError("no"), KeyError("no")]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> type[_Failing]:
    fsspec.register_implementation("failing", _Failing, clobber=True)
    monkeypatch.setattr(_Failing, "at", "")
    monkeypatch.setattr(ranges, "_FIRST_WAIT_S", 0.001)
    return _Failing


@pytest.mark.parametrize("error", _KINDS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("at", ["info", "open", "read"])
def test_whatever_a_back_end_raises_is_a_store_error(
    failing: type[_Failing], monkeypatch: pytest.MonkeyPatch, at: str, error: Exception
) -> None:
    (run,) = find("failing://logs/a.xplane.pb").runs
    monkeypatch.setattr(failing, "at", at)
    monkeypatch.setattr(failing, "error", error)
    for call in (read, lambda path: list(read_pieces(path))):
        with pytest.raises(StoreError) as caught:
            call(run.sources[0].path)
        assert caught.value.anchor in ("remote-unreachable", "io-error")


@pytest.mark.parametrize("error", _KINDS, ids=lambda error: type(error).__name__)
def test_a_listing_that_fails_is_a_near_miss(
    failing: type[_Failing], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(failing, "at", "ls")
    monkeypatch.setattr(failing, "error", error)
    with pytest.raises(StoreError) as caught:
        find("failing://logs")
    assert caught.value.anchor == "no-recording" and "no" in caught.value.why


@pytest.mark.usefixtures("failing")
def test_one_closed_folder_hides_no_run_beside_it_and_sizes_are_not_believed() -> None:
    """The entry has no type, and its size would not fit into any memory."""
    found = find("failing://logs")
    assert [miss.slug for miss in found.misses] == ["permission-denied"]
    (run,) = found.runs
    with read(run.sources[0].path) as contents:
        assert contents.buffer == DATA


@pytest.mark.parametrize(
    "url", ["zip://x::file:///etc/passwd", "ftp://127.0.0.1:1/x", "reference://x"]
)
def test_urls_that_lead_nowhere_are_store_errors(url: str) -> None:
    with pytest.raises(StoreError):
        find(url)


class _Asked:
    """What is asked of a bucket: begins of files with their sizes, and how many at once."""

    def __init__(self, system: Any) -> None:
        self.begins: list[tuple[str, int]] = []
        self.most = self._now = 0
        self._read = system.cat_file

    def cat_file(self, path: str, start: int = 0, end: int = 0) -> bytes:
        if start == 0:
            self.begins.append((path.rpartition("/")[2], end))
        self._now += 1
        self.most = max(self.most, self._now)
        time.sleep(0.01)
        self._now -= 1
        data: bytes = self._read(path, start=start, end=end)
        return data


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Asked]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    found = _Asked(system)
    monkeypatch.setattr(system, "cat_file", found.cat_file)
    monkeypatch.setattr(remote, "_HEADS", Heads())
    yield found
    system.store.clear()


def every_format(folder: Path) -> dict[str, bytes]:
    """A file of each format that a folder is searched for, by name."""
    export(folder / "n.sqlite", ("gemm",), kernels=[kernel(300, 500, 0, 1)])
    rocpd(folder / "r_results.db")
    tool_json(folder / "r_results.json")
    kernel_csv(folder / "r_kernel_trace.csv")
    files = {one.name: one.read_bytes() for one in folder.iterdir()}
    hung = dump([entry(n, n, "started") for n in range(1, 4)])
    return files | {
        "host.xplane.pb": DATA,
        "memory.pickle": pickle.dumps(training()),
        "nccl_trace_rank_0": pickle.dumps(hung),
        "s.speedscope.json": json.dumps(speedscope()).encode(),
        "g.json.gz": gzip.compress(json.dumps(gecko()).encode()),
        "c.txt": COLLAPSED.encode(),
        "p.perf.txt": PERF.encode(),
        "t.bin": tachyon(),
        "p.pb.gz": pprof(),
        "u.pftrace": small(),
        "k.pt.trace.json": b'{"schemaVersion": 1, "traceEvents": [' + EVENT + b"]}",
        "README.md": b"# Not a recording",
        "weights.safetensors": bytes(100_000),
        "vocab.dat": bytes(100_000),
        "config.json": b'{"layers": 3}',
    }


@pytest.mark.timed
def test_a_folder_of_any_format_is_found_behind_a_url_as_it_is_here(
    tmp_path: Path, asked: _Asked
) -> None:
    (tmp_path / "made").mkdir()
    files = every_format(tmp_path / "made")
    system = fsspec.filesystem("memory")
    for name, data in files.items():
        # A folder each, as files of one run together would be one run.
        (tmp_path / "here" / name).mkdir(parents=True)
        (tmp_path / "here" / name / name).write_bytes(data)
        system.pipe(f"/logs/{name}/{name}", data)
    far, here = find("memory://logs"), find(tmp_path / "here")
    known = {(run.id, *(one.format for one in run.sources)) for run in here.runs}
    assert {(run.id, *(one.format for one in run.sources)) for run in far.runs} == known
    assert len(known) == len(files) - 4
    assert {miss.slug for miss in far.misses} == {miss.slug for miss in here.misses}
    # Only files whose names promise a recording were looked into, and no more than begins of them.
    assert not {"README.md", "weights.safetensors", "vocab.dat"} & {
        name for name, _ in asked.begins
    }
    assert max(size for _, size in asked.begins) <= 1 << 20
    assert asked.most > 8


def test_begins_of_files_that_stay_as_they_are_are_asked_for_once(
    tmp_path: Path, asked: _Asked
) -> None:
    (tmp_path / "made").mkdir()
    system = fsspec.filesystem("memory")
    for name, data in every_format(tmp_path / "made").items():
        system.pipe(f"/logs/{name}", data)
    first = find("memory://logs")
    asked.begins.clear()
    assert [run.id for run in find("memory://logs").runs] == [run.id for run in first.runs]
    assert not asked.begins
    system.pipe("/logs/config.json", json.dumps(speedscope()).encode())
    again = find("memory://logs")
    assert {name for name, _ in asked.begins} == {"config.json"}
    assert {run.id for run in again.runs} - {run.id for run in first.runs} == {"logs/config"}


def test_the_begins_that_are_kept_are_bounded() -> None:
    heads = Heads(most_bytes=100)
    entries = [Entry(f"f{n}", f"f{n}", "file", 1000, version="1") for n in range(5)]
    for one in entries:
        heads.keep(one, 40, bytes(40))
    assert [heads.get(one, 40) is not None for one in entries] == [False] * 3 + [True] * 2
    assert heads.get(entries[4], 41) is None and heads.get(entries[4], 7) == bytes(7)
    assert heads.get(replace(entries[4], version="2"), 7) is None
    heads.keep(replace(entries[4], version=""), 40, bytes(40))
    assert heads.get(replace(entries[4], version=""), 7) is None


class _Served(BaseHTTPRequestHandler):
    """A web server with one file, that knows ranges or does not."""

    data: ClassVar[bytes] = b""
    knows_ranges: ClassVar[bool] = True
    sent: ClassVar[list[int]] = []

    def do_GET(self) -> None:
        """The file, or the range of it."""
        asked = self.headers.get("Range", "") if self.knows_ranges else ""
        begin, _, end = asked.removeprefix("bytes=").partition("-")
        body = self.data[int(begin) : int(end) + 1] if asked else self.data
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.sent.append(len(body))
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_file_of_a_web_server_is_known_by_its_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows_ranges: bool
) -> None:
    pytest.importorskip("aiohttp", reason="fsspec's http:// needs aiohttp")
    kernels = [kernel(9 * n, 9 * n + 5, 0, n) for n in range(9000)]
    path = export(tmp_path / "n.sqlite", ("g",), kernels=kernels)
    monkeypatch.setattr(_Served, "data", path.read_bytes())
    monkeypatch.setattr(_Served, "knows_ranges", knows_ranges)
    monkeypatch.setattr(_Served, "sent", [])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Served)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        (run,) = find(f"http://127.0.0.1:{server.server_port}/n.sqlite").runs
        assert [one.format for one in run.sources] == ["nsight"]
        if knows_ranges:
            assert sum(_Served.sent) < 20_000
        with read(run.sources[0].path) as contents:
            assert contents.buffer == _Served.data
    finally:
        server.shutdown()
        server.server_close()


def test_every_format_of_a_folder_behind_a_url_opens_as_it_does_here(
    tmp_path: Path, asked: _Asked
) -> None:
    (tmp_path / "made").mkdir()
    system = fsspec.filesystem("memory")
    for name, data in every_format(tmp_path / "made").items():
        (tmp_path / "here" / name).mkdir(parents=True)
        (tmp_path / "here" / name / name).write_bytes(data)
        system.pipe(f"/logs/{name}/{name}", data)
    far, here = find("memory://logs"), find(tmp_path / "here")
    assert asked.begins
    for run in here.runs:
        with stepscope.open(run.sources[0].path) as mine:
            count = len(mine.events())
        (far_run,) = (one for one in far.runs if one.id == run.id)
        with stepscope.open(far_run.sources[0].path) as other:
            assert len(other.events()) == count > 0, run.id


def test_a_folder_of_tables_behind_a_url_opens(tmp_path: Path, asked: _Asked) -> None:
    whole = export(tmp_path / "n.sqlite", ("gemm",), kernels=[kernel(300, 500, 0, 1)])
    folder = folder_of(whole, tmp_path / "n_pqtdir", "parquet")
    system = fsspec.filesystem("memory")
    for path in folder.iterdir():
        system.pipe(f"/logs/n_pqtdir/{path.name}", path.read_bytes())
    (run,) = find("memory://logs").runs
    assert [one.format for one in run.sources] == ["nsight-tables"]
    with stepscope.open("memory://logs/n_pqtdir") as far, stepscope.open(folder) as here:
        assert len(far.events()) == len(here.events()) == 1
    assert asked.most
