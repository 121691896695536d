"""Annotations: nothing when nothing records, everything else when something does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import timeit
import weakref
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import stepscope
from stepscope.capture import tracing
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorders.annotations import AnnotationRecorder
from stepscope.columns import event_stats
from stepscope.columns.space import Space
from stepscope.formats.xspace import decode


@pytest.fixture
def recorder() -> Iterator[AnnotationRecorder]:
    found = AnnotationRecorder()
    found.start(ProfilerOptions())
    tracing.switch(found.annotation())
    yield found
    tracing.switch(None)


def recorded(recorder: AnnotationRecorder) -> Space:
    return decode(recorder.collect().xspace)


def events(space: Space) -> list[tuple[str, dict[str, Any]]]:
    """Name and values of each event, in order of time on each line."""
    return [
        (space.event_metadata.name[row], dict(event_stats(space, number)))
        for number, row in enumerate(space.events.metadata.tolist())
    ]


def test_off_an_annotation_is_one_shared_object_and_costs_next_to_nothing() -> None:
    assert stepscope.Trace("a") is stepscope.Trace("b", step_num=3, _r=1) is stepscope.step()
    scope = {"Trace": stepscope.Trace, "bare": contextlib.nullcontext}
    rounds = [
        [
            timeit.timeit(f"with {form}: pass", globals=scope, number=2_000)
            for form in ("Trace('x')", "Trace('x', step_num=3, _r=1)", "bare()")
        ]
        for _ in range(90)
    ]
    # The cheapest context manager of Python's library, timed in turns with ours.
    plain, numbered, bare = map(min, zip(*rounds, strict=True))
    assert max(plain, numbered) < 0.8 * bare


def test_off_an_exception_goes_through() -> None:
    with pytest.raises(KeyError), stepscope.Trace("x"):
        raise KeyError("of the program")


def test_on_names_values_and_times_are_kept(recorder: AnnotationRecorder) -> None:
    with stepscope.Trace("work", count=3, share=0.5, what="a,b#c=é中", flag=True):
        time.sleep(0.01)
    space = recorded(recorder)
    assert events(space) == [("work", {"count": 3, "share": 0.5, "what": "a,b#c=é中", "flag": 1})]
    assert 10e9 <= space.events.duration_ps[0] < 1e12
    assert abs(space.origin_ns - time.time_ns()) < 10e9


def test_steps_count_themselves_or_are_numbered(recorder: AnnotationRecorder) -> None:
    for _ in range(2):
        with stepscope.step():
            pass
    with stepscope.step(41, "test"):
        pass
    first, second, third = events(recorded(recorder))
    assert first[0] == second[0] == "train"
    assert second[1]["step_num"] == first[1]["step_num"] + 1
    assert third == ("test", {"step_num": 41, "_r": 1})


def test_annotations_nest(recorder: AnnotationRecorder) -> None:
    with stepscope.Trace("outer"), stepscope.Trace("inner"):
        pass
    space = recorded(recorder)
    assert [name for name, _ in events(space)] == ["outer", "inner"]
    assert space.events.duration_ps[0] >= space.events.duration_ps[1]


def test_each_thread_has_its_line(recorder: AnnotationRecorder) -> None:
    def work(number: int) -> None:
        for _ in range(100):
            with stepscope.Trace(f"thread {number}"):
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    space = recorded(recorder)
    # A thread's number may be used again once the thread is gone, so lines may be fewer than four.
    assert len(space.events) == 400
    assert 1 <= len(space.lines) <= 4
    assert {plane.name for plane in space.planes} == {"/host:CPU"}


def test_a_function_is_named_by_itself_or_as_it_is_told(recorder: AnnotationRecorder) -> None:
    @stepscope.annotate
    def plain(value: int) -> int:
        """Doc."""
        return value + 1

    @stepscope.annotate("named", kind="x")
    def named() -> str:
        return "result"

    assert (plain(1), named()) == (2, "result")
    assert plain.__doc__ == "Doc."
    (first, _), (second, values) = events(recorded(recorder))
    assert first.endswith("plain")
    assert (second, values) == ("named", {"kind": "x"})


def test_what_decorates_may_be_entered_too(recorder: AnnotationRecorder) -> None:
    named = stepscope.annotate("named", kind="x")
    with named, named, stepscope.annotate("other"):
        pass
    with pytest.raises(ValueError, match="of the program"), named:
        raise ValueError("of the program")
    with pytest.raises(TypeError, match="needs a name"), stepscope.annotate():
        pass
    found = events(recorded(recorder))
    assert sorted(name for name, _ in found) == ["named", "named", "named", "other"]
    assert ("named", {"kind": "x"}) in found


def test_coroutines_overlap_and_say_so(recorder: AnnotationRecorder) -> None:
    @stepscope.annotate("request")
    async def request(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def both() -> list[float]:
        return list(await asyncio.gather(request(0.02), request(0.03)))

    # On a thread of its own: the browser tests keep a loop running on the main one.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: asyncio.run(both())).result() == [0.02, 0.03]
    space = recorded(recorder)
    assert events(space) == [("request", {"_a": 1})] * 2
    assert space.events.start_ps[1] < space.events.start_ps[0] + space.events.duration_ps[0]


def test_a_generator_is_annotated_turn_by_turn_and_stays_a_generator(
    recorder: AnnotationRecorder,
) -> None:
    @stepscope.annotate("turn")
    def numbers() -> Generator[int, int, str]:
        sent = yield 1
        try:
            yield sent * 10
        except ValueError:
            yield -1
        return "end"

    turns = numbers()
    assert next(turns) == 1
    assert turns.send(4) == 40
    assert turns.throw(ValueError()) == -1
    with pytest.raises(StopIteration) as end:
        next(turns)
    assert end.value.value == "end"
    assert [name for name, _ in events(recorded(recorder))] == ["turn"] * 4


def test_what_begins_while_recording_may_end_after_it(recorder: AnnotationRecorder) -> None:
    open_one = stepscope.Trace("late")
    open_one.__enter__()
    tracing.switch(None)
    open_one.__exit__(None, None, None)
    unbegun = stepscope.Trace("never")
    tracing.switch(recorder.annotation())
    unbegun.__exit__(None, None, None)
    assert [name for name, _ in events(recorded(recorder))] == ["late"]


def test_an_emitter_that_fails_is_no_reason_to_stop_a_program() -> None:
    def broken(name: str, values: object) -> Any:
        raise TypeError("no such value")

    tracing.switch(broken)
    try:
        with stepscope.Trace("x", value=object()):  # type: ignore[arg-type]
            passed = True
    finally:
        tracing.switch(None)
    assert passed


def test_values_of_any_kind_become_numbers_or_text(recorder: AnnotationRecorder) -> None:
    with stepscope.Trace("x", big=1 << 70, nothing=None, shape=(2, 3)):  # type: ignore[arg-type]
        pass
    ((_, values),) = events(recorded(recorder))
    assert values == {"big": str(1 << 70), "nothing": "None", "shape": "(2, 3)"}


def test_what_is_annotated_in_the_middle_of_an_end_waits_for_nobody(
    recorder: AnnotationRecorder,
) -> None:
    """As a signal handler does, or a forked child that has not the thread which was ending one."""
    taken: list[bool] = []

    class Asked(threading.Thread):
        @property
        def name(self) -> str:  # type: ignore[override]  # nobody sets it here
            if self.ident == threading.get_ident():
                other = threading.Thread(target=recorder.collect, daemon=True)
                other.start()
                other.join(10)
                taken.append(not other.is_alive())
            return "asked"

        def run(self) -> None:
            with stepscope.Trace("work"):
                pass

    thread = Asked()
    thread.start()
    thread.join()
    assert taken and all(taken)
    assert [name for name, _ in events(recorded(recorder))] == ["work"]


def test_values_are_told_at_once_and_not_kept_alive(recorder: AnnotationRecorder) -> None:
    class Tensor:
        text = "before"

        def __str__(self) -> str:
            return self.text

    class Untold:
        def __str__(self) -> str:
            raise RuntimeError("half torn down")

    tensor = Tensor()
    with stepscope.Trace("work", loss=tensor, other=Untold()):  # type: ignore[arg-type]
        tensor.text = "after"
    gone = weakref.ref(tensor)
    del tensor
    assert gone() is None
    assert events(recorded(recorder)) == [("work", {"loss": "before", "other": "<Untold>"})]


def test_one_that_is_entered_and_left_on_two_threads_is_recorded(
    recorder: AnnotationRecorder,
) -> None:
    shared = stepscope.annotate("work")
    opener = threading.Thread(target=shared.__enter__)
    opener.start()
    opener.join()
    shared.__exit__(None, None, None)
    assert [name for name, _ in events(recorded(recorder))] == ["work"]


def test_an_end_that_fails_is_not_the_programs_business() -> None:
    def broken() -> None:
        raise RuntimeError("the profiler went away")

    tracing.switch(lambda name, metadata: broken)
    try:
        with stepscope.Trace("work"):
            pass
        with pytest.raises(KeyError), stepscope.Trace("work"):
            raise KeyError("of the program")
    finally:
        tracing.switch(None)


def test_an_asynchronous_generator_is_annotated_turn_by_turn_and_stays_one(
    recorder: AnnotationRecorder,
) -> None:
    closed = []

    @stepscope.annotate("turn")
    async def numbers() -> AsyncGenerator[int, int]:
        try:
            await asyncio.sleep(0.002)
            sent = yield 1
            try:
                yield sent * 10
            except ValueError:
                yield -1
            yield 5
        finally:
            closed.append(True)

    async def use() -> None:
        turns = numbers()
        assert await anext(turns) == 1
        assert await turns.asend(4) == 40
        assert await turns.athrow(ValueError()) == -1
        await turns.aclose()
        assert [one async for one in _two()] == [1, 2]

    @stepscope.annotate
    async def _two() -> AsyncGenerator[int, None]:
        yield 1
        yield 2

    # On a thread of its own: browser tests leave an event loop running on this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(use())).result()
    assert closed == [True]
    found = events(recorded(recorder))
    assert [name for name, _ in found] == ["turn"] * 3 + [
        "test_an_asynchronous_generator_is_annotated_turn_by_turn_and_stays_one.<locals>._two"
    ] * 3
    assert found[0][1].get("_a") == 1
