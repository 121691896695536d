"""The archive of the collection: nothing enters the folder but what the manifest names."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
from pathlib import Path

import pytest

from tests.collection import store


def archive(path: Path, **files: bytes) -> Path:
    with tarfile.open(path, "w") as made:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    listed = tmp_path / "manifest.txt"
    listed.write_text(f"{hashlib.sha256(b'one').hexdigest()}  a\n", "utf-8")
    monkeypatch.setattr(store, "MANIFEST", listed)
    monkeypatch.setenv("STEPSCOPE_COLLECTION", str(tmp_path / "fetched"))
    return tmp_path


def test_a_listed_file_is_fetched_and_another_is_not(folder: Path) -> None:
    assert store.fetch(str(archive(folder / "x.tar", a=b"one", b=b"two"))) == 1
    assert [path.name for path in (folder / "fetched").iterdir()] == ["a"]
    assert list(store.faults(folder / "fetched")) == []


def test_an_altered_or_missing_file_is_refused(folder: Path) -> None:
    with pytest.raises(SystemExit, match="SHA-256 differs"):
        store.fetch(str(archive(folder / "x.tar", a=b"other")))
    with pytest.raises(SystemExit, match="1 files are not in"):
        store.fetch(str(archive(folder / "y.tar", b=b"two")))
    assert not (folder / "fetched").exists()


def test_a_cut_archive_is_an_error_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = archive(folder / "x.tar", a=b"one" * 400)
    whole.write_bytes(whole.read_bytes()[:700])
    monkeypatch.setattr(sys, "argv", ["store", "fetch", str(whole)])
    with pytest.raises(SystemExit, match="fetch it again"):
        store.main()
