"""A range has the events that a look at each of them finds, in whatever block they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepscope.columns.space import BLOCK
from stepscope.columns.trim import clipped
from stepscope.formats.xspace import decode
from tests.profiles import host, line, space

# Instants, one a µs; in the first half every fifth lasts 40 µs.
EVENTS = 2 * BLOCK + 100


def is_long(at: Any) -> Any:
    return (at % 5 == 0) & (at < BLOCK - 100)


DATA = space(
    host(line("a", *(("x", float(at), 40.0 if is_long(at) else 0.0) for at in range(EVENTS))))
)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (0, 10),
        (BLOCK - 1, BLOCK),
        (BLOCK - 1, BLOCK + 1),
        (BLOCK, BLOCK + 30),
        (EVENTS - 1, EVENTS + 100),
        (EVENTS + 20, EVENTS + 100),
        (7, 7),
        (0, EVENTS),
    ],
)
def test_events_of_a_range(begin: int, end: int) -> None:
    whole = decode(DATA)
    found = clipped(whole, begin * 10**6, end * 10**6, ())
    start = np.arange(EVENTS)
    stop = start + np.where(is_long(start), 40, 0)
    inside = (start < end) & ((stop > begin) | (start >= begin)) & (begin < end)
    expected = np.maximum(start[inside], begin)
    assert np.array_equal(np.sort(found.events.start_ps), np.sort(expected) * 10**6)
    length = np.minimum(stop[inside], end) - expected
    assert found.length_ps.sum() == length.sum() * 10**6
