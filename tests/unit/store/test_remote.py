"""Recordings behind a URL are searched and read like those in a folder."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from stepscope.errors import StoreError
from stepscope.store import find, read
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
