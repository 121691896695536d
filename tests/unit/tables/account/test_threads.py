"""Threads beside the loop's: who competes with it for Python's lock, and who holds a lock."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.threads import Rival, lock_holders, rivals
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import Line, Plane, line, plane
from tests.unit.tables.account.drawn import accounted

_MS = 1_000_000
_LIBRARY = "$/usr/lib/python3.11/site-packages"
# A call: its name, when it begins, and how long it takes (µs).
Call = tuple[str, int, int]


def sampled(*threads: Line, planes: tuple[Plane, ...] = ()) -> Host:
    return Host("h", decode(space(*planes, plane(names.PYTHON_SAMPLES_PLANE, *threads))))


def beside(*calls: Call, loop_us: int = 10_000) -> Rival:
    """The only thread beside a loop, which makes these calls."""
    main = line("MainThread", ("$train.py:4 main", 0, loop_us), id=7)
    one = sampled(main, line("feeder", *calls, id=1))
    (rival,) = rivals(one, accounted(one))
    return rival


def feeders(late_ms: float, cpu_ms: float, python_ms: float) -> Rival:
    """Two threads that do the same, each seen at work for 1.5 ms of 10.

    Args:
        late_ms: How late samples are; the promptest are in time.
        cpu_ms: Processor time of each feeder in calls into C,
        python_ms: and in Python code.
    """
    named = [("feeder-1", 1000), ("feeder-2", 5000)]
    stacks = [
        line(name, ("$feed.py:4 run", at, 1500), ("$feed.py:20 parse", at, 1500), id=at)
        for name, at in named
    ]
    ran = [
        line(
            name,
            (names.OUTSIDE_PYTHON, 0, 3000, {names.CPU_NS: int(cpu_ms * _MS)}),
            (names.IN_PYTHON, 3000, 1000, {names.CPU_NS: int(python_ms * _MS)}),
            id=at,
        )
        for name, at in named
    ]
    late = [
        ("late", 1000 * at, 0, {names.COUNTER_VALUE: late_ms if at > 1 else 0.1})
        for at in range(10)
    ]
    main = line("MainThread", ("$train.py:4 main", 0, 10_000), id=7)
    lines = (main, *stacks, line(names.COUNTER_LINE, *late, id=9))
    one = sampled(*lines, planes=(plane(names.PYTHON_THREADS_PLANE, *ran),))
    (rival,) = rivals(one, accounted(one))
    return rival


def test_threads_that_do_the_same_are_one_rival() -> None:
    """Each is at work for 15 % of the time, which alone would be too little."""
    one = feeders(0.1, 0.2, 1.0)
    assert (one.thread, one.count, one.function, one.line) == ("feeder-1", 2, "parse", 20)
    assert one.busy_frac == pytest.approx(0.3)
    # 2 ms of 10 in Python code, each of which holds the lock.
    assert one.loop_waits and not one.takes_turns


@pytest.mark.parametrize(
    ("late_ms", "cpu_ms", "turns"), [(1.5, 1.1, True), (0.1, 1.1, False), (1.5, 0.9, False)]
)
def test_what_computes_in_calls_while_samples_are_late_takes_turns(
    late_ms: float, cpu_ms: float, turns: bool
) -> None:
    """2.2 ms of 10 are enough, 1.8 ms are not; a sample that is in time found the lock free."""
    one = feeders(late_ms, cpu_ms, 0.0)
    assert (one.loop_waits, one.takes_turns) == (False, turns)


@pytest.mark.parametrize(
    ("in_call", "told"), [(1200, "numpy.convolve"), (600, "")], ids=["most", "less than half"]
)
def test_what_a_thread_calls_of_a_library_for_most_of_the_time(in_call: int, told: str) -> None:
    inside = (f"{_LIBRARY}/numpy/_core/numeric.py:720 convolve", 0, in_call)
    one = beside(("$feed.py:4 run", 0, 1500), ("$feed.py:20 parse", 0, 1500), inside, loop_us=2000)
    assert (one.function, one.line, one.call) == ("parse", 20, told)


def test_a_function_that_only_a_lambda_calls_is_where_its_thread_began() -> None:
    """As tf.numpy_function(lambda x: match(x), …) does on tf.data's threads."""
    stack = (
        f"{_LIBRARY}/tensorflow/python/ops/script_ops.py:239 FuncRegistry.__call__",
        "$/home/me/train.py:12 main.<locals>.<lambda>",
        "$/home/me/train.py:12",
        "$/home/me/train.py:20 match",
    )
    one = beside(*((name, 1000, 6000) for name in stack))
    assert (one.function, one.file) == ("match", "/home/me/train.py")


def test_a_thread_that_waits_for_an_answer_is_not_at_work() -> None:
    """Of 6 ms it reads from a socket for 3, in lines of that library, and then parses."""
    library = "$/usr/lib/python3.11/socket.py"
    reads = [(f"{library}:692 SocketIO.readinto", 1000, 3000), (f"{library}:706", 1000, 3000)]
    assert beside(("$/home/me/ask.py:12 ask", 1000, 6000), *reads).busy_frac == pytest.approx(0.3)


def test_what_tf_data_calls_makes_the_input_though_a_library_runs_all_of_it() -> None:
    """Four moments of ten, in a library's function that the program's generator calls."""
    stack = (
        f"{_LIBRARY}/tensorflow/python/ops/script_ops.py:239 FuncRegistry.call",
        "$/home/me/read.py:7 Names.__getitem__",
        f"{_LIBRARY}/keras/src/utils/sequence_utils.py:6 pad_sequences",
    )
    steps = line("main", *(("train", 5000 * at, 5000, {"step_num": at, "_r": 1}) for at in (0, 1)))
    main = line("MainThread", ("$/home/me/read.py:30 main", 0, 10_000), id=steps.id)
    pool = line("pool", *((name, 1000, 4000) for name in stack), id=9)
    one = sampled(main, pool, planes=(plane(names.HOST_PLANE, steps),))
    (maker,) = rivals(one, accounted(one))
    assert (maker.function, maker.makes_input) == ("Names.__getitem__", True)


def test_a_server_of_equal_threads_has_no_rival_among_them() -> None:
    """The thread that was taken for the loop's answers as the others do."""
    calls = (("$serve.py:4 answer", 0, 9000), ("$serve.py:20 look_up", 0, 9000))
    one = sampled(*(line(f"t-{at}", *calls, id=at) for at in (7, 8, 9)))
    assert rivals(one, accounted(one)) == []


def test_a_thread_that_answers_one_request_is_not_the_loop() -> None:
    """It alone runs ops, for 2 of 20 ms; the main thread waits for it and for nine others."""
    ops = line("handler", ("aten/conv2d:conv2d", 4000, 1000), id=9)
    main = line("MainThread", ("$/me/serve.py:4 main", 0, 20_000), id=7)
    answers = [
        line(f"t-{at}", ("$/me/serve.py:9 encode", 2000 * at, 2000), id=9 + at) for at in range(10)
    ]
    one = sampled(main, *answers, planes=(plane(names.HOST_PLANE, ops),))
    made = accounted(one)
    assert made.frames is not None
    (loop,) = {one.space.lines[row].name for row in one.space.lines_of(made.frames.rows)}
    (others,) = rivals(one, made)
    assert (loop, others.function, others.count) == ("MainThread", "encode", 10)


def during(length: int, *stack: str) -> list[Call]:
    return [(name, 0, length) for name in stack]


# A request waits for the lock in the first 8 of 10 ms.
WAITS = [
    *during(10_000, "$serve.py:4 main", "$serve.py:10 handle"),
    *during(8000, "$serve.py:11", names.PYTHON_CALL_MARK + names.LOCK_CALL),
    ("$serve.py:12", 8000, 2000),
]
HOLDS = during(
    6000,
    "$serve.py:4 main",
    "$serve.py:10 handle",
    "$serve.py:14",
    "$serve.py:20 write",
    "$serve.py:21",
    "$time sleep",
)
POLLS = during(10_000, "$serve.py:30 poll", "$serve.py:31", "$time sleep")
COUNTS = during(5000, "$stats.py:4 count", "$stats.py:6")
SLEEPER = ("worker-1", "write", 21, "time.sleep", pytest.approx(6 / 8))


@pytest.mark.parametrize(
    ("others", "holders"),
    [
        ([HOLDS], [SLEEPER]),
        ([HOLDS, POLLS], [SLEEPER]),  # who sleeps elsewhere does not hold it
        ([POLLS], []),
        # The lock may be taken in another function.
        ([COUNTS], [("worker-1", "count", 6, "", pytest.approx(5 / 8))]),
    ],
    ids=["sleeps with it", "beside a poller", "a poller", "in another function"],
)
def test_who_holds_the_lock_that_a_request_waits_for(
    others: list[list[Call]], holders: list[tuple[Any, ...]]
) -> None:
    lines = [line(f"worker-{at}", *calls, id=at + 1) for at, calls in enumerate([WAITS, *others])]
    host = sampled(*lines)
    found = lock_holders(host, accounted(host))
    assert [(one.thread, one.function, one.line, one.call, one.wait_frac) for one in found] == (
        holders
    )
