"""How much larger a batch a memory would hold."""

import pytest

from stepscope.tables.memory.room import batch_room

GIB = 1 << 30


def test_the_room_lies_between_all_of_it_growing_and_only_what_comes_and_goes() -> None:
    # 4 of 16 GiB at the peak, 1 GiB of it weights: 14.4 / 4 and (14.4 - 1) / 3.
    found = batch_room(4 * GIB, 1 * GIB, 16 * GIB)
    assert found is not None
    assert found.at_least == pytest.approx(3.6)
    assert found.at_most == pytest.approx(13.4 / 3)


def test_a_full_memory_holds_less_than_the_batch_it_held() -> None:
    found = batch_room(95, 80, 100)
    assert found is not None
    assert found.at_least == pytest.approx(90 / 95)
    assert found.at_most == pytest.approx(10 / 15)


def test_what_is_not_known_has_no_room() -> None:
    assert batch_room(4, 1, None) is None
    assert batch_room(0, 0, 16) is None
    steady = batch_room(4, 4, 16)
    assert steady is not None and steady.at_most is None
