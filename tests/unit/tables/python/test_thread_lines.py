"""Which thread's Python is the loop's: that on which the steps are marked."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import Line, host, line, plane
from tests.unit.tables.account.drawn import accounted

STEPS, STEP_US, LOOK_US = 40, 3000, 500
WHOLE_US = STEPS * STEP_US
# What the system and the thread library call the worker, and what C++ makes of the latter.
WORKER, IDENT, HASH = 77, 140253566334656, -7557030108705304379
Event = tuple[Any, ...]


def marks(*, first: int = 0, length_us: int = STEP_US - 100) -> list[Event]:
    """Steps of a server, in the last third of which TensorFlow computes."""
    found: list[Event] = []
    for at in range(first, STEPS):
        begin = at * STEP_US
        found += [
            ("score", begin, length_us, {"step_num": at, "_r": 1}),
            ("EagerKernelExecute", begin + 2 * STEP_US // 3, length_us // 4),
        ]
    return found


def batcher(ident: int = 0) -> list[Event]:
    """Waits for a batch for two thirds of each step, then runs it."""
    said = {names.THREAD_IDENT: ident} if ident else {}
    found: list[Event] = [("$serve.py:20 serve", 0, WHOLE_US, said)]
    for at in range(STEPS):
        begin, third = at * STEP_US, STEP_US // 3
        found += [
            ("$serve.py:22", begin, 2 * third),
            ("$serve.py:9 collect", begin, 2 * third),
            ("$/usr/lib/python3.11/queue.py:154 Queue.get", begin, 2 * third),
            ("$serve.py:24", begin + 2 * third, third),
        ]
    return found


SLEEPS: list[Event] = [
    ("$serve.py:40 main", 0, WHOLE_US),
    ("$serve.py:44", 0, WHOLE_US),
    *(("$time sleep", at, 20_000) for at in range(0, WHOLE_US, 20_000)),
]
# An evaluation beside the server, in rounds of its own.
EVALUATES: list[Event] = [
    ("$serve.py:50 evaluate", 0, WHOLE_US),
    *((f"$serve.py:{51 + at // 700 % 3}", at, 700) for at in range(0, WHOLE_US, 700)),
]
PERIODS = [("late", at, 0) for at in range(0, WHOLE_US, LOOK_US)]


def explained(*host_lines: Line, **threads: list[Event]) -> str:
    """The function of the program that the account has as the outermost."""
    sampled = [line(names.COUNTER_LINE, *PERIODS, id=0)]
    sampled += [
        line("MainThread" if name == "main" else name, *events, id=1 if name == "main" else number)
        for number, (name, events) in enumerate(threads.items(), WORKER)
    ]
    data = space(host(*host_lines), plane(names.PYTHON_SAMPLES_PLANE, *sampled))
    calls = accounted(Host("h", decode(data))).frames
    assert calls is not None
    return calls.names[int(calls.name[calls.own[calls.length_ps.argmax()]])].function


@pytest.mark.parametrize("main", [SLEEPS, EVALUATES], ids=["sleeps", "evaluates"])
@pytest.mark.parametrize(
    ("number", "ident"),
    [(WORKER, 0), (HASH, IDENT)],
    ids=["the system's number", "its hash"],
)
def test_the_thread_that_marks_the_steps_is_explained(
    main: list[Event], number: int, ident: int
) -> None:
    marked = line("python", *marks(), id=number)
    assert explained(marked, worker=batcher(ident), main=main) == "serve"


def test_of_two_threads_that_mark_steps_that_with_most_of_the_time_is_explained() -> None:
    """The trainer of an hour, and an evaluation that began first and marks short steps."""
    trains = line("trainer", *marks(first=1), id=WORKER)
    short = line("python", *marks(length_us=200), id=1)
    assert explained(short, trains, worker=batcher(), main=EVALUATES) == "serve"
    assert explained(trains, short, worker=batcher(), main=EVALUATES) == "serve"


@pytest.mark.parametrize("works_ms", [9, 1], ids=["works", "mostly sleeps between requests"])
def test_a_main_thread_that_sleeps_gives_way_to_the_worker(works_ms: int) -> None:
    at = 1000 * works_ms
    worker = [("$serve.py:9 work", 0, 10_000), ("$serve.py:10", 0, at)]
    worker += [("$serve.py:12", at, 10_000 - at), ("$time sleep", at, 10_000 - at)]
    main = [(name, 0, 10_000) for name in ("$serve.py:4 main", "$serve.py:5", "$time sleep")]
    lines = [line("MainThread", *main, id=1), line("t0", *worker, id=2)]
    one = Host("h", decode(space(plane(names.PYTHON_SAMPLES_PLANE, *lines))))
    calls = accounted(one).frames
    assert calls is not None
    own = [calls.names[int(calls.name[at])].function for at in calls.own.tolist() if at >= 0]
    assert {*own} == {"work"}
