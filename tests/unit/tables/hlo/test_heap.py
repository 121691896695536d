"""The heap of a program, replayed from traces whose answers are known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.hlo.buffers import ALLOC, FREE, SHARE_WITH, BufferPlan, buffer_plan
from stepscope.tables.hlo.heap import MOST_BYTES, Heap, simulate
from stepscope.tables.hlo.module import HloModule, parse_module
from tests.profiles.hlo import f32, instruction, memory_plan, program, shape, tuple_of


def planned(entry: list[Any], memory: Any) -> tuple[HloModule, BufferPlan]:
    module = parse_module(program("f", entry, memory=memory))
    assert module is not None
    plan = buffer_plan(module)
    assert plan is not None
    return module, plan


def replayed(sizes: list[int], events: list[tuple[int, int, int]]) -> Heap:
    entry = [instruction(f"v{n}", "negate", f32(size)) for n, size in enumerate(sizes)]
    buffers = {n: (size * 4, f"v{n}") for n, size in enumerate(sizes)}
    plan = memory_plan(buffers, [{"size": 1, "buffers": list(buffers)}], events)
    return simulate(*planned(entry, plan), 0)


def test_the_peak_is_the_most_in_use_at_once() -> None:
    heap = replayed(
        [10, 20, 5], [(ALLOC, 0, 0), (ALLOC, 1, 0), (FREE, 0, 0), (ALLOC, 2, 0), (FREE, 1, 0)]
    )
    assert heap.heap_bytes == [0, 40, 120, 80, 100, 20]
    assert (heap.peak_bytes, heap.peak_step, heap.peak_buffers) == (120, 2, (0, 1))
    assert heap.spans == {0: (0, 2), 1: (1, 4), 2: (3, 5)}
    assert heap.source == "heap trace"
    assert heap.is_sound


def test_sizes_that_no_memory_has_are_bounded_and_said_to_be_unsound() -> None:
    """Damaged sizes add up to more than 64 bits hold."""
    heap = replayed([1 << 60] * 3, [(ALLOC, at, 0) for at in range(3)])
    assert heap.peak_bytes == MOST_BYTES
    assert not heap.is_sound


def test_shared_memory_is_freed_with_its_last_user() -> None:
    heap = replayed([10, 10], [(ALLOC, 0, 0), (SHARE_WITH, 1, 0), (FREE, 0, 0), (FREE, 1, 0)])
    assert heap.heap_bytes == [0, 40, 40, 40, 0]


@given(st.lists(st.tuples(st.integers(1, 1000), st.booleans()), min_size=1, max_size=30))
def test_replay_equals_adding_up(steps: list[tuple[int, bool]]) -> None:
    events: list[tuple[int, int, int]] = []
    live: list[int] = []
    sizes: list[int] = []
    sums = [0]
    for size, frees in steps:
        if frees and live:
            gone = live.pop(0)
            events.append((FREE, gone, 0))
            sums.append(sums[-1] - sizes[gone] * 4)
        live.append(len(sizes))
        events.append((ALLOC, len(sizes), 0))
        sizes.append(size)
        sums.append(sums[-1] + size * 4)
    heap = replayed(sizes, events)
    assert heap.heap_bytes == sums
    assert heap.peak_bytes == max(sums)
    assert sum(sizes[one] * 4 for one in heap.peak_buffers) == max(sums)


def test_padding_is_told_from_data() -> None:
    entry = [instruction("v", "negate", shape(11, 7, tile=(128,)))]
    plan = memory_plan({1: (512, "v")}, [{"size": 512, "buffers": [1]}], [(ALLOC, 1, 0)])
    heap = simulate(*planned(entry, plan), 0)
    assert (heap.peak_bytes, heap.peak_unpadded_bytes) == (512, 28)


def test_without_a_trace_values_live_from_definition_to_last_use() -> None:
    entry = [
        instruction("p", "parameter", f32(8)),
        instruction("a", "negate", f32(8), "p"),
        instruction("b", "negate", f32(8), "a"),
        instruction("c", "add", f32(8), "b", "b"),
        instruction("d", "negate", f32(8), "c"),
    ]
    plan = memory_plan(
        {n: (32, name) for n, name in enumerate("abc", start=1)},
        [{"size": 64, "buffers": [1, 2, 3]}],
    )
    heap = simulate(*planned(entry, plan), 0)
    assert heap.source == "lifetimes"
    assert heap.peak_bytes == 64
    assert heap.heap_bytes[-1] == 0


class Looked(dict[int, tuple[int, ...]]):
    """Counts how many users were looked at."""

    count = 0

    def get(self, key: int, default: Any = None) -> Any:
        found = super().get(key, default)
        self.count += len(found)
        return found


def users_looked_at(size: int) -> int:
    """For the lifetimes of values that are all read through one tuple, each once."""
    values, whole = [f"a{n}" for n in range(size)], tuple_of(*[f32(8)] * size)
    entry = [
        instruction("p", "parameter", f32(8)),
        *(instruction(one, "negate", f32(8), "p") for one in values),
        instruction("t", "tuple", whole, *values),
        *(instruction(f"g{n}", "get-tuple-element", f32(8), "t") for n in range(size)),
        *(instruction(f"u{n}", "negate", f32(8), f"g{n}") for n in range(size)),
    ]
    buffers = dict(enumerate(((32, one) for one in values), start=1))
    plan = memory_plan(buffers, [{"size": 32 * size, "buffers": list(buffers)}])
    module, planned_ = planned(entry, plan)
    looked = Looked(module.users)
    module.__dict__["users"] = looked
    assert simulate(module, planned_, 0).peak_bytes == 32 * size
    return looked.count


def test_values_in_one_large_tuple_do_not_each_walk_it() -> None:
    assert users_looked_at(80) < 5 * users_looked_at(20)


def test_a_trace_that_frees_too_much_says_so() -> None:
    heap = replayed([10], [(FREE, 0, 0), (ALLOC, 0, 0)])
    assert heap.peak_bytes == pytest.approx(40)
    assert heap.spans == {0: (1, 2)}
