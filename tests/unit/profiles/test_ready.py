"""The ready-made profiles say what their docstrings promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.profiles import (
    async_gpu,
    empty,
    hostile_names,
    negative_thread_ids,
    no_events,
    overlapping_streams,
    parse,
    pytorch_like,
    unmarked,
    worked_example,
)

READY = [
    async_gpu,
    hostile_names,
    negative_thread_ids,
    no_events,
    overlapping_streams,
    pytorch_like,
    unmarked,
    worked_example,
]


def spans(plane: Any, line: int) -> dict[str, list[tuple[float, float]]]:
    """``{event name: [(start µs, duration µs)]}`` of one line."""
    found: dict[str, list[tuple[float, float]]] = {}
    for event in plane.lines[line].events:
        name = plane.event_metadata[event.metadata_id].name
        found.setdefault(name, []).append((event.offset_ps / 1e6, event.duration_ps / 1e6))
    return found


@pytest.mark.parametrize("make", READY)
def test_it_is_an_xspace_with_planes(make: Callable[[], bytes]) -> None:
    assert len(parse(make()).planes) >= 1


def test_the_empty_one_is_no_bytes_at_all() -> None:
    assert empty() == b""


def test_the_worked_example_has_eight_steps_and_the_device_only_when_asked() -> None:
    (cpu,) = parse(worked_example()).planes
    assert len(spans(cpu, 0)["train"]) == 8
    assert spans(cpu, 1)["IteratorGetNext"][7] == (7020, 200)
    _, device = parse(worked_example(gpu=True)).planes
    busy = sum(duration for found in spans(device, 0).values() for _, duration in found)
    assert busy == 8 * 180


def test_async_work_runs_in_the_next_host_step() -> None:
    cpu, device = parse(async_gpu()).planes
    steps, kernels = spans(cpu, 0)["train"], spans(device, 0)["async_kernel"]
    assert len(kernels) == len(steps)
    for (begin, _), (start, length) in zip(kernels[:-1], steps[1:], strict=True):
        assert start <= begin < start + length


def test_streams_overlap() -> None:
    _, device = parse(overlapping_streams()).planes
    (compute,), (reduce,) = spans(device, 0).values(), spans(device, 1).values()
    assert compute[0] == (200, 300)
    assert reduce[0] == (300, 300)
