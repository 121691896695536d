"""The recorder hashes the program's own source files, and no others."""

from __future__ import annotations

import sys
import sysconfig
import time
from pathlib import Path

import pytest

from stepscope.capture.runtime import sources
from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.capture.runtime.sources import source_facts
from stepscope.schema.sources import source_hash


@pytest.fixture(autouse=True)
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are imported from the folder of the test."""
    monkeypatch.syspath_prepend(str(tmp_path))


def test_own_files_are_hashed_in_full(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("a = 1\n")
    found = source_facts(time.time_ns() + 10**9, [str(path), "", str(tmp_path / "none.py")])
    assert found == {"_source_hashes": f"6 {source_hash(path.read_bytes())} train.py"}


def test_installed_and_younger_files_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("a = 1\n")
    assert source_facts(path.stat().st_mtime_ns - 1, [str(path)]) == {}
    library = Path(sysconfig.get_path("stdlib")) / "os.py"
    (tmp_path / "notes.txt").write_text("notes")
    assert source_facts(2**62, [str(library), str(tmp_path / "notes.txt")]) == {}


def test_files_and_bytes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for number in range(4):
        files.append(tmp_path / f"file_{number}.py")
        files[-1].write_text("x" * 10)
    paths = [str(path) for path in files]
    monkeypatch.setattr(sources, "_MOST_FILES", 3)
    assert len(source_facts(2**62, paths)["_source_hashes"].splitlines()) == 3
    monkeypatch.setattr(sources, "_MOST_BYTES", 25)
    assert len(source_facts(2**62, paths)["_source_hashes"].splitlines()) == 2


def test_modules_of_the_program_are_found() -> None:
    assert "runtime/test_sources.py" in source_facts(2**62)["_source_hashes"]


def test_files_outside_the_import_path_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.py"
    path.write_text("a = 1\n")
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent)])
    assert source_facts(2**62, [str(path)]) == {}


def test_files_that_were_named_are_found(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("def step():\n    return 1\n")
    code = compile(path.read_text(), str(path), "exec")
    FrameNames().function(code)
    assert "program.py" in source_facts(2**62)["_source_hashes"].split()
