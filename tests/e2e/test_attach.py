"""A running process is recorded from inside (Python 3.14) or sampled from outside (py-spy)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
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
    path = Path(_attach(program, tmp_path))
    assert path.parent.parent.parent.parent == tmp_path / "logs"
    with stepscope.open(str(tmp_path / "logs")) as session:
        first = session.overview_page().findings[0]
    assert "parse" in first.title
    assert first.place is not None
    assert first.place.file.endswith("train.py")


def _attach(process: int, tmp_path: Path) -> str:
    try:
        return attach.attach(process, str(tmp_path / "logs"), seconds=2, hz=100).place
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


# --- from inside --------------------------------------------------------------------------------


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Scripts that a process is handed; those of this process run in it at once."""
    handed: list[str] = []

    def remote_exec(process: int, script: str) -> None:
        source = Path(script).read_text()
        handed.append(source)
        if process == os.getpid():
            exec(source, {})

    monkeypatch.setattr(sys, "remote_exec", remote_exec, raising=False)
    monkeypatch.setattr(attach, "_BEGIN_SECONDS", 0.2)
    return handed


def test_recorder_runs_inside(scripts: list[str], tmp_path: Path) -> None:
    before = list(sys.path)
    done = attach.attach(os.getpid(), str(tmp_path / "logs"), seconds=1, hz=100)
    assert done.place.endswith(".xplane.pb")
    assert Path(done.place).is_file()
    assert (len(scripts), sys.path) == (1, before)


def test_recording_twice_is_refused(scripts: list[str], tmp_path: Path) -> None:
    with (
        stepscope.Profile(tmp_path / "own"),
        pytest.raises(CaptureError, match="already being recorded") as caught,
    ):
        attach.attach(os.getpid(), str(tmp_path / "logs"), seconds=1, hz=100)
    assert caught.value.anchor == "capture-busy"


def test_recorder_that_cannot_start_is_reported(
    scripts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(attach, "record_here")
    with pytest.raises(CaptureError, match="was not recorded") as caught:
        attach.attach(os.getpid(), str(tmp_path / "logs"), seconds=1, hz=100)
    assert "ImportError" in caught.value.why


def test_busy_main_thread_is_sampled_from_outside(
    scripts: list[str], program: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "_from_outside", lambda *_: tmp_path / "stacks.trace.json")
    done = attach.attach(program, str(tmp_path / "logs"), seconds=1, hz=100)
    assert done.place == str(tmp_path / "stacks.trace.json")
    assert "ran no Python for 0.2 s" in done.notes[0]
    # The main thread gets to the script too late: nothing more is recorded.
    monkeypatch.setattr(attach, "record_here", pytest.fail)
    exec(scripts[0], {})
    time.sleep(0.2)
    assert not (tmp_path / "logs").exists()


def test_forbidden_by_the_system(
    scripts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remote_exec(process: int, script: str) -> None:
        raise PermissionError("Operation not permitted")

    monkeypatch.setattr(sys, "remote_exec", remote_exec)
    with pytest.raises(CaptureError, match="was not recorded") as caught:
        attach.attach(os.getpid(), str(tmp_path), seconds=1, hz=100)
    assert "SYS_PTRACE" in caught.value.hint


# --- with a Python that has sys.remote_exec -----------------------------------------------------


def _python() -> str:
    python = sys.executable if sys.version_info >= (3, 14) else shutil.which("python3.14")
    if python is None:
        pytest.skip("no Python 3.14: sys.remote_exec is missing")
    needs = [python, "-c", "import numpy, polars, click, sys; sys.remote_exec"]
    if subprocess.run(needs, capture_output=True, check=False).returncode:
        pytest.skip(f"{python} lacks numpy, polars or click, or was built without sys.remote_exec")
    return python


def _attach_with(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(stepscope.__file__).parent.parent)
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    command = [python, "-m", "stepscope", "attach", *arguments]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_running_program_records_itself(tmp_path: Path) -> None:
    python = _python()
    (tmp_path / "train.py").write_text(_PROGRAM)
    command = [python, str(tmp_path / "train.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        done = _attach_with(python, str(process.pid), str(tmp_path / "logs"), "--seconds", "2")
        is_alive = process.poll() is None
        process.kill()
    assert done.returncode == 0, done.stderr
    assert is_alive
    assert list(tmp_path.glob("logs/plugins/profile/*/*.xplane.pb")), done.stderr
    with stepscope.open(str(tmp_path / "logs")) as session:
        first = session.overview_page().findings[0]
    assert "parse" in first.title
    assert first.place is not None
    assert first.place.file.endswith("train.py")


_ENDS_ONCE_RECORDED = """
import pathlib, sys
def work(): return sum(range(10_000))
print("ready", flush=True)
logs = pathlib.Path(sys.argv[1])
while not any(path.stat().st_size for path in logs.glob("plugins/profile/*/*")):
    work()
"""


def test_program_that_ends_meanwhile_keeps_its_recording(tmp_path: Path) -> None:
    python = _python()
    logs = tmp_path / "logs"
    command = [python, "-c", _ENDS_ONCE_RECORDED, str(logs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        done = _attach_with(python, str(process.pid), str(logs), "--seconds", "60")
        assert process.wait() == 0
    assert done.returncode == 0, done.stderr
    assert "The process ended before." in done.stderr
    with stepscope.open(str(logs)) as session:
        assert session.overview_page().hosts
