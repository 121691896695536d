"""Checks of a worker before recording: can it be reached, what is it, is it free?"""

from __future__ import annotations

import time
from typing import Any

from stepscope.capture.rpc.client.address import Address
from stepscope.capture.rpc.client.channel import Channel
from stepscope.capture.rpc.protocol.messages import OPTIONS_VERSION, ProfileOptions, ProfileRequest
from stepscope.capture.rpc.protocol.status import CallFailed, Code
from stepscope.capture.rpc.server.session_protocol import said_of
from stepscope.records import dataclass, field

# How a server of TensorFlow and JAX says that somebody records already.
_BUSY_TEXT = "nother profiling session"
_CALL_S = 10.0
# A server may say anything about itself; this much of it is shown.
_MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class Preflight:
    """What is known of a worker before it records.

    Attributes:
        address: The worker.
        problem: Why it cannot record now; "" when it can.
        hint: What to do about that.
        busy: Whether the problem is that somebody records there already.
        server: What answers, in words: ``stepscope 0.1.0`` or ``TensorFlow or JAX``.
        state: What a server of ours says of itself; empty for others.
        clock_ahead_s: How far its wall clock is ahead of ours, as far as the round trip lets us
            know; None where the server does not tell its time.
        round_trip_s: Time of one call; None without an answer.
    """

    address: Address
    problem: str = ""
    hint: str = ""
    busy: bool = False
    server: str = ""
    state: dict[str, Any] = field(default_factory=dict)
    clock_ahead_s: float | None = None
    round_trip_s: float | None = None

    @property
    def ok(self) -> bool:
        """Whether it can record."""
        return not self.problem


def check(channel: Channel, connect_s: float) -> Preflight:
    """Look at one worker; never raises for what the worker does."""
    address = channel.address
    try:
        channel.connect(connect_s)
    except CallFailed as failed:
        return Preflight(
            address,
            f"It cannot be reached: {failed.message}",
            "Is the program running, and is this the port of its profiler server? A server that "
            "listens on 127.0.0.1 is reached from its own machine only: use an SSH tunnel.",
        )
    try:
        return _check_ours(channel)
    except CallFailed as failed:
        if failed.code is not Code.UNIMPLEMENTED:
            return _failed(address, failed)
    return _check_framework(channel)


def is_busy(failed: CallFailed) -> bool:
    """Whether a call failed because somebody records there already."""
    return failed.code is Code.ALREADY_EXISTS or _BUSY_TEXT in failed.message


def _check_ours(channel: Channel) -> Preflight:
    before_ns, began = time.time_ns(), time.monotonic()
    state = channel.state(_CALL_S)
    round_trip_s = time.monotonic() - began
    clock = state.get("time_ns")
    ahead_s = None
    if isinstance(clock, int) and 0 < clock < 1 << 63:
        ahead_s = (clock - before_ns) / 1e9 - round_trip_s / 2
    owner = str(state.get("owner") or "")
    return Preflight(
        channel.address,
        problem=f"It is already being recorded, {said_of(owner)}." if owner else "",
        hint="Try again when that recording has ended." if owner else "",
        busy=bool(owner),
        server=_name_of(state),
        state=state,
        clock_ahead_s=ahead_s,
        round_trip_s=round_trip_s,
    )


def _name_of(state: dict[str, Any]) -> str:
    frameworks = state.get("frameworks")
    named = frameworks.items() if isinstance(frameworks, dict) else ()
    loaded = ", ".join(f"{name} {text}".strip() for name, text in named)
    text = f"stepscope {state.get('version', '')}" + (f" with {loaded}" if loaded else "")
    return text[:_MOST_NAME]


def _check_framework(channel: Channel) -> Preflight:
    """A server that is not ours: a recording of nothing, for a millisecond, says if it is free."""
    request = ProfileRequest(
        opts=ProfileOptions(version=OPTIONS_VERSION, duration_ms=1),
        emit_xspace=True,
        session_id="stepscope-preflight",
    )
    began = time.monotonic()
    try:
        channel.profile(request, _CALL_S)
    except CallFailed as failed:
        return _failed(channel.address, failed)
    return Preflight(
        channel.address,
        server="TensorFlow or JAX",
        round_trip_s=time.monotonic() - began,
    )


def _failed(address: Address, failed: CallFailed) -> Preflight:
    if is_busy(failed):
        return Preflight(
            address,
            "It is already being recorded.",
            "Try again when that recording has ended.",
            busy=True,
            server="TensorFlow or JAX",
        )
    if failed.code is Code.UNIMPLEMENTED:
        return Preflight(
            address,
            "A gRPC server answers, but it is not a profiler server.",
            "Give the port of tf.profiler.experimental.server.start, jax.profiler.start_server or "
            "stepscope.server.start.",
        )
    return Preflight(
        address,
        f"It answers with an error: {failed.code.name}: {failed.message}",
        "The program's own output may say more.",
    )
