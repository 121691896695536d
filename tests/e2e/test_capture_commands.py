"""``stepscope capture``, ``monitor`` and ``doctor`` as whole commands, on real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profiles import worked_example

pytest.importorskip("grpc", reason="grpcio is not installed")

PATIENCE_S = 120
DEAD = "127.0.0.1:1"
PROGRAM = """
import sys, time, stepscope
print(stepscope.server.start(0).port, flush=True)
number = 0
while True:
    with stepscope.Trace("train", step_num=number, _r=1):
        time.sleep(0.02)
    number += 1
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[str]:
    """The address of a program that marks steps of 20 ms."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield f"127.0.0.1:{int(process.stdout.readline())}"
    process.kill()
    process.wait()


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "stepscope", *words]


def stepscope(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=PATIENCE_S)


def test_a_program_is_recorded_and_its_verdict_told(worker: str, tmp_path: Path) -> None:
    done = stepscope("capture", worker, str(tmp_path), "--duration-ms", "600")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 workers recorded" in done.stdout
    assert "stepscope show overview_page" in done.stdout
    (file,) = tmp_path.rglob("*.xplane.pb")
    shown = stepscope("show", "overview_page", str(file), "--format", "json")
    steps = json.loads(shown.stdout)["steps"]
    assert steps["source"] == "markers"
    assert steps["count"] > 10


def test_steps_are_recorded(worker: str, tmp_path: Path) -> None:
    done = stepscope("capture", worker, str(tmp_path), "--steps", "15", "-f", "json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert body["steps"] == 15
    shown = stepscope("show", "overview_page", body["folder"], "--format", "json")
    assert 13 <= json.loads(shown.stdout)["steps"]["count"] <= 20


def test_part_of_the_workers_is_a_success_that_says_so(worker: str, tmp_path: Path) -> None:
    done = stepscope("capture", f"{worker},{DEAD}", str(tmp_path), "--duration-ms", "200")
    assert done.returncode == 0, done.stderr
    assert "1 of 2 workers recorded" in done.stdout
    assert "Connection refused" in done.stdout


def test_no_worker_is_a_failure_with_the_reasons(tmp_path: Path) -> None:
    done = stepscope("capture", DEAD, str(tmp_path), "-f", "json")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"] == "nothing-recorded"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["nonsense", "logs"], [DEAD, "logs", "--duration-ms", "0"], [DEAD, "logs", "--steps", "0"]],
)
def test_what_means_nothing_is_usage(words: list[str]) -> None:
    assert stepscope("capture", *words).returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_keeps_what_has_arrived(worker: str, tmp_path: Path) -> None:
    hanging = subprocess.Popen([sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True)
    assert hanging.stdout is not None
    address = f"127.0.0.1:{int(hanging.stdout.readline())}"
    words = ("capture", f"{address},{worker}", str(tmp_path), "--duration-ms", "300")
    running = subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + PATIENCE_S
    while not list(tmp_path.rglob("*.xplane.pb")):
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE_S)
    hanging.kill()
    hanging.wait()
    assert running.returncode == 0, err
    assert "1 of 2 workers recorded" in out
    assert "cancelled before the answer arrived" in out
    assert "interrupted" in out


HANGING = """
import time
from tests.unit.capture.rpc.workers import ForeignWorker, serving
with serving(ForeignWorker(answer_after_s=600)) as address:
    print(address.rpartition(":")[2], flush=True)
    time.sleep(600)
"""


def test_the_monitor_says_what_the_program_does(worker: str) -> None:
    done = stepscope("monitor", worker, "--duration-ms", "500")
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert 5 < float(lines["steps"].split()[0]) < 51
    assert stepscope("monitor", DEAD).returncode == 4


def test_the_doctor_looks_at_this_machine(tmp_path: Path) -> None:
    done = stepscope("doctor", "--logdir", str(tmp_path), "-f", "json")
    body = json.loads(done.stdout)
    checks = {each["check"]: each for each in body["checks"]}
    assert {"nvidia-driver", "rocm-driver", "frameworks", "log-directory", "clock"} <= set(checks)
    assert done.returncode == (1 if body["verdict"] == "problem" else 0)
    shown = stepscope("doctor")
    assert "log-directory" in shown.stdout


def test_the_doctor_says_what_a_recording_lost(tmp_path: Path) -> None:
    whole, cut = tmp_path / "a.xplane.pb", tmp_path / "cut" / "a.xplane.pb"
    data = worked_example(gpu=True)
    whole.write_bytes(data)
    cut.parent.mkdir()
    cut.write_bytes(data[:-400])
    assert json.loads(stepscope("doctor", str(whole), "-f", "json").stdout)["verdict"] != "damaged"
    body = json.loads(stepscope("doctor", str(cut), "-f", "json").stdout)
    assert body["verdict"] == "damaged"
    assert "damaged-file" in [note["slug"] for note in body["notes"]]
    assert "damaged" in stepscope("doctor", str(cut)).stdout
