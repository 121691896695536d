"""Recording real programs from outside, both ways: our client of their servers, theirs of ours."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import stepscope
from stepscope.capture.rpc.client.address import parse_addresses
from stepscope.capture.rpc.client.gather import Gathering
from stepscope.capture.rpc.client.request import CaptureRequest
from stepscope.errors import CaptureError
from stepscope.surfaces.remote import step_time_ms

pytest.importorskip("grpc", reason="grpcio is not installed")

ROOT = Path(__file__).parents[2]
# This tree, whatever is installed.
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "src")])
LONGEST_S = 240.0
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}


@dataclass
class Program:
    """A running program of ``remote_programs``."""

    process: subprocess.Popen[str]
    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def end(self) -> int:
        """Let it end; the number of steps it made. Fails when it did not end well."""
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return int(out.splitlines()[-1])


@contextmanager
def running(kind: str) -> Iterator[Program]:
    environment = os.environ | QUIET | {"PYTHONPATH": PATHS}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.live.remote_programs", kind, str(LONGEST_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.strip(), f"the {kind} program did not start"
        yield Program(process, int(line))
    finally:
        process.kill()
        process.wait()


def marked_steps(folder: str) -> tuple[int, str]:
    steps = stepscope.open(folder).overview_page().steps
    return steps.count, steps.source


@pytest.mark.framework_tf
def test_our_client_records_tensorflow(tmp_path: Path) -> None:
    with running("tensorflow") as program:
        capture = stepscope.client.trace(program.address, str(tmp_path), 800)
    (worker,) = capture.workers
    assert worker.server == "TensorFlow or JAX"
    assert worker.events > 50
    count, source = marked_steps(capture.folder)
    assert count > 5
    assert source == "markers"


@pytest.mark.framework_tf
def test_levels_reach_tensorflow_although_it_drops_them_in_process(tmp_path: Path) -> None:
    with running("tensorflow") as program:
        events = []
        for level in (1, 3):
            options = stepscope.ProfilerOptions(host_tracer_level=level)
            capture = stepscope.client.trace(program.address, str(tmp_path), 800, options=options)
            steps, _ = marked_steps(capture.folder)
            events.append(capture.workers[0].events / steps)
    assert events[1] > 1.5 * events[0]


@pytest.mark.framework_jax
def test_our_client_records_jax(tmp_path: Path) -> None:
    with running("jax") as program:
        capture = stepscope.client.trace(program.address, str(tmp_path), 800)
    assert capture.workers[0].events > 20
    count, source = marked_steps(capture.folder)
    assert count > 5
    assert source == "markers"


@pytest.mark.framework_tf
def test_our_client_records_our_server_and_its_steps(tmp_path: Path) -> None:
    with running("ours") as program:
        capture = stepscope.client.trace(program.address, str(tmp_path), steps=10)
        look = stepscope.client.monitor(program.address, 300)
    (worker,) = capture.workers
    assert "tensorflow" in worker.server
    count, source = marked_steps(capture.folder)
    # The step under way at the start is not whole, nor perhaps the one after the tenth.
    assert 8 <= count <= 14
    assert source == "markers"
    assert " a second" in look


@pytest.mark.framework_tf
@pytest.mark.framework_jax
def test_three_frameworks_are_recorded_into_one_run(tmp_path: Path) -> None:
    with ExitStack() as stack:
        programs = [stack.enter_context(running(kind)) for kind in ("tensorflow", "jax", "ours")]
        addresses = ",".join(program.address for program in programs)
        capture = stepscope.client.trace(addresses + ",127.0.0.1:1", str(tmp_path), 800)
    assert [each.status for each in capture.workers] == ["recorded"] * 3 + ["failed"]
    assert len(stepscope.open(capture.folder).hosts) == 3


@pytest.mark.framework_tf
def test_a_framework_that_records_already_is_said_to_be_busy(tmp_path: Path) -> None:
    begun = threading.Event()

    def report(progress: Sequence[stepscope.client.Progress]) -> None:
        until_s = progress[0].until_s
        if progress[0].phase == "recording" and until_s and until_s - time.monotonic() < 3.5:
            begun.set()

    with running("tensorflow") as program, ThreadPoolExecutor() as pool:
        first = pool.submit(
            stepscope.client.trace, program.address, str(tmp_path / "a"), 4000, report=report
        )
        assert begun.wait(60)
        with pytest.raises(CaptureError) as caught:
            stepscope.client.trace(program.address, str(tmp_path / "b"), 10, num_tracing_attempts=1)
        assert first.result(60).recorded
    assert "already being recorded" in caught.value.why
    assert list((tmp_path / "b").rglob("*.pb")) == []


TF_CLIENT = """
import sys, tensorflow as tf
tf.profiler.experimental.client.trace(sys.argv[1], sys.argv[2], 800, num_tracing_attempts=1)
print(tf.profiler.experimental.client.monitor(sys.argv[1], 200))
"""


@pytest.mark.framework_tf
def test_tensorflows_client_records_our_server(tmp_path: Path) -> None:
    with running("ours") as program:
        done = subprocess.run(
            [sys.executable, "-c", TF_CLIENT, program.address, str(tmp_path)],
            capture_output=True,
            text=True,
            env=os.environ | QUIET,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.rglob("*.xplane.pb")
    assert file.name == f"127.0.0.1_{program.port}.xplane.pb"
    count, source = marked_steps(str(tmp_path))
    assert count > 5
    assert source == "markers"
    assert "steps: " in done.stdout


# Made by `dev.py bench`: xprof must not share an environment with TensorFlow.
XPROFS = sorted((ROOT / ".stepscope" / "bench").glob("xprof-*/bin/python"))

INCUMBENT = """
import sys
from xprof.convert import _pywrap_profiler_plugin as plugin
plugin.trace(sys.argv[1], sys.argv[2], "", True, 800, 1, {"host_tracer_level": 2})
"""
CONVERT = """
import glob, sys
from xprof.convert import raw_to_tool_data
paths = glob.glob(sys.argv[1] + "/**/*.xplane.pb", recursive=True)
data, _ = raw_to_tool_data.xspace_to_tool_data(paths, "overview_page", {})
text = data.decode() if isinstance(data, bytes) else data
print(len(paths), "train" in text or "step" in text)
"""


@pytest.mark.framework_tf
@pytest.mark.incumbent
def test_the_incumbents_capture_records_our_server_and_reads_it(tmp_path: Path) -> None:
    python = next((str(found) for found in XPROFS if found.is_file()), "")
    if not python:
        pytest.skip("no environment with xprof (python dev.py bench makes one)")
    with running("ours") as program:
        for code, arguments in ((INCUMBENT, [program.address, tmp_path]), (CONVERT, [tmp_path])):
            done = subprocess.run(
                [python, "-c", code, *map(str, arguments)],
                capture_output=True,
                text=True,
                timeout=180,
            )
            assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "True"]
    count, source = marked_steps(str(tmp_path))
    assert count > 5
    assert source == "markers"


@pytest.mark.framework_torch
def test_ten_captures_cost_no_loader_worker_its_life(tmp_path: Path) -> None:
    with running("torch") as program:
        for _ in range(10):
            capture = stepscope.client.trace(program.address, str(tmp_path), 500)
            assert capture.workers[0].events > 0
        made = program.end()
    # Eight steps an epoch, and every epoch forks two workers: many forks met a capture.
    assert made > 10 * 8
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 10


SETTING_UP = """
import sys, torch, stepscope
print(stepscope.server.start(0).port, flush=True)
sys.stdin.readline()  # until captures are under way
model = torch.nn.Linear(64, 10)
optimizer = torch.optim.SGD(model.parameters(), 0.1)  # loads 800 modules of PyTorch's compiler
model(torch.randn(8, 64)).sum().backward()
optimizer.step()
print("trained", flush=True)
"""


@pytest.mark.framework_torch
def test_a_capture_while_the_program_sets_up_does_it_no_harm(tmp_path: Path) -> None:
    environment = os.environ | QUIET
    process = subprocess.Popen(
        [sys.executable, "-c", SETTING_UP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    address = f"127.0.0.1:{int(process.stdout.readline())}"
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(process.communicate, "go\n", timeout=120)
        while not ended.done():
            with suppress(CaptureError):  # nothing to record yet, or the program has ended
                stepscope.client.trace(address, str(tmp_path), 100)
        out, _ = ended.result()
    assert out.split() == ["trained"]
    assert process.returncode == 0


LOADS = """
import sys, tempfile, torch, stepscope
with stepscope.Profile(tempfile.mkdtemp()):
    torch.nn.Linear(8, 8)(torch.randn(2, 8)).sum().backward()
print([name for name in sys.modules if name.startswith(("torch._dynamo", "torch._inductor"))])
"""


@pytest.mark.framework_torch
def test_a_recording_does_not_load_pytorchs_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADS], capture_output=True, text=True, env=os.environ | QUIET
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.framework_tf
def test_steps_of_tensorflow_are_timed_by_a_second_of_it(tmp_path: Path) -> None:
    with running("tensorflow") as program:
        request = CaptureRequest(parse_addresses(program.address), str(tmp_path), steps=20)
        capture = Gathering(request, step_time_ms).run()
    # The edges of the window cut two, and steps vary; the pause between them counts.
    count, _ = marked_steps(capture.folder)
    assert 12 <= count <= 60
