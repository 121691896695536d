"""TPU chips whose hardware counters were read: one plane a chip, one line a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stepscope.tables.tpu.counters import Generation, PerfCounter
from tests.profiles.model import Event, Line, Plane, Value, line, plane, u


def counters(generation: Generation) -> list[PerfCounter]:
    """All counters of a generation that Stepscope knows, once."""
    blocks = (
        generation.tensor_core,
        generation.throttle,
        generation.memory,
        generation.sequencer,
        generation.scalar_tiles,
        generation.vector_tiles,
        generation.links,
    )
    found = {
        counter.id: counter
        for block in blocks
        if block
        for name in block.offsets
        for counter in block.counters(name)
    }
    return list(found.values())


def sample(number: int, values: Mapping[PerfCounter, Value]) -> Line:
    """One reading of these counters."""
    events = [
        Event(counter.name, 0, 0, {"performance_counter_id": u(counter.id), "counter_value": value})
        for counter, value in values.items()
    ]
    return line("", *events, id=number)


def chip(device: int, type_: str, samples: Iterable[Line]) -> Plane:
    """A chip with its samples."""
    stats = {"device_id": device, "device_type_string": type_}
    return plane(f"/device:TPU:{device}", *samples, stats=stats, id=device + 1)


def reading_by(
    generation: Generation, value: Callable[[PerfCounter], int | None]
) -> dict[PerfCounter, Value]:
    """What ``value`` says of each counter; None leaves it out."""
    said = {counter: value(counter) for counter in counters(generation)}
    return {counter: u(read) for counter, read in said.items() if read is not None}
