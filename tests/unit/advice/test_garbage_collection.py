"""Collections of garbage: what they cost, what sets them off, and when they show no habit."""

from __future__ import annotations

import pytest

from stepscope.advice import RULES
from tests.profiles import space
from tests.profiles.model import Event, EventLike, host, line, plane
from tests.unit.advice.asking import Asked
from tests.unit.advice.test_host_side import asked


def collecting(length_us: float, every: int, *stacks: EventLike) -> Asked:
    """Ten steps of 1 ms; in some of them Python collects garbage."""
    steps = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(10)]
    found = [
        Event("garbage collection, generation 2", 1000.0 * n + 100, length_us)
        for n in range(every // 2, 10, every)
    ]
    garbage = plane("/device:CUSTOM:Garbage collection", line("MainThread", *found, id=7))
    samples = plane("/device:CUSTOM:Python samples", line("MainThread", *stacks, id=7))
    return asked(space(host(line("python", *steps, id=7)), garbage, *([samples] if stacks else [])))


def test_collections_of_garbage_are_named() -> None:
    found = collecting(500, every=1).finding("garbage-collection")
    assert found.saving_ms == pytest.approx(0.8 * 0.5)
    rare = collecting(800, every=5).finding("garbage-collection")
    # In two of the eight steps that the recording does not cut.
    assert rare.saving_high_ms == pytest.approx(0.2)


def test_the_function_that_makes_the_objects_is_told() -> None:
    stacks = [("$/me/train.py:4 main", 0, 10_000), ("$/me/train.py:9 anchors", 0, 9_000)]
    found = collecting(500, 1, *stacks).finding("garbage-collection")
    assert found.place is not None and found.place.function == "anchors"


def test_one_long_collection_among_short_ones_shows_no_habit() -> None:
    steps = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(10)]
    young = [Event("garbage collection, generation 0", 1000.0 * n + 100, 10) for n in range(10)]
    old = Event("garbage collection, generation 2", 4200.0, 700)
    garbage = plane("/device:CUSTOM:Garbage collection", line("MainThread", *young, old))
    found = asked(space(host(line("python", *steps)), garbage)).finding("garbage-collection")
    assert (found.severity, found.confidence) == ("info", 0.4)


def test_short_collections_are_left_in_peace() -> None:
    assert collecting(38, every=1).finding("garbage-collection")
    (_rule,) = (one for one in RULES if one.id == "garbage-collection")
