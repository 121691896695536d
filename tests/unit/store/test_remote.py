"""Recordings behind a URL are searched and read like those in a folder."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from stepscope.errors import StoreError
from stepscope.store import find, ranges, read
from stepscope.store.read import read_pieces
from tests.profiles import worked_example

fsspec = pytest.importorskip("fsspec")
DATA = worked_example(gpu=False)


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
