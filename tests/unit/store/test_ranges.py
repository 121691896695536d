"""Remote files come in ranges side by side, whatever of them is refused, slow or cut."""

from __future__ import annotations

import random
from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest

from stepscope.errors import StoreError
from stepscope.store import find, ranges, read
from stepscope.store.read import read_pieces
from tests.profiles import worked_example

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402  # after the skip

DATA = random.Random(1).randbytes(100_003)


class Bucket(MemoryFileSystem):  # type: ignore[misc]  # no types
    """A store in memory that counts, and fails on request."""

    protocol = "bucket"
    cachable = False
    asked: dict[str, int]
    refuse = cut = 0.0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("bucket://").strip("/")

    def _count(self, what: str) -> None:
        with LOCK:
            Bucket.asked[what] = Bucket.asked.get(what, 0) + 1

    def ls(self, path: str, detail: bool = True, **how: Any) -> Any:
        self._count("ls")
        return super().ls(path, detail, **how)

    def find(self, path: str, **how: Any) -> Any:
        self._count("find")
        found = {}
        for name, file in self.store.items():
            if name.startswith(self._strip_protocol(path) + "/"):
                found[name] = {"name": name, "size": file.size, "type": "file"}
        return found

    def cat_file(self, path: str, start: Any = None, end: Any = None, **how: Any) -> bytes:
        self._count("cat")
        if DICE.random() < Bucket.refuse:
            raise OSError("503 Slow Down")
        body: bytes = super().cat_file(path, start, end, **how)
        return body[: 1 + len(body) // 3] if DICE.random() < Bucket.cut else body


LOCK = Lock()
DICE = random.Random(7)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bucket]]:
    fsspec.register_implementation("bucket", Bucket, clobber=True)
    monkeypatch.setattr(Bucket, "asked", {}, raising=False)
    monkeypatch.setattr(Bucket, "refuse", 0.0)
    monkeypatch.setattr(Bucket, "cut", 0.0)
    monkeypatch.setattr(ranges, "RANGE_BYTES", 10_000)
    monkeypatch.setattr(ranges, "_FIRST_WAIT_S", 0.0001)
    Bucket.store.clear()
    yield Bucket
    Bucket.store.clear()


def test_ranges_make_the_file_in_order(bucket: type[Bucket]) -> None:
    bucket().pipe("/b/x", DATA)
    with read("bucket:///b/x") as contents:
        assert contents.buffer == DATA
    assert bucket.asked["cat"] == 11
    assert b"".join(read_pieces("bucket:///b/x")) == DATA


@pytest.mark.parametrize(("refuse", "cut"), [(0.3, 0.0), (0.0, 0.5), (0.2, 0.3)])
def test_refused_and_cut_ranges_are_asked_for_again(
    bucket: type[Bucket], monkeypatch: pytest.MonkeyPatch, refuse: float, cut: float
) -> None:
    bucket().pipe("/b/x", DATA)
    monkeypatch.setattr(ranges, "ATTEMPTS", 50)
    monkeypatch.setattr(bucket, "refuse", refuse)
    monkeypatch.setattr(bucket, "cut", cut)
    with read("bucket:///b/x") as contents:
        assert contents.buffer == DATA
    assert bucket.asked["cat"] > 11


def test_a_store_that_goes_on_refusing_is_named(bucket: type[Bucket]) -> None:
    bucket().pipe("/b/x", DATA)
    bucket.refuse = 1.0
    with pytest.raises(StoreError) as caught:
        read("bucket:///b/x")
    assert "503 Slow Down" in caught.value.why
    assert bucket.asked["cat"] == ranges.ATTEMPTS


def test_a_file_shorter_than_its_listing_says_ends_where_it_ends(
    bucket: type[Bucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket().pipe("/b/x", DATA)
    info = {"name": "/b/x", "size": 10**15, "type": "file"}
    monkeypatch.setattr(bucket, "info", lambda _self, _path, **_how: info)
    with read("bucket:///b/x") as contents:
        assert contents.buffer == DATA


def test_a_folder_for_each_host_is_listed_at_once(bucket: type[Bucket]) -> None:
    recording = worked_example(gpu=False)
    for host in range(200):
        bucket().pipe(f"/pod/plugins/profile/run-{host:03d}/h{host}.xplane.pb", recording)
    found = find("bucket:///pod")
    assert sorted(run.hosts[0] for run in found.runs) == sorted(f"h{host}" for host in range(200))
    assert all(run.sources[0].size_bytes == len(recording) for run in found.runs)
    assert bucket.asked["find"] == 1
    assert bucket.asked["ls"] <= 4
