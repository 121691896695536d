"""Files of Stepscope's are never taken for the program's, whose own are hashed."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
import time
from pathlib import Path
from types import FrameType

import pytest

from stepscope.capture.launch import site
from stepscope.capture.recorders.start_up import _Looks
from stepscope.capture.runtime import frame_names
from stepscope.capture.runtime.frame_names import FrameNames, source_facts
from stepscope.capture.runtime.start_spans import StartSpans
from stepscope.schema.sources import source_hash
from stepscope.tables.steps.recorder_work import is_recorder_frame, is_wrapper

SITE = Path(str(site.__file__)).with_name("sitecustomize.py")


def test_file_on_our_search_path_is_a_recorders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SITE.parent))
    names = FrameNames()
    assert not names.is_own_file(str(SITE))
    assert names.is_own_file(str(SITE.parents[5] / "train.py"))
    assert is_recorder_frame(f"${names.file(str(SITE))}:22 _run_the_hidden_one")


def test_timed_calls_are_wrappers() -> None:
    assert is_wrapper("$stepscope/capture/runtime/start_spans.py:110 StartSpans.call")


def test_imports_of_the_launcher_are_the_recorders_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look may fall into a library that our start file calls: no line of the program is there."""
    frames: list[FrameType] = []
    monkeypatch.setattr(
        importlib.machinery.PathFinder,
        "find_spec",
        lambda *_: frames.append(sys._getframe()),  # None: there is no other such file
    )
    monkeypatch.delenv("STEPSCOPE_RECORD", raising=False)
    spec = importlib.util.spec_from_file_location("launched", SITE)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    looks = _Looks(StartSpans())
    own = looks._names.is_own_file
    outer = (__file__, "<string>")  # this test's callers, the latter in a worker of xdist
    monkeypatch.setattr(looks._names, "is_own_file", lambda name: name not in outer and own(name))
    (frame,) = frames
    kind, _name, place, _hint = looks._site(frame)
    looks.close()
    assert (kind, place) == ("recorder", "")


# ------------------------------------------------------------------ hashes of sources


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules are imported from it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_own_files_are_hashed_in_full(folder: Path) -> None:
    path = folder / "train.py"
    path.write_text("a = 1\n")
    found = source_facts(time.time_ns() + 10**9, [str(path), "", str(folder / "none.py")])
    assert found == {"_source_hashes": f"6 {source_hash(path.read_bytes())} train.py"}


def test_installed_and_younger_files_are_left_out(folder: Path) -> None:
    path = folder / "train.py"
    path.write_text("a = 1\n")
    assert source_facts(path.stat().st_mtime_ns - 1, [str(path)]) == {}
    library = Path(sysconfig.get_path("stdlib")) / "os.py"
    (folder / "notes.txt").write_text("notes")
    assert source_facts(2**62, [str(library), str(folder / "notes.txt")]) == {}


def test_files_and_bytes_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for number in range(4):
        files.append(folder / f"file_{number}.py")
        files[-1].write_text("x" * 10)
    paths = [str(path) for path in files]
    monkeypatch.setattr(frame_names, "_MOST_FILES", 3)
    assert len(source_facts(2**62, paths)["_source_hashes"].splitlines()) == 3
    monkeypatch.setattr(frame_names, "_MOST_BYTES", 25)
    assert len(source_facts(2**62, paths)["_source_hashes"].splitlines()) == 2


def test_modules_of_the_program_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_names, "_MOST_FILES", 100_000)  # a whole run of tests has many
    monkeypatch.setattr(frame_names, "_MOST_BYTES", 1 << 40)
    assert "runtime/test_frame_names.py" in source_facts(2**62)["_source_hashes"]


def test_files_outside_the_import_path_are_left_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "train.py"
    path.write_text("a = 1\n")
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent)])
    assert source_facts(2**62, [str(path)]) == {}


def test_files_that_were_named_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_names, "_named_files", set())  # a whole run of tests has many
    monkeypatch.setattr(frame_names, "_MOST_FILES", 1)  # those that are only loaded come after it
    path = folder / "program.py"
    path.write_text("def step():\n    return 1\n")
    code = compile(path.read_text(), str(path), "exec")
    FrameNames().function(code)
    assert "program.py" in source_facts(2**62)["_source_hashes"].split()
