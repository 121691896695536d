"""Threads that run Python beside the loop: seen by samples, and by their processor time."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.threads import Rival, rivals
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import line, plane

_MS = 1_000_000
_FEEDERS = ("feeder-1", "feeder-2")


def found(late_ms: float, cpu_ms: float, python_ms: float, roots: tuple[str, str]) -> list[Rival]:
    """A loop of 10 ms and two feeders, each seen at work for 1.5 ms of it.

    Args:
        late_ms: How late samples are; the promptest are in time.
        cpu_ms: Processor time of each feeder in calls into C,
        python_ms: and in Python code.
        roots: The function that each feeder began in.
    """
    stacks = [
        line(
            name,
            (f"$feed.py:4 {root}", 1000 + 4000 * at, 1500),
            ("$feed.py:20 parse", 1000 + 4000 * at, 1500),
            id=at + 1,
        )
        for at, (name, root) in enumerate(zip(_FEEDERS, roots, strict=True))
    ]
    ran = [
        line(
            name,
            (names.OUTSIDE_PYTHON, 0, 3000, {names.CPU_NS: int(cpu_ms * _MS)}),
            (names.IN_PYTHON, 3000, 1000, {names.CPU_NS: int(python_ms * _MS)}),
            id=at + 1,
        )
        for at, name in enumerate(_FEEDERS)
    ]
    looks = [
        ("late", 1000 * at, 0, {names.COUNTER_VALUE: late_ms if at > 1 else 0.1})
        for at in range(10)
    ]
    one = Host(
        "h",
        decode(
            space(
                plane(
                    names.PYTHON_SAMPLES_PLANE,
                    line("MainThread", ("$train.py:4 main", 0, 10_000), id=7),
                    *stacks,
                    line(names.COUNTER_LINE, *looks, id=9),
                ),
                plane(names.PYTHON_THREADS_PLANE, *ran),
            )
        ),
    )
    made = account(one)
    assert made is not None
    return rivals(one, made)


def test_threads_that_do_the_same_are_one_rival() -> None:
    """Each is at work for 15 % of the time, which alone would be too little."""
    (one,) = found(0.1, 0.2, 1.0, ("run", "run"))
    assert (one.thread, one.count, one.function, one.line) == ("feeder-1", 2, "parse", 20)
    assert one.busy_frac == pytest.approx(0.3)
    # 2 ms of 10 in Python code, each of which holds the lock.
    assert one.loop_waits and not one.takes_turns


@pytest.mark.parametrize(
    ("in_call", "told"), [(1200, "numpy.convolve"), (600, "")], ids=["most", "less than half"]
)
def test_what_a_thread_calls_of_a_library_for_most_of_the_time(in_call: int, told: str) -> None:
    inside = "$/usr/lib/python3/site-packages/numpy/_core/numeric.py:720 convolve"
    calls = (
        ("$feed.py:4 run", 0, 1500),
        ("$feed.py:20 parse", 0, 1500),
        (inside, 0, in_call),
    )
    one = Host(
        "h",
        decode(
            space(
                plane(
                    names.PYTHON_SAMPLES_PLANE,
                    line("MainThread", ("$train.py:4 main", 0, 2000), id=7),
                    line("feeder", *calls, id=1),
                )
            )
        ),
    )
    made = account(one)
    assert made is not None
    (rival,) = rivals(one, made)
    assert (rival.function, rival.line, rival.call) == ("parse", 20, told)


@pytest.mark.parametrize(
    ("late_ms", "cpu_ms", "turns"), [(1.5, 1.1, True), (0.1, 1.1, False), (1.5, 0.9, False)]
)
def test_what_computes_in_calls_while_samples_are_late_takes_turns(
    late_ms: float, cpu_ms: float, turns: bool
) -> None:
    """2.2 ms of 10 are enough, 1.8 ms are not; a sample that is in time found the lock free."""
    (one,) = found(late_ms, cpu_ms, 0.0, ("run", "run"))
    assert not one.loop_waits
    assert one.takes_turns is turns


def test_what_tf_data_calls_makes_the_input_though_a_library_runs_all_of_it() -> None:
    """Four moments of ten, in a library's function that the program's generator calls."""
    stack = (
        "$/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py:239 FuncRegistry.call",
        "$/home/me/read.py:7 Names.__getitem__",
        "$/lib/python3.11/site-packages/keras/src/utils/sequence_utils.py:6 pad_sequences",
    )
    steps = line("main", *(("train", 5000 * at, 5000, {"step_num": at, "_r": 1}) for at in (0, 1)))
    one = Host(
        "h",
        decode(
            space(
                plane(names.HOST_PLANE, steps),
                plane(
                    names.PYTHON_SAMPLES_PLANE,
                    line("MainThread", ("$/home/me/read.py:30 main", 0, 10_000), id=steps.id),
                    line("pool", *((name, 1000, 4000) for name in stack), id=9),
                ),
            )
        ),
    )
    made = account(one)
    assert made is not None
    (maker,) = rivals(one, made)
    assert (maker.function, maker.makes_input) == ("Names.__getitem__", True)


def test_a_function_that_only_a_lambda_calls_is_where_its_thread_began() -> None:
    """As tf.numpy_function(lambda x: match(x), …) does on tf.data's threads."""
    registry = "/venv/lib/python3.13/site-packages/tensorflow/python/ops/script_ops.py"
    one = Host(
        "h",
        decode(
            space(
                plane(
                    names.PYTHON_SAMPLES_PLANE,
                    line("MainThread", ("$train.py:4 main", 0, 10_000), id=7),
                    line(
                        "tf_data",
                        (f"${registry}:239 FuncRegistry.__call__", 1000, 6000),
                        ("$/home/me/train.py:12 main.<locals>.<lambda>", 1000, 6000),
                        ("$/home/me/train.py:12", 1000, 6000),
                        ("$/home/me/train.py:20 match", 1000, 6000),
                        id=1,
                    ),
                )
            )
        ),
    )
    of_loop = account(one)
    assert of_loop is not None
    (rival,) = rivals(one, of_loop)
    assert (rival.function, rival.file) == ("match", "/home/me/train.py")


def test_a_thread_that_waits_for_an_answer_is_not_at_work() -> None:
    """Of 6 ms it reads from a socket for 3, in lines of that library, and then parses."""
    library = "/usr/lib/python3.11/socket.py"
    one = Host(
        "h",
        decode(
            space(
                plane(
                    names.PYTHON_SAMPLES_PLANE,
                    line("MainThread", ("$train.py:4 main", 0, 10_000), id=7),
                    line(
                        "client",
                        ("$/home/me/ask.py:12 ask", 1000, 6000),
                        (f"${library}:692 SocketIO.readinto", 1000, 3000),
                        (f"${library}:706", 1000, 3000),
                        id=1,
                    ),
                )
            )
        ),
    )
    made = account(one)
    assert made is not None
    (asks,) = rivals(one, made)
    assert asks.busy_frac == pytest.approx(0.3)


def test_a_server_of_equal_threads_has_no_rival_among_them() -> None:
    """The thread that was taken for the loop's answers as the others do."""
    stacks = [
        line(name, ("$serve.py:4 answer", 0, 9000), ("$serve.py:20 look_up", 0, 9000), id=at)
        for at, name in enumerate(("t-1", "t-2", "t-3"), start=7)
    ]
    one = Host("h", decode(space(plane(names.PYTHON_SAMPLES_PLANE, *stacks))))
    made = account(one)
    assert made is not None
    assert rivals(one, made) == []


def test_a_thread_that_answers_one_request_is_not_the_loop() -> None:
    """It alone runs ops, for 2 of 20 ms; the main thread waits for it and for nine others."""
    ops = line("handler", ("aten/conv2d:conv2d", 4000, 1000), id=9)
    stacks = (
        line("MainThread", ("$/me/serve.py:4 main", 0, 20_000), id=7),
        *(
            line(f"t-{at}", ("$/me/serve.py:9 encode", 2000 * at, 2000), id=9 + at)
            for at in range(10)
        ),
    )
    one = Host(
        "h", decode(space(plane(names.HOST_PLANE, ops), plane(names.PYTHON_SAMPLES_PLANE, *stacks)))
    )
    made = account(one)
    assert made is not None and made.frames is not None
    (loop,) = {one.space.lines[row].name for row in one.space.lines_of(made.frames.rows)}
    assert loop == "MainThread"
    (others,) = rivals(one, made)
    assert (others.function, others.count) == ("encode", 10)
