"""Every Python call as a slice: against a walk of the brackets, and for real."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded
from stepscope.capture.recorders.python_calls import CodeFilter, PythonCalls, pair
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from tests.profiles import parse

BEGIN, END = 0, 1000


def walked(code: list[int], time_: list[int]) -> set[tuple[int, int, int, int]]:
    """(code, start, end, code of the caller or 0) by walking the brackets."""
    stack: list[tuple[int, int]] = []
    done: list[tuple[int, int, int, int]] = []
    for one, moment in zip(code, time_, strict=True):
        if one > 0:
            stack.append((one, moment))
        elif stack:
            began, at = stack.pop()
            done.append((began, at, moment, stack[-1][0] if stack else 0))
        else:
            # It ran at the beginning: whatever was called outermost since was called by it.
            done = [(c, s, e, p or -one) if not p else (c, s, e, p) for c, s, e, p in done]
            done.append((-one, BEGIN, moment, 0))
    for depth, (began, at) in enumerate(stack):
        done.append((began, at, END, stack[depth - 1][0] if depth else 0))
    return set(done)


@given(st.lists(st.integers(0, 2), max_size=40))
def test_begins_and_ends_pair_as_brackets_do(moves: list[int]) -> None:
    """0 and 1 begin a call, 2 ends the innermost: of codes that say when they began."""
    code: list[int] = []
    open_: list[int] = []
    for at, move in enumerate(moves):
        if move < 2:
            open_.append(at + 1)
            code.append(at + 1)
        else:
            code.append(-(open_.pop() if open_ else 500 + at))
    time_ = list(range(10, 10 + len(code)))
    calls = pair(np.asarray(code, dtype=np.int64), np.asarray(time_, dtype=np.int64), BEGIN, END)
    parents = [int(calls.code[row]) if row >= 0 else 0 for row in calls.parent.tolist()]
    found = set(
        zip(
            calls.code.tolist(),
            calls.start_ns.tolist(),
            calls.end_ns.tolist(),
            parents,
            strict=True,
        )
    )
    assert found == walked(code, time_)
    assert calls.open == open_


def leaf(x: int) -> int:
    return x


def loop(n: int) -> int:
    total = 0
    for i in range(n):
        total += leaf(i)
    return total


def numbers(n: int) -> Iterator[int]:
    yield from range(n)


def fails() -> None:
    raise ValueError


def caught() -> None:
    try:
        fails()
    except ValueError:
        leaf(1)


def recorder(**given_: Any) -> PythonCalls:
    made = PythonCalls()
    made.start(ProfilerOptions(trace_python=True, **given_))
    return made


def collected(made: PythonCalls) -> Recorded:
    found = made.collect()
    return found() if callable(found) else found


def calls(data: bytes, thread: str = "MainThread") -> list[dict[str, Any]]:
    """Last part of the name, begin, end and caller's line of each call of a thread."""
    found = []
    lines = [(plane, line) for plane in parse(data).planes for line in plane.lines]
    for plane, line in lines:
        if line.name == thread:
            for event in line.events:
                name = plane.event_metadata[event.metadata_id].name
                begin = line.timestamp_ns * 1000 + event.offset_ps
                stats = [stat.int64_value for stat in event.stats]
                found.append(
                    {
                        "name": name.rpartition(" ")[2].rpartition(".")[2],
                        "begin": begin,
                        "end": begin + event.duration_ps,
                        "line": stats[0] if stats else None,
                    }
                )
    return found


def named(found: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one for one in found if one["name"] == name]


def test_every_call_is_a_slice_inside_its_callers() -> None:
    made = recorder()
    begin = time.time_ns()
    loop(5)
    end = time.time_ns()
    recorded = collected(made)
    found = calls(recorded.xspace)
    (outer,) = named(found, "loop")
    inner = named(found, "leaf")
    assert len(inner) == 5
    assert all(outer["begin"] <= one["begin"] <= one["end"] <= outer["end"] for one in inner)
    slack = 2_000_000_000  # ps; the two clocks are read one after the other
    assert begin * 1000 - slack <= outer["begin"] <= outer["end"] <= end * 1000 + slack
    assert recorded.events == len(found)


def test_a_call_says_the_line_it_was_made_from() -> None:
    made = recorder()
    caught()
    found = calls(collected(made).xspace)
    first = caught.__code__.co_firstlineno
    assert [one["line"] for one in named(found, "fails")] == [first + 2]
    assert [one["line"] for one in named(found, "leaf")] == [first + 4]


def test_a_call_that_raises_ends_there() -> None:
    made = recorder()
    caught()
    found = calls(collected(made).xspace)
    (outer,), (inner,), (after,) = (named(found, name) for name in ("caught", "fails", "leaf"))
    assert outer["begin"] <= inner["begin"] <= inner["end"] <= after["begin"] <= outer["end"]


def test_each_turn_of_a_generator_is_a_call() -> None:
    made = recorder()
    assert sum(numbers(3)) == 3
    assert len(named(calls(collected(made).xspace), "numbers")) == 4


def test_threads_are_told_apart() -> None:
    made = recorder()
    thread = threading.Thread(target=loop, args=(3,), name="worker")
    thread.start()
    thread.join()
    loop(2)
    data = collected(made).xspace
    assert len(named(calls(data, "worker"), "leaf")) == 3
    assert len(named(calls(data), "leaf")) == 2


def test_what_runs_through_a_chunk_is_in_every_chunk() -> None:
    """``outer`` begins before the first cut and ends after the second."""
    chunks = []

    def outer() -> None:
        for _ in range(3):
            leaf(1)
            chunks.append(collected(made))
            made.start(options)

    made, options = PythonCalls(), ProfilerOptions(trace_python=True)
    made.start(options)
    outer()
    chunks.append(collected(made))
    spans = [named(calls(chunk.xspace), "outer") for chunk in chunks]
    assert [len(one) for one in spans] == [1, 1, 1, 1]
    assert all(len(named(calls(chunk.xspace), "leaf")) == 1 for chunk in chunks[:3])
    ends = [one["end"] for (one,) in spans]
    begins = [one["begin"] for (one,) in spans]
    assert all(begin >= end for begin, end in zip(begins[1:], ends[:-1], strict=True))


def test_functions_called_too_often_for_the_price_are_left_to_the_sampler() -> None:
    made, options = PythonCalls(), ProfilerOptions(trace_python=True, price=1.000001)
    made.start(options)
    loop(20_000)
    first = collected(made)
    (note,) = first.notes
    assert note.slug == "calls-sampled" and "leaf (20,000)" in note.message
    assert len(named(calls(first.xspace), "leaf")) == 20_000
    made.start(options)
    loop(500)
    caught()
    second = collected(made)
    made.drop()
    left = {one["name"] for one in calls(second.xspace)}
    # At this price, nothing that was called before is affordable.
    assert not {"leaf", "loop"} & left and "caught" in left


def test_a_muted_function_that_runs_through_the_cut_is_open_no_more() -> None:
    made, options = PythonCalls(), ProfilerOptions(trace_python=True, price=1.000001)
    chunks: list[Recorded] = []

    def often(depth: int) -> None:
        if depth:
            often(depth - 1)
            return
        loop(20_000)
        chunks.append(collected(made))
        made.start(options)

    made.start(options)
    often(300)
    caught()
    chunks.append(collected(made))
    made.drop()
    names_ = [one["name"] for one in calls(chunks[1].xspace)]
    assert not {"leaf", "often"} & {*names_} and "caught" in names_


def test_without_a_price_every_call_is_recorded() -> None:
    made = recorder()
    loop(20_000)
    done = collected(made)
    made.drop()
    assert done.notes == () and len(named(calls(done.xspace), "leaf")) == 20_000


def test_filters_choose_by_file_or_module_and_leave_our_own_code_out() -> None:
    code = leaf.__code__
    assert CodeFilter().admits(code)
    assert CodeFilter(include=(code.co_filename,)).admits(code)
    assert CodeFilter(include=("tests.unit.capture", "torch")).admits(code)
    assert not CodeFilter(include=("torch",)).admits(code)
    assert not CodeFilter(exclude=("tests.unit",)).admits(code)
    assert not CodeFilter(include=("tests",), exclude=("tests/unit/capture",)).admits(code)
    assert not CodeFilter().admits(PythonCalls.collect.__code__)


def test_what_is_filtered_out_is_not_recorded() -> None:
    made = recorder(trace_exclude=("tests.unit",))
    loop(3)
    assert not named(calls(collected(made).xspace), "leaf")


def test_short_calls_can_be_left_out() -> None:
    made = recorder(trace_min_us=5000.0)
    loop(3)
    time.sleep(0.001)
    outer = threading.Thread(target=time.sleep, args=(0.02,))
    outer.start()
    outer.join()
    found = calls(collected(made).xspace)
    assert named(found, "join")
    assert not named(found, "leaf")


def test_without_lines_no_line_is_kept() -> None:
    made = recorder(trace_lines=False)
    loop(2)
    assert {one["line"] for one in calls(collected(made).xspace)} == {None}


def test_nothing_is_recorded_unless_asked_for() -> None:
    made = PythonCalls()
    made.start(ProfilerOptions())
    loop(2)
    assert collected(made).xspace == b""


def test_nothing_is_heard_after_the_end() -> None:
    made = recorder()
    collected(made)
    assert sys.getprofile() is None
    made = recorder()
    made.drop()
    loop(2)
    assert collected(made).events == 0
    assert sys.getprofile() is None


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="its tool ends on any thread")
def test_a_hook_takes_itself_off_when_the_interpreter_has_cleared_its_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from stepscope.capture.call_tracer import setprofile

    made = recorder()
    keeper = threading.Thread(target=made.collect, name=f"{THREAD_PREFIX}keeper")
    keeper.start()
    keeper.join()
    with monkeypatch.context() as ending:
        for name in [name for name in vars(setprofile) if not name.startswith("__")]:
            ending.setattr(setprofile, name, None)
        at = time.monotonic()
        while sys.getprofile() is not None and time.monotonic() < at + 5:
            loop(1)
    assert sys.getprofile() is None


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring has several places")
def test_another_profiler_is_left_alone() -> None:
    def theirs(*_: Any) -> None:
        return None

    sys.setprofile(theirs)
    try:
        with pytest.raises(RuntimeError, match=r"sys\.setprofile already"):
            recorder()
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring has several places")
def test_a_profiler_of_threads_to_come_is_left_alone() -> None:
    def theirs(*_: Any) -> None:
        return None

    threading.setprofile(theirs)
    try:
        with pytest.raises(RuntimeError, match=r"threading\.setprofile already"):
            recorder()
        assert threading.getprofile() is theirs
    finally:
        threading.setprofile(None)
