"""An archive of recordings is none, but says how to make a folder of it."""

from __future__ import annotations

import bz2
import io
import lzma
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from stepscope.errors import StoreError
from stepscope.store import find, search
from tests.profiles import worked_example

DATA = worked_example(gpu=False)
HELD = "logs/plugins/profile/r1/host.xplane.pb"


def tar(name: str = HELD, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # any mode
        entry = tarfile.TarInfo(name)
        entry.size = len(DATA)
        archive.addfile(entry, io.BytesIO(DATA))
    return out.getvalue()


def zipped(name: str = HELD) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a note.txt", "of the run")
        archive.writestr(name, DATA)
    return out.getvalue()


ARCHIVES = {
    "run.tar": tar(),
    "run.tar.gz": tar(mode="w:gz"),
    "my run.tgz": tar(mode="w:gz"),
    "run.zip": zipped(),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_hint_unpacks_what_then_opens(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(ARCHIVES[name])
    with pytest.raises(StoreError, match="plugins/profile/r1/host") as caught:
        find(path)
    assert caught.value.anchor == "archive"
    words = shlex.split(caught.value.hint.split("`")[1])
    for command in " ".join(map(shlex.quote, words)).split(" '&&' "):
        program, *rest = shlex.split(command)
        program = sys.executable if program == "python" else program
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} on this machine")
        subprocess.run([program, *rest], cwd=tmp_path, check=True)
    (run,) = find(path.with_name(path.name.partition(".")[0])).runs
    assert run.hosts == ("host",)


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_folder_tells_of_archives_that_hold_recordings(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(ARCHIVES[name])
    (tmp_path / "other.tar").write_bytes(tar("src/main.py"))
    (tmp_path / "other.zip").write_bytes(zipped("src/main.py"))
    (tmp_path / "empty.zip").write_bytes(b"")
    (miss,) = search(tmp_path).misses
    assert miss.slug == "archive" and miss.path.endswith(name)


def test_archives_whose_begin_says_nothing_are_named_all_the_same(tmp_path: Path) -> None:
    for name, data, said in (
        ("a.tar.xz", lzma.compress(tar()), "tar -xf a.tar.xz"),
        ("a.tar.bz2", bz2.compress(tar()), "tar -xf a.tar.bz2"),
        ("a.xplane.pb.bz2", bz2.compress(DATA), "bunzip2 -k a.xplane.pb.bz2"),
        ("a.tar", tar("src/main.py"), "tar -xf a.tar"),
        ("a.tar.gz", tar("src/main.py", "w:gz")[:60], "gzip stream is cut"),
        ("b.tar", b"none", "The first bytes"),
        ("c.zip", b"", "0 bytes"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(StoreError) as caught:
            find(tmp_path / name)
        assert said in f"{caught.value.why} {caught.value.hint}", name
