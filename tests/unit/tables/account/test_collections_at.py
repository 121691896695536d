"""Where Python begins to collect garbage: in the function that makes the objects."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.collections_at import collections_at
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import line, plane


def recorded(thread: int, *, with_stacks: bool = True) -> Host:
    """Two steps of 10 ms: 6 ms of each in ``anchors``, which three of four collections are in."""
    steps = [("train", 10_000 * at, 10_000, {"step_num": at, "_r": 1}) for at in (0, 1)]
    loop = line("main", *steps, id=7)
    stacks = [("$/home/me/train.py:4 main", 0, 20_000)]
    stacks += [("$/home/me/train.py:9 anchors", 10_000 * at, 6000) for at in (0, 1)]
    stacks += [("$/home/me/train.py:12", 10_000 * at, 6000) for at in (0, 1)]
    garbage = [("garbage collection, generation 2", at, 1000) for at in (1000, 3000, 8000, 12_000)]
    sampled = plane(names.PYTHON_SAMPLES_PLANE, line("MainThread", *stacks, id=7))
    return Host(
        "h",
        decode(
            space(
                plane(names.HOST_PLANE, loop),
                *([sampled] if with_stacks else []),
                plane(names.GARBAGE_PLANE, line("MainThread", *garbage, id=7 + thread)),
            )
        ),
    )


def test_the_function_that_is_interrupted_most_is_named_at_its_line() -> None:
    found = collections_at(recorded(0))
    assert found is not None
    site, share = found
    assert (site.function, site.file, site.line) == ("anchors", "/home/me/train.py", 12)
    assert share == pytest.approx(0.75)


def test_collections_of_other_threads_say_nothing_of_the_loop() -> None:
    assert collections_at(recorded(1)) is None


def test_without_stacks_no_function_is_known() -> None:
    assert collections_at(recorded(0, with_stacks=False)) is None
