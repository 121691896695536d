"""What worker processes do while the loop runs, by their sampled stacks."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.in_steps.loaders import restarts, worker_place
from tests.profiles import space
from tests.profiles.model import Event, line, plane
from tests.profiles.model import host as model_host

# A forked worker has what its parent had called at the bottom of its stack, for all its life.
OF_PARENT = [
    ("$train.py:1 <module>", 0, 4000),
    ("$train.py:40 main", 0, 4000),
    ("$train.py:44", 0, 4000),
    ("$torch/utils/data/dataloader.py:492 DataLoader.__iter__", 0, 4000),
    ("$multiprocessing/popen_fork.py:62 Popen._launch", 0, 4000),
]
BEGINS = [
    ("$multiprocessing/process.py:103 BaseProcess.run", 0, 4000),
    ("$torch/utils/data/_utils/worker.py:244 _worker_loop", 0, 4000),
]
MAKES = [
    ("$train.py:10 Pictures.__getitem__", 0, 3000),
    ("$train.py:12", 0, 1000),
    ("$train.py:13", 1000, 2000),
]
WAITS = [
    ("$multiprocessing/queues.py:98 Queue.get", 3000, 1000),
    ("$selectors.py:402 _PollLikeSelector.select", 3000, 1000),
]
STEPS = [Event("train", 1000.0 * n, 1000, {"step_num": n, "_r": 1}) for n in range(4)]


def recorded(*workers: list[tuple[Any, ...]]) -> Host:
    planes = [
        plane(f"{names.PYTHON_SAMPLES_PLANE} [{at + 70}]", line("MainThread", *one, id=at + 1))
        for at, one in enumerate(workers)
    ]
    return Host("h", decode(space(model_host(line("python", *STEPS)), *planes)))


def test_the_line_that_makes_batches_is_found_above_the_workers_own_loop() -> None:
    found = worker_place(recorded([*OF_PARENT, *BEGINS, *MAKES, *WAITS]))
    assert found is not None
    assert (found.function, found.file, found.line) == ("Pictures.__getitem__", "train.py", 13)
    assert found.processes == 1
    assert found.busy_frac == pytest.approx(0.75)


def test_workers_are_counted_and_their_shares_averaged() -> None:
    one = [*OF_PARENT, *BEGINS, *MAKES, *WAITS]
    makes = [("$train.py:10 Pictures.__getitem__", 0, 1000), ("$train.py:13", 0, 1000)]
    waits = [("$selectors.py:402 _PollLikeSelector.select", 1000, 3000)]
    other = [*OF_PARENT, *BEGINS, *makes, *waits]
    found = worker_place(recorded(one, other))
    assert found is not None
    assert found.processes == 2
    assert found.busy_frac == pytest.approx(0.5)


def test_a_worker_that_takes_anothers_place_is_not_beside_it() -> None:
    """A loader without persistent workers starts others for each epoch."""

    def alive(begin: int) -> list[tuple[Any, ...]]:
        whole = [(name, begin, 2000) for name, _at, _length in (*OF_PARENT, *BEGINS)]
        makes = [("$train.py:10 Pictures.__getitem__", begin, 1500), ("$train.py:13", begin, 1500)]
        waits = ("$selectors.py:402 _PollLikeSelector.select", begin + 1500, 500)
        return [*whole, *makes, waits]

    found = worker_place(recorded(alive(0), alive(2000)))
    assert found is not None
    assert found.processes == 1
    assert found.busy_frac == pytest.approx(0.75)


@pytest.mark.parametrize("stack", [OF_PARENT, [*OF_PARENT, *BEGINS, *WAITS], MAKES])
def test_a_worker_that_waits_and_a_process_that_is_none_have_no_place(
    stack: list[tuple[Any, ...]],
) -> None:
    assert worker_place(recorded(stack)) is None
    assert worker_place(recorded()) is None


def test_what_a_workers_parent_had_called_is_not_called_again() -> None:
    """The loader's iterator was made once, before the loop."""
    assert restarts(recorded([*OF_PARENT, *BEGINS, *MAKES])) is None
