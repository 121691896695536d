"""The process beside the program: its frames, and what it says when it cannot serve."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.capture.rpc.protocol.frames import FrameWriter, read_frame
from stepscope.capture.rpc.server import bridge, sidecar
from stepscope.errors import CaptureError
from tests.unit.capture.rpc.fake_door import FakeDoor

Pipe = tuple[BinaryIO, BinaryIO]


@pytest.fixture
def pipes() -> Iterator[tuple[Pipe, Pipe]]:
    """Two pipes, each (reader, writer), unbuffered as those of the process."""
    made = [os.pipe(), os.pipe()]
    files = [
        (os.fdopen(reader, "rb", buffering=0), os.fdopen(writer, "wb", buffering=0))
        for reader, writer in made
    ]
    yield files[0], files[1]
    for pair in files:
        for file in pair:
            file.close()


@given(st.lists(st.binary(max_size=300), max_size=4), st.text(max_size=20))
def test_a_frame_arrives_as_it_was_sent(pieces: list[bytes], text: str) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as incoming:
        with os.fdopen(writer, "wb", buffering=0) as outgoing:
            FrameWriter(outgoing).write({"kind": text}, pieces)
        assert read_frame(incoming) == ({"kind": text}, b"".join(pieces))
        assert read_frame(incoming) is None


def test_frames_of_many_threads_do_not_mix(pipes: tuple[Pipe, Pipe]) -> None:
    (incoming, outgoing), _ = pipes
    writer = FrameWriter(outgoing)
    threads = [
        threading.Thread(target=writer.write, args=({"n": n}, [bytes([n]) * 200_000]))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    seen = {}
    for _ in threads:
        frame = read_frame(incoming)
        assert frame is not None
        seen[frame[0]["n"]] = frame[1]
    assert seen == {n: bytes([n]) * 200_000 for n in range(8)}


def test_a_frame_that_is_cut_is_the_end(pipes: tuple[Pipe, Pipe]) -> None:
    (incoming, outgoing), _ = pipes
    outgoing.write(b"\x02\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00{}abc")
    outgoing.close()
    assert read_frame(incoming) is None


def test_without_grpcio_it_says_so(
    pipes: tuple[Pipe, Pipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    (incoming, answers), (requests, _) = pipes
    monkeypatch.setitem(sys.modules, "grpc", None)
    sidecar.serve("127.0.0.1:0", requests, answers)
    frame = read_frame(incoming)
    assert frame is not None
    assert (frame[0]["kind"], frame[0]["why"]) == ("failed", "grpcio")
    error = bridge._not_started("127.0.0.1:0", frame[0], 0)
    assert error.anchor == "capture-extra"
    assert "stepscope[capture]" in error.hint


def test_an_address_that_is_taken_is_told(pipes: tuple[Pipe, Pipe]) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed")
    (incoming, answers), (requests, _) = pipes
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        sidecar.serve(f"127.0.0.1:{taken.getsockname()[1]}", requests, answers)
    frame = read_frame(incoming)
    assert frame is not None
    assert (frame[0]["kind"], frame[0]["why"]) == ("failed", "bind")


def test_a_python_that_does_not_know_itself_cannot_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope.capture.rpc.server import api as server

    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(CaptureError) as caught:
        server.start(0, door=FakeDoor())
    assert caught.value.anchor == "server-process"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_process_is_not_recorded_by_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed")
    from stepscope.capture.rpc.server import api as server

    monkeypatch.setenv("STEPSCOPE_RECORD", '{"logdir": "elsewhere"}')
    with server.start(0, door=FakeDoor()) as started:
        assert started._bridge is not None
        pid = started._bridge._process.pid
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        assert b"PATH=" in environment
        assert b"STEPSCOPE_RECORD" not in environment
