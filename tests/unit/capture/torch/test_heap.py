"""When the heap of a program has come to lie in pieces."""

from __future__ import annotations

import pytest

from stepscope.capture.recorders import torch as recorder
from stepscope.capture.runtime import machine
from stepscope.capture.runtime.machine import resident_bytes

MIB = 1 << 20


class Process:
    """What the allocator and the system say of it."""

    free_bytes: int | None = 100 * MIB
    resident_bytes = 1000 * MIB
    asked = 0


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    one = Process()

    def free() -> int | None:
        one.asked += 1
        return one.free_bytes

    monkeypatch.setattr(recorder, "free_bytes", free)
    monkeypatch.setattr(recorder, "resident_bytes", lambda: one.resident_bytes)
    return one


def test_a_heap_in_pieces_has_grown_and_is_free(process: Process) -> None:
    watch = recorder.HeapWatch()
    assert not watch.is_in_pieces()
    process.resident_bytes, process.free_bytes = 1400 * MIB, 450 * MIB
    assert watch.is_in_pieces()


def test_a_program_that_needs_more_memory_has_none_of_it_free(process: Process) -> None:
    watch = recorder.HeapWatch()
    process.resident_bytes = 9000 * MIB
    assert not watch.is_in_pieces()


def test_the_allocator_is_asked_only_where_the_process_grew(process: Process) -> None:
    watch = recorder.HeapWatch()
    for _ in range(10):
        watch.is_in_pieces()
    assert process.asked == 1
    process.resident_bytes += 200 * MIB
    for _ in range(10):
        watch.is_in_pieces()
    assert process.asked == 2


def test_another_allocator_is_never_in_pieces(process: Process) -> None:
    process.free_bytes = None
    watch = recorder.HeapWatch()
    process.resident_bytes *= 10
    assert not watch.is_in_pieces()


def test_this_process_has_memory() -> None:
    free = machine.free_bytes()
    assert free is None or free >= 0
    assert (resident_bytes() or 0) > MIB
