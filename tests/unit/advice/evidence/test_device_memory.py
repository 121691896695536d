"""Which memories have a limit that a program can reach, and how full they are."""

from dataclasses import replace

import pytest

from stepscope.advice.evidence.device_memory import device_memories
from tests.labelled.synthetic import GIB, GOOD
from tests.unit.advice.asking import ask

RESULT = ask(replace(GOOD, heap=(12 * GIB, 16 * GIB, 0.75))).result("memory_profile")


def test_a_memory_at_its_peak() -> None:
    (found,) = device_memories(RESULT)
    assert (found.peak_bytes, found.capacity_bytes) == (12 * GIB, 16 * GIB)
    assert found.free_bytes == 4 * GIB
    assert found.used_frac == pytest.approx(0.75)
    assert found.fragmentation_frac == pytest.approx(0.75)
    assert 1 <= len(found.holders) <= 3
    held = [size for _name, size in found.holders]
    assert held == sorted(held, reverse=True)


def test_the_highest_use_ever_counts_where_the_allocator_remembers_it() -> None:
    first = RESULT.memories[0]
    (found,) = device_memories(
        replace(RESULT, memories=(replace(first, lifetime_peak_bytes=15 * GIB),))
    )
    assert found.peak_bytes == 15 * GIB
    assert found.used_frac == pytest.approx(15 / 16)
    assert found.holders == ()


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("GPU_0_bfc", "GPU_0_bfc"),
        ("0", "the memory of device 0"),
        ("host-1: 3", "host-1: the memory of device 3"),
    ],
)
def test_a_memory_without_a_name_is_that_of_its_device(id_: str, name: str) -> None:
    other = replace(RESULT.memories[0], id=id_)
    assert device_memories(replace(RESULT, memories=(other,)))[0].name == name
