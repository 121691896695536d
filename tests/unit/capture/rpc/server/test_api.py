"""The server as it is: a process beside this one, gRPC between it and a client."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.capture.rpc.client.address import Address
from stepscope.capture.rpc.client.channel import Channel
from stepscope.capture.rpc.protocol.messages import MonitorRequest, ProfileOptions, ProfileRequest
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.capture.rpc.server import api as server
from stepscope.errors import CaptureError, UsageError
from tests.unit.capture.rpc.fake_door import FakeDoor

pytest.importorskip("grpc", reason="grpcio is not installed")

PATIENCE_S = 30.0


def request(ms: int, **more: object) -> ProfileRequest:
    opts = ProfileOptions(version=1, duration_ms=ms)
    return ProfileRequest(opts=opts, emit_xspace=True, **more)  # type: ignore[arg-type]


@pytest.fixture
def door() -> FakeDoor:
    return FakeDoor()


@pytest.fixture
def running(door: FakeDoor) -> Iterator[server.CaptureServer]:
    with server.start(0, door=door) as started:
        yield started


@pytest.fixture
def channel(running: server.CaptureServer) -> Iterator[Channel]:
    made = Channel(Address.parse(running.address))
    yield made
    made.close()


def sidecar_of(running: server.CaptureServer) -> int:
    assert running._bridge is not None
    return running._bridge._process.pid


def is_gone(pid: int) -> bool:
    """Whether a process has ended, within a while; a zombie has."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_port_0_takes_a_free_one_and_tells_it(running: server.CaptureServer) -> None:
    assert running.port > 0
    assert running.address == f"127.0.0.1:{running.port}"
    assert running.alive


def test_a_port_that_is_taken_is_a_clear_error(running: server.CaptureServer) -> None:
    with pytest.raises(CaptureError) as caught:
        server.start(running.port)
    assert caught.value.anchor == "server-port"
    assert str(running.port) in caught.value.where
    assert "port 0" in caught.value.hint


def test_a_port_that_another_program_listens_on_is_a_clear_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CaptureError, match="not available to listen on"):
            server.start(taken.getsockname()[1])


@pytest.mark.parametrize("port", [-1, 65536, "6009", True])
def test_what_is_no_port_is_refused(port: object) -> None:
    with pytest.raises(UsageError):
        server.start(port)  # type: ignore[arg-type]  # on purpose


def test_an_address_of_another_machine_is_a_clear_error() -> None:
    with pytest.raises(CaptureError, match="not available to listen on"):
        server.start(0, host="192.0.2.1")


@pytest.mark.parametrize("megabytes", [1, 5, 100])
def test_recordings_of_any_size_arrive_whole(
    channel: Channel, door: FakeDoor, megabytes: int
) -> None:
    door.xspace = os.urandom(1000) * (1000 * megabytes)
    assert channel.profile(request(1), PATIENCE_S).xspace == door.xspace


def test_nothing_is_left_of_a_recording_that_was_sent(
    channel: Channel, door: FakeDoor, running: server.CaptureServer
) -> None:
    channel.profile(request(1), PATIENCE_S)
    assert running._bridge is not None
    folder = Path(running._bridge._service._folder)
    assert list(folder.rglob("*.pb")) == []
    running.stop()
    assert not folder.exists()


def test_others_are_answered_while_one_records(
    channel: Channel, running: server.CaptureServer
) -> None:
    answers: list[bytes] = []
    ask = threading.Thread(
        target=lambda: answers.append(channel.profile(request(1500), PATIENCE_S).xspace)
    )
    ask.start()
    until = time.monotonic() + PATIENCE_S
    while channel.state(PATIENCE_S)["owner"] != "remote":
        assert time.monotonic() < until
    assert "recording: yes" in channel.monitor(MonitorRequest(10), PATIENCE_S)
    with pytest.raises(CallFailed) as caught:
        channel.profile(request(1), PATIENCE_S)
    assert caught.value.code is Code.ALREADY_EXISTS
    ask.join(PATIENCE_S)
    assert len(answers) == 1


def test_terminate_over_the_wire_ends_a_recording_early(channel: Channel, door: FakeDoor) -> None:
    answers: list[bytes] = []
    asked = request(600_000, session_id="mine")
    ask = threading.Thread(target=lambda: answers.append(channel.profile(asked, PATIENCE_S).xspace))
    ask.start()
    while not door.recording():
        time.sleep(0.01)
    channel.terminate("mine", PATIENCE_S)
    ask.join(PATIENCE_S)
    assert answers == [door.xspace]


def test_a_client_that_gives_up_frees_the_session(channel: Channel, door: FakeDoor) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(CallFailed) as caught:
        channel.profile(request(600_000), PATIENCE_S, stop)
    assert caught.value.code is Code.CANCELLED
    until = time.monotonic() + PATIENCE_S
    while door.recording():
        assert time.monotonic() < until
    assert channel.profile(request(1), PATIENCE_S).xspace == door.xspace


def test_a_stopped_server_is_gone_and_its_port_free(running: server.CaptureServer) -> None:
    pid = sidecar_of(running)
    running.stop()
    running.stop()
    assert not running.alive
    assert is_gone(pid)
    with server.start(running.port, door=FakeDoor()) as again:
        assert again.port == running.port


def test_a_process_beside_that_is_killed_is_told_of_and_costs_nothing_else(
    running: server.CaptureServer, door: FakeDoor, caplog: pytest.LogCaptureFixture
) -> None:
    channel = Channel(Address.parse(running.address))
    failed: list[CallFailed] = []

    def ask() -> None:
        try:
            channel.profile(request(600_000), PATIENCE_S)
        except CallFailed as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not door.recording():
        time.sleep(0.01)
    os.kill(sidecar_of(running), signal.SIGKILL)
    thread.join(PATIENCE_S)
    channel.close()
    assert failed[0].code is Code.UNAVAILABLE
    until = time.monotonic() + PATIENCE_S
    while door.recording() or "has ended" not in caplog.text:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert not running.alive
    with server.start(running.port, door=door) as again:
        assert again.alive


def test_a_bug_in_the_service_is_answered_not_silent(channel: Channel, door: FakeDoor) -> None:
    door.broken = ZeroDivisionError("oops")
    with pytest.raises(CallFailed, match="bug in Stepscope: ZeroDivisionError: oops") as caught:
        channel.profile(request(1), PATIENCE_S)
    assert caught.value.code is Code.INTERNAL


PROGRAM = """
import os, sys, time
from stepscope.capture.rpc.server import api as server
started = server.start(0)
print(started.port, started._bridge._process.pid, flush=True)
exec(sys.argv[1])
"""


def program(then: str) -> tuple[subprocess.Popen[str], int, int]:
    """A program with a server: its process, the port, the sidecar."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, then], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    port, pid = map(int, child.stdout.readline().split())
    return child, port, pid


@pytest.mark.timed
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_process_beside_ends_with_the_program(how: signal.Signals) -> None:
    child, _, pid = program("time.sleep(600)")
    child.send_signal(how)
    child.wait(PATIENCE_S)
    assert is_gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_process_beside_ends_with_a_program_that_just_returns() -> None:
    child, _, pid = program("pass")
    assert child.wait(PATIENCE_S) == 0
    assert is_gone(pid)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_no_part_in_the_server() -> None:
    # The child outlives the program: had it kept the pipe, the process beside would stay too.
    child, port, pid = program("if os.fork() == 0: time.sleep(60); os._exit(0)\ntime.sleep(600)")
    channel = Channel(Address("127.0.0.1", port))
    assert channel.state(PATIENCE_S)["pid"] == child.pid
    channel.close()
    child.kill()
    child.wait(PATIENCE_S)
    assert is_gone(pid)


def test_a_child_may_stop_its_copy_without_harm_to_the_parent() -> None:
    child, port, _ = program(
        "if os.fork() == 0: started.stop(); os._exit(0)\n"
        "os.wait(); print('child ended', flush=True); time.sleep(600)"
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "child ended\n"
    channel = Channel(Address("127.0.0.1", port))
    assert channel.state(PATIENCE_S)["pid"] == child.pid
    channel.close()
    child.kill()
    child.wait(PATIENCE_S)


def test_the_server_process_is_found_whatever_lies_in_the_working_directory(
    tmp_path: Path,
) -> None:
    for name in ("grpc.py", "json.py", "struct.py", "signal.py", "stepscope.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')")
    code = (
        "import sys; sys.path.pop(0)\n"
        "from stepscope.capture.rpc.server import api as server\n"
        "with server.start(0) as s: print(s.alive)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
