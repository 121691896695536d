"""URLs go through fsspec, and its absence is said."""

from __future__ import annotations

import gzip
import sys
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


def test_unknown_scheme_names_what_to_install() -> None:
    with pytest.raises(StoreError) as caught:
        find("nosuchscheme://x/y")
    assert caught.value.anchor == "remote-scheme"


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(StoreError) as caught:
        find("memory://logs")
    assert caught.value.anchor == "remote-extra"
    assert "stepscope[remote]" in caught.value.mend
