"""The file of a trace: there until it was read, gone afterwards."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from stepscope.capture.torch import profiler
from stepscope.capture.torch.profiler import Export


class Profile:
    """Writes an empty trace."""

    def export_chrome_trace(self, path: str) -> None:
        Path(path).write_text('{"traceEvents": []}', "utf-8")


class Nothing:
    """Left open by nobody, watched by nobody."""

    def tell(self, left_open: tuple[str, ...]) -> None:
        assert left_open == ()

    def watch(self, ended: object) -> None:
        assert ended is not None


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler, "ledger", Nothing())


def written() -> Export:
    export = Export(Profile(), cast(Any, Nothing()))
    export.write()
    return export


def test_a_trace_goes_with_its_with() -> None:
    with written() as path:
        assert path.exists()
    assert not path.parent.exists()


def test_a_trace_that_nobody_reads_goes_with_its_export() -> None:
    export = written()
    folder = export._path.parent
    del export
    gc.collect()
    assert not folder.exists()


AT_EXIT = f"""
import atexit, sys
sys.path.insert(0, {str(Path(__file__).parents[4])!r})
made = []

@atexit.register
def read():  # as the last chunk of a recording is
    with made[0] as path:
        print(path.exists())
    print(path.parent.exists())

from tests.unit.capture.torch import test_export
test_export.profiler.ledger = test_export.Nothing()
made.append(test_export.written())
"""


def test_a_trace_is_still_there_when_the_interpreter_ends_and_gone_once_read() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_traces_of_killed_processes_go_with_the_next_one() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    kept = written()
    folders = {
        process: kept._path.parents[1] / f"{profiler._PREFIX}{process}-test"
        for process in (done.pid, os.getppid())
    }
    for folder in folders.values():
        folder.mkdir()
        os.utime(folder, (0, 0))
    try:
        written()
        assert kept._path.exists()
        assert [folder.exists() for folder in folders.values()] == [False, True]
    finally:
        folders[os.getppid()].rmdir()
