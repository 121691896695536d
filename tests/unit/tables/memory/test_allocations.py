"""Allocator events linked over the whole recording, against a brute-force walk."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.memory.allocations import Allocations, alive_at, allocations, peak_event
from stepscope.tables.memory.breakdown import BEFORE, RECORDED, holdings
from tests.profiles.memory import Heap
from tests.profiles.model import host, line, space


def opened(*heaps: Heap) -> Allocations:
    lines = [line(f"worker/{i}", *heap.events) for i, heap in enumerate(heaps)]
    found = allocations(Host("h", decode(space(host(*lines)))))
    assert found is not None
    return found


def test_a_deallocation_has_the_labels_and_size_of_its_allocation() -> None:
    heap = Heap("GPU_0_bfc")
    heap.take(1, 0x100, 1000, tf_op="a/MatMul", region_type="output", data_type=1, shape="[2,5]")
    heap.give(2, 0x100, say_size=False)
    found = opened(heap)
    assert found.begun_by.tolist() == [-1, 0]
    assert found.allocated_bytes.tolist() == [1024, 1024]
    assert [found.op.of(1), found.data_type.of(1), found.shape.of(1)] == [
        "a/MatMul",
        "float",
        "[2,5]",
    ]
    assert found.region.of(1) == "output"


def test_absent_c_strings_are_no_op() -> None:
    heap = Heap("GPU_0_bfc")
    heap.take(1, 0x100, 8, tf_op="(null)", region_type="(null)")
    found = opened(heap)
    assert (found.op.of(0), found.region.of(0)) == ("", "")


def test_addresses_of_different_memories_do_not_meet() -> None:
    first, second = Heap("GPU_0_bfc"), Heap("GPU_1_bfc")
    first.take(1, 0x100, 8)
    second.give(2, 0x100, size=8)
    found = opened(first, second)
    assert found.begun_by.tolist() == [-1, -1]


def test_devices_stand_for_allocators_without_a_name() -> None:
    tpu = Heap(3, name_stat="index_on_host")
    tpu.take(1, 0x100, 8)
    assert opened(tpu).memories == ["3"]


def test_what_encloses_an_allocation_names_it_when_no_op_does() -> None:
    heap = Heap("GPU_0_bfc")
    heap.take(50, 0x100, 8)
    heap.take(50, 0x200, 8, tf_op="a/Add")
    around = [("PjitFunction(f)", 0, 100), ("Execute", 10, 80), ("Build buffers", 40, 20)]
    found = allocations(Host("h", decode(space(host(line("python", *around, *heap.events))))))
    assert found is not None
    assert [found.context.of(0), found.context.of(1)] == ["PjitFunction(f), Build buffers", ""]


def test_without_allocator_events_there_is_nothing() -> None:
    assert allocations(Host("h", decode(space(host(line("python", ("f", 0, 1))))))) is None


_ACTIONS = st.lists(
    st.tuples(st.booleans(), st.integers(1, 5), st.integers(1, 4000)), min_size=1, max_size=60
)


@given(_ACTIONS, st.integers(0, 100_000))
def test_what_is_alive_equals_a_walk(actions: list[tuple[bool, int, int]], before: int) -> None:
    """Random takes and gives at few addresses, with bytes in use before the recording."""
    heap = Heap("m", in_use=before)
    walk: dict[int, int] = {}
    states: list[dict[int, int]] = []
    for at, (is_take, address, size) in enumerate(actions):
        if is_take and address not in walk:
            heap.take(at, address, size)
            walk[address] = heap.blocks[address]
        elif not is_take and address in walk:
            heap.give(at, address)
            del walk[address]
        else:
            continue
        states.append(dict(walk))
    if not states:
        return
    found = opened(heap)
    for event, state in enumerate(states):
        alive = alive_at(found, 0, event)
        assert sorted(found.allocated_bytes[alive].tolist()) == sorted(state.values())
        held = holdings(found, 0, event)
        assert sum(one.allocated_bytes for one in held) == found.in_use_bytes[event]
        assert sum(one.allocated_bytes for one in held if one.origin == BEFORE) == before
        assert sum(one.blocks or 0 for one in held if one.origin == RECORDED) == len(state)
    peak = peak_event(found, 0)
    assert found.in_use_bytes[peak] == found.in_use_bytes.max()
    assert (found.in_use_bytes[peak + 1 :] < found.in_use_bytes[peak]).all()
    assert np.all(np.diff(found.time_ps) >= 0)


def test_blocks_from_before_the_recording_that_are_freed_in_it_are_told_apart() -> None:
    heap = Heap("m", in_use=10_000)
    heap.take(1, 0x100, 256)
    heap.give(2, 0x999, size=4096)
    found = opened(heap)
    held = {one.op: one for one in holdings(found, 0, 0)}
    freed = held["allocated before the recording, freed later in it"]
    kept = held["allocated before the recording, never freed in it"]
    assert (freed.allocated_bytes, freed.blocks, freed.kept_bytes) == (4096, 1, 0)
    assert (kept.allocated_bytes, kept.kept_bytes) == (10_000 - 4096, 10_000 - 4096)
