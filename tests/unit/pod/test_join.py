"""The join in pieces, against its slow twins: whatever numbers and lengths recordings have."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from stepscope.pod import rows as pieces_of
from stepscope.pod.identity import identified
from stepscope.pod.intake import GrowingColumn
from stepscope.pod.meetings import latest_before

SEEDS = range(8)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few rows, so that all have borders."""
    monkeypatch.setattr(pieces_of, "_PIECE", 7)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("longest", [5, 1000, 2**61])
def test_the_row_before_is_the_last_to_end_among_those_that_count(seed: int, longest: int) -> None:
    random = np.random.default_rng(seed)
    unit = np.sort(random.integers(0, 6, 60)).astype(np.int32)
    start = random.integers(0, longest, 60)
    order = np.lexsort((start, unit))
    start, duration = start[order], random.integers(1, max(longest // 4, 3), 60)
    stood = random.random(60) < 0.7
    found = latest_before(unit, start, duration, stood)
    end = start + duration
    for row in range(60):
        before = [
            other
            for other in range(60)
            if unit[other] == unit[row] and stood[other] and end[other] <= start[row]
        ]
        if found[row] < 0:
            assert not before
        else:
            assert found[row] in before
            assert end[found[row]] == max(end[before])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("number", [3, 2**31, 2**62])
def test_a_meeting_is_a_communicator_and_a_number_of_two_members_at_least(
    seed: int, number: int
) -> None:
    random = np.random.default_rng(seed)
    size = 80
    unit = np.sort(random.integers(0, 5, size)).astype(np.int32)
    communicator = random.integers(0, 3, size).astype(np.int32)
    numbers = random.choice([-number, 0, 1, 2, number], size)
    numbered, step = random.random(size) < 0.5, random.integers(-1, 3, size)
    rows = {
        "unit": unit,
        "communicator": communicator,
        "number": numbers,
        "numbered": numbered,
        "step": step,
    }
    found = identified(dict(rows))
    meetings: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in range(size):
        in_step = -2 if numbered[row] else int(step[row])
        meetings[int(communicator[row]), in_step, int(numbers[row])].append(row)
    wanted: list[list[int]] = []
    for key in sorted(meetings):
        here = meetings[key]
        once = [row for row in here if sum(unit[one] == unit[row] for one in here) == 1]
        if len(once) > 1:
            wanted.append(once)
    kept = np.flatnonzero(found.kept)
    assert [kept[found.node == node].tolist() for node in range(len(found.size))] == wanted
    assert found.size.tolist() == [len(one) for one in wanted]
    assert found.communicator.tolist() == [communicator[one[0]] for one in wanted]


def test_a_column_widens_only_when_a_value_needs_it() -> None:
    column = GrowingColumn(np.int32)
    column.append(np.arange(5))
    column.append(np.asarray([2**31 - 1]))
    narrow = GrowingColumn(np.int32)
    narrow.append(np.arange(3))
    assert narrow.take().dtype == np.int32
    column.append(np.asarray([2**40]))
    found = column.take()
    assert found.dtype == np.int64
    assert found.tolist() == [0, 1, 2, 3, 4, 2**31 - 1, 2**40]
    assert len(column.take()) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_of_whole_units_cut_no_unit(seed: int) -> None:
    random = np.random.default_rng(seed)
    unit = np.sort(random.integers(0, 12, 90)).astype(np.int32)
    parts = list(pieces_of.whole_units(unit))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(90))
    for one, other in pairwise(parts):
        assert unit[one.stop - 1] < unit[other.start]
