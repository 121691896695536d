"""What to record, how closely, and how much of it at most."""

from __future__ import annotations

import math
from typing import Final

from stepscope.errors import UsageError
from stepscope.records import dataclass

_LIMITS: Final = (
    "max_memory",
    "max_seconds",
    "max_events",
    "max_bytes",
    "chunk_seconds",
    "stop_seconds",
)
#: Recorders of a framework.
FRAMEWORKS: Final = ("tensorflow", "jax", "torch")


@dataclass(frozen=True, slots=True)
class ProfilerOptions:
    """Options of one recording; the first four are those of ``tf.profiler.experimental``.

    Attributes:
        host_tracer_level: Framework events on the host: 0 none, 1 annotations, 2 ops, 3 all.
        python_tracer_level: The framework's own tracer of Python calls: 0 off, 1 on.
        device_tracer_level: GPU and TPU events: 0 off, 1 on.
        delay_ms: Wait this long before recording begins (None: begin now).
        sample_hz: Samples of all threads' Python stacks per second; also garbage collections
            (0: off).
        trace_python: Record every Python call with our tracer (slow: docs/python-tracks.md).
        trace_include: With ``trace_python``: record only files or modules with these prefixes.
        trace_exclude: With ``trace_python``: leave out files or modules with these prefixes.
        trace_min_us: With ``trace_python``: leave out calls shorter than this.
        trace_lines: With ``trace_python``: note the line a call was made from.
        telemetry_hz: Processor, memory, disk, network and GPU counters (0: off).
        memory: Record allocations, enabling the framework's statistics if necessary.
        include_hlo: Keep the compiled programs (HLO) in the recording.
        frameworks: Which to record, of ``("tensorflow", "jax", "torch")`` (None: all loaded).
        price: The most that recording may make the program take, as a multiple of its time (1.2);
            sessions of whole steps alternate with undisturbed steps (None: record every step).
        max_memory: Bytes that recording may need in addition to the program (None: no limit).
        max_seconds, max_events, max_bytes: Budget; recording ends when one is used up.
        chunk_seconds: Write to disk this often (None: only at the end). A kill loses the chunk that
            is recorded and the one that is being written.
        stop_seconds: How long ``stop`` waits for the export before it returns without it.
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None
    sample_hz: float = 100.0
    trace_python: bool = False
    trace_include: tuple[str, ...] = ()
    trace_exclude: tuple[str, ...] = ()
    trace_min_us: float = 0.0
    trace_lines: bool = True
    telemetry_hz: float = 10.0
    memory: bool = True
    include_hlo: bool = True
    frameworks: tuple[str, ...] | None = None
    price: float | None = None
    max_memory: int | None = 1_000_000_000
    max_seconds: float | None = None
    max_events: int | None = None
    max_bytes: int | None = None
    chunk_seconds: float | None = 5.0
    stop_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for invalid values."""
        for name in ("host_tracer_level", "python_tracer_level", "device_tracer_level"):
            _whole(name, getattr(self, name), 0)
        if self.delay_ms is not None:
            _whole("delay_ms", self.delay_ms, 0)
        for name in ("sample_hz", "telemetry_hz", "trace_min_us"):
            _at_least(name, getattr(self, name), 0.0)
        if self.price is not None and not _at_least("price", self.price, 0.0) > 1:
            raise _wrong("price", self.price, "more than 1")
        for name in _LIMITS:
            value = getattr(self, name)
            if value is not None and not (_at_least(name, value, 0.0) > 0):
                raise _wrong(name, value, "more than 0")
        for name in ("trace_include", "trace_exclude"):
            _texts(name, getattr(self, name))
        if self.frameworks is not None:
            known = f"some of {', '.join(map(repr, FRAMEWORKS))} in a tuple"
            if not set(_texts("frameworks", self.frameworks)) <= {*FRAMEWORKS}:
                raise _wrong("frameworks", self.frameworks, known)


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(name, value, f"a whole number from {least}")


def _texts(name: str, value: object) -> tuple[str, ...]:
    # A string is a sequence of strings: each letter would count as a name.
    if not isinstance(value, (tuple, list)) or not all(isinstance(one, str) for one in value):
        raise _wrong(name, value, "a tuple of strings")
    return tuple(value)


def _at_least(name: str, value: object, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise _wrong(name, value, "a number")
    if value < least:
        raise _wrong(name, value, f"at least {least:g}")
    return float(value)


def _wrong(name: str, value: object, wanted: str) -> UsageError:
    return UsageError(
        f"The option {name} cannot be {value!r}.",
        where=f"ProfilerOptions({name}={value!r})",
        why=f"It must be {wanted}.",
        hint="Correct the value, or leave the option out.",
        slug="capture-option",
    )
