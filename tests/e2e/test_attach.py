"""A running process is sampled from outside, by py-spy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepscope
from stepscope.capture import attach
from stepscope.errors import CaptureError

_PROGRAM = """
import json
def parse(): return [json.loads('{"a": [1, 2, 3]}') for _ in range(20_000)]
def train():
    while True:
        parse()
print("ready", flush=True)
train()
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "train.py"
    path.write_text(_PROGRAM)
    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def test_its_functions_and_lines_are_seen(program: int, tmp_path: Path) -> None:
    path = _attach(program, tmp_path)
    assert path.parent.parent.parent.parent == tmp_path / "logs"
    with stepscope.open(str(tmp_path / "logs")) as session:
        first = session.overview_page().findings[0]
    assert "parse" in first.title
    assert first.place is not None
    assert first.place.file.endswith("train.py")


def _attach(process: int, tmp_path: Path) -> Path:
    try:
        return attach.attach(process, str(tmp_path / "logs"), seconds=2, hz=100)
    except CaptureError as error:
        if "not installed" in error.what or "root" in (error.hint or ""):
            pytest.skip(f"{error.what} {error.why}")
        raise


def test_a_process_that_is_none(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    with pytest.raises(CaptureError, match=f"Process {ended.pid} was not recorded"):
        _attach(ended.pid, tmp_path)
    assert not (tmp_path / "logs").exists()


def test_without_py_spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "_PROGRAM", "py-spy-that-is-not-there")
    with pytest.raises(CaptureError, match="py-spy, which is not installed") as caught:
        attach.attach(1, str(tmp_path), 1, 100)
    assert caught.value.hint == 'pip install "stepscope[attach]"'


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("Error: Permission Denied: Try running again with elevated permissions", "SYS_PTRACE"),
        ("Error: Failed to find python version from target process", "running Python process"),
    ],
)
def test_a_refusal_says_what_to_do(said: str, hint: str) -> None:
    error = attach._refusal(7, said)
    assert hint in (error.hint or "")
    assert said in (error.why or "")
