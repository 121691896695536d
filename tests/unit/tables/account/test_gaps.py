"""Which gaps between dispatched ops are their hand-over."""

from __future__ import annotations

import numpy as np

from stepscope.tables.account.waits import between_ops


def found(lengths: list[int], before: list[int], steps: int = 1) -> list[bool]:
    start = np.arange(len(lengths), dtype=np.int64) * 1_000_000
    labels = np.asarray(before, dtype=np.int64)
    end = start + np.asarray(lengths, dtype=np.int64)
    return list(map(bool, between_ops(start, end, labels, labels, steps)))


def test_a_pair_that_python_works_between_every_other_time_is_not_a_hand_over() -> None:
    """``errors += distance(…); total += len(…)``: two ops of a name, Python before one."""
    pair = [4] + [4, 500] * 12
    assert found([4] * 30 + pair, [*range(1, 31), *[0] * 25])[30:] == [one < 500 for one in pair]
