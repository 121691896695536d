"""Checks of a written recording: is it complete, does it have what it should?"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from stepscope.capture.file.writer import Writer
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Note, Recorder
from stepscope.capture.runtime import machine
from stepscope.schema import names
from stepscope.wire.read import fields

# Protobuf's limit for one message; TensorBoard and XProf read no larger file.
LARGEST_MESSAGE_BYTES: Final = (1 << 31) - 1

# Share of the time spent recording from which a person should know, and the most ever reported:
# a forecast from the number of events is not exact.
_SLOWED: Final = 0.25
_MOST_SLOWED: Final = 0.9


def verify(
    writer: Writer,
    events: int,
    planes: Iterable[str],
    options: ProfilerOptions,
    has_gpu: Callable[[], bool] = machine.has_gpu,
) -> list[Note]:
    """Notes on the file and on what it lacks.

    Args:
        writer: The recording's file.
        events: Events that were recorded.
        planes: Names of the planes that recorders gave.
        options: What was asked for.
        has_gpu: Whether this machine has one.
    """
    notes = _file_notes(writer)
    if not events:
        text = (
            "The recording has no events: nothing happened meanwhile. Record for longer, or "
            "check that the work runs in this process."
        )
        notes.append(Note("no-events", "warning", text))
    on_device = any(name.startswith((names.GPU_PLANE, names.TPU_PLANE)) for name in planes)
    hosts = any(name.startswith(names.HOST_PLANE) for name in planes)
    if options.device_tracer_level and hosts and events and not on_device and has_gpu():
        text = (
            "This machine has a GPU, but the recording has no GPU event: either nothing ran on it, "
            "or the profiler lacks permission. `stepscope doctor` says why and how to fix it."
        )
        notes.append(Note("no-device-events", "error", text))
    return notes


def slowdown(recorder: Recorder, events: int, recorded_ns: int) -> list[Note]:
    """A note where recording took much of the program's time.

    Args:
        recorder: A recorder; its ``event_ns`` is what one event takes from the program.
        events: Events it gave.
        recorded_ns: How long it recorded.
    """
    event_ns = getattr(recorder, "event_ns", 0)
    share = min(events * event_ns / max(recorded_ns, 1), _MOST_SLOWED)
    if share <= _SLOWED:
        return []
    rate = events * 1e9 / recorded_ns
    text = (
        f"{recorder.name} gave {rate:,.0f} events per second, and recording one takes about "
        f"{event_ns / 1e3:.1f} µs: the program ran up to {1 / (1 - share):.1f} times "
        "slower than without, and short calls look longer than they are. Compare with the time "
        "of a step that is not recorded."
    )
    return [Note("slowed", "warning", text)]


def _file_notes(writer: Writer) -> list[Note]:
    try:
        size = writer.path.stat().st_size
        broken = whole_bytes(writer.path) < size if size else True
    except OSError as error:
        return [Note("not-verified", "error", f"The recording cannot be read back: {error}.")]
    if size != writer.size or broken:
        text = f"The file differs from what was written: it has {size} of {writer.size} bytes."
        return [Note("not-verified", "error", text)]
    if size > LARGEST_MESSAGE_BYTES:
        text = (
            f"The file has {size / 2**30:.1f} GiB. Stepscope opens it; TensorBoard and XProf "
            "read at most 2 GiB. For them, record fewer steps or with a lower host_tracer_level."
        )
        return [Note("larger-than-2gb", "warning", text)]
    return []


def whole_bytes(path: Path) -> int:
    """How much of a file is whole outermost fields, from its begin; all of it unless it is torn.

    Raises:
        OSError: It cannot be read.
    """
    if not path.stat().st_size:
        return 0
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        memoryview(data) as view,
    ):
        end = 0
        try:
            for field in fields(view):
                end = field.end
        except ValueError:
            return end
        return end
