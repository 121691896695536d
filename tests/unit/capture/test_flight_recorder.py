"""The flight recorder: when it writes, what it keeps, and who may ask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import stepscope
from stepscope.capture import flight_recorder, step_clock
from stepscope.capture.file.recording_gaps import Gap, RecordingGaps
from stepscope.capture.file.writer import Ring, Writer
from stepscope.capture.flight_recorder import FlightRecorder
from stepscope.errors import CaptureError

_MS = 1_000_000
_PROGRAM = """
import os, sys, time
import stepscope
stepscope.init(flight_recorder=sys.argv[1])
def read_shard():
    time.sleep(0.2)
def loop(slow=()):
    for number in range(40):
        with stepscope.step(number):
            time.sleep(0.004)
            if number in slow:
                read_shard()
{then}
"""

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and sockets of Unix"),
    pytest.mark.timed,
]


def run(folder: Path, then: str) -> subprocess.CompletedProcess[str]:
    with running(folder, then) as process:
        out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextmanager
def running(folder: Path, then: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _PROGRAM.format(then=then), str(folder)]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder.parent)}
    with subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


def dumps(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.xplane.pb"))


def test_the_second_slow_step_is_written(tmp_path: Path) -> None:
    done = run(tmp_path / "logs", "loop(slow=(25,)); time.sleep(1); loop(slow=(10, 20, 30))")
    (path,) = dumps(tmp_path / "logs")
    assert done.returncode == 0
    assert "because step 50 took 2" in done.stderr
    assert str(path) in done.stderr
    session = stepscope.open(str(path))
    overview = session.overview_page()
    assert overview.steps.source == "markers"
    said = {one.slug: one.message for one in overview.diagnostics}
    assert said["imported-recording"].startswith("The last 30 s, because step 50 took 2")
    names = session.sql("SELECT DISTINCT name FROM events", trusted=True)["name"]
    assert any("read_shard" in name for name in names)


def test_an_exception_that_ends_the_program_is_written(tmp_path: Path) -> None:
    done = run(tmp_path / "logs", "loop()\nraise MemoryError('no room')")
    assert done.returncode == 1
    assert "MemoryError: no room" in done.stderr
    assert "because the program raised MemoryError" in done.stderr
    assert len(dumps(tmp_path / "logs")) == 1


def test_ctrl_c_and_a_good_end_write_nothing(tmp_path: Path) -> None:
    assert run(tmp_path / "logs", "loop(slow=(25,))").returncode == 0
    assert run(tmp_path / "logs", "loop(); raise KeyboardInterrupt").returncode != 0
    assert dumps(tmp_path / "logs") == []


def test_sigterm_ends_the_program_without_a_dump(tmp_path: Path) -> None:
    with running(tmp_path / "logs", "print('ready', flush=True); time.sleep(60)") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM
    assert dumps(tmp_path / "logs") == []


def test_dump_on_demand_and_by_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with running(
        tmp_path / "logs", "loop(); print('ready', flush=True); time.sleep(60)"
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        place = flight_recorder.ask(process.pid)
        assert dumps(tmp_path / "logs") == [Path(place)]
        assert len(stepscope.open(place).profile.hosts) == 1
        os.kill(process.pid, signal.SIGUSR2)
        until = time.monotonic() + 60
        while len(dumps(tmp_path / "logs")) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(dumps(tmp_path / "logs")) == 2
    with pytest.raises(CaptureError, match="has no flight recorder"):
        flight_recorder.ask(process.pid)


def test_a_recording_of_the_program_takes_its_place_for_a_while(tmp_path: Path) -> None:
    then = f"""
with stepscope.Profile({str(tmp_path / "own")!r}):
    loop()
time.sleep(0.5)
loop()
raise ValueError
"""
    done = run(tmp_path / "logs", then)
    (own,), (dump,) = dumps(tmp_path / "own"), dumps(tmp_path / "logs")
    assert done.returncode == 1
    for path in (own, dump):
        steps = stepscope.open(str(path)).sql("SELECT * FROM steps", trusted=True)
        assert len(steps) == 40


_RECORDED = """
import time
import stepscope
from stepscope.capture import control
while control.active() is None or control.active().owner != "flight recorder":
    with stepscope.step(0):
        time.sleep(0.01)
for number in range(60):
    with stepscope.step(number):
        time.sleep(0.3 if number in (40, 50) else 0.01)
raise ValueError
"""


def test_record_keeps_the_last_seconds_after_its_recording(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_RECORDED)
    command = [sys.executable, "-m", "stepscope", "record", "-q", "-o", "logs"]
    command += ["--flight-recorder", "--max-seconds", "1", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    written = sorted(dumps(tmp_path / "logs"), key=lambda path: len(path.parent.name))
    assert [path.parent.name.endswith("_dump") for path in written[:2]] == [False, True], done
    assert " ms, usually " in done.stderr and "the program raised ValueError" in done.stderr
    assert len(stepscope.open(str(written[1])).sql("SELECT * FROM steps", trusted=True)) >= 50


def test_a_dump_during_a_recording_names_it(tmp_path: Path) -> None:
    then = """
import stepscope.capture.flight_recorder as f
with stepscope.Profile("own") as own:
    try:
        f.ask(os.getpid())
    except Exception as error:
        print(error)
"""
    done = run(tmp_path / "logs", f"os.chdir({str(tmp_path)!r})\n{then}")
    assert "own" in done.stdout and "is being recorded and has them" in done.stdout
    assert dumps(tmp_path / "logs") == []


def test_a_forked_child_has_none(tmp_path: Path) -> None:
    then = """
if os.fork() == 0:
    loop(slow=(25, 30))
    raise ValueError
os.wait()
"""
    run(tmp_path / "logs", then)
    assert dumps(tmp_path / "logs") == []


def test_only_one_and_not_beside_a_recording(tmp_path: Path) -> None:
    done = run(tmp_path / "logs", "stepscope.init(flight_recorder='more')")
    assert "already has a flight recorder" in done.stderr
    with stepscope.Profile(tmp_path), pytest.raises(CaptureError, match="already being recorded"):
        FlightRecorder(tmp_path).begin()


def test_the_folder_of_sockets_belongs_to_one_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / f"stepscope-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(CaptureError, match="not ours"):
        flight_recorder.ask(1)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(CaptureError, match="not ours"):
        flight_recorder.ask(1)


def heard(recorder: FlightRecorder, source: str, *lengths_ms: float) -> None:
    end = 1
    recorder._heard(source, 7, 0, end * _MS)
    for length in lengths_ms:
        end += round(length)
        recorder._heard(source, 7, 0, end * _MS)


def test_steps_of_hooks_become_events_with_numbers(tmp_path: Path) -> None:
    recorder = FlightRecorder(tmp_path)
    heard(recorder, step_clock.OPTIMIZER, 10, 20, 30)
    assert recorder.collect().events == 3
    assert recorder.collect().events == 0
    recorder._heard(step_clock.MARKER, "train", _MS, 2 * _MS)
    assert recorder.collect().events == 0  # an annotation already


def test_slow_is_three_times_the_usual_and_50_ms(tmp_path: Path) -> None:
    recorder = FlightRecorder(tmp_path)
    heard(recorder, step_clock.OPTIMIZER, *[10] * 30, 59)
    assert recorder._slow_steps == 0
    heard(recorder, step_clock.OPTIMIZER, *[10] * 30, 61)
    assert recorder._slow_steps == 1
    recorder = FlightRecorder(tmp_path)
    heard(recorder, step_clock.OPTIMIZER, *[100] * 30, 299)
    assert recorder._slow_steps == 0
    heard(recorder, step_clock.OPTIMIZER, *[100] * 30, 301)
    assert recorder._slow_steps == 1


def test_the_ring_forgets_what_is_too_much_or_too_old(tmp_path: Path) -> None:
    ring = Ring(str(tmp_path), seconds=60, max_bytes=250)
    ring.append([b"head"])
    for number in range(5):
        ring.append([bytes([number]) * 100])
    assert ring.size == 200
    file = Writer.open(str(tmp_path))
    ring.save(file, [b"tail"])
    assert file.path.read_bytes() == b"head" + b"\3" * 100 + b"\4" * 100 + b"tail"
    aged = Ring(str(tmp_path), seconds=0, max_bytes=250)
    for data in (b"head", b"old", b"new"):
        aged.append([data])
    assert aged.size == 3


def test_gaps_before_the_oldest_chunk_are_forgotten() -> None:
    gaps = RecordingGaps()
    gaps.found = [Gap("sampler", begin, begin + 10) for begin in (0, 100, 200)]
    gaps.forget(105)
    assert [gap.begin_ns for gap in gaps.found] == [100, 200]
