"""Where a PyTorch program is, by its Python frames."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stepscope.capture.runtime.thread_frames import stacks
from stepscope.capture.torch import open_ranges
from stepscope.capture.torch.open_ranges import (
    NoQuietPlace,
    at_quiet_place,
    holders,
    open_objects,
    place,
)
from tests.unit.capture.torch_double import TORCH, RecordFunction, loaded

PROGRAM = "/home/somebody/train.py"


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from loaded(monkeypatch)


def innermost(*places: str) -> FrameType:
    """The innermost frame of a call through functions of these files (``file:name``)."""
    calls: list[Any] = []
    for one in places:
        file, _, name = one.rpartition(":")
        names: dict[str, Any] = {}
        text = f"def {name}(calls): return calls[0](calls[1:])"
        exec(compile(text, file, "exec"), names)
        calls.append(names[name])
    calls.append(lambda _: sys._getframe().f_back)
    frame = calls[0](calls[1:])
    assert isinstance(frame, FrameType)
    return frame


def stack(frame: FrameType | None) -> list[FrameType]:
    """A frame and its callers."""
    return [] if frame is None else [frame, *stack(frame.f_back)]


BACKWARD = (
    f"{TORCH}_tensor.py:backward",
    f"{TORCH}autograd/__init__.py:backward",
    f"{TORCH}autograd/graph.py:_engine_run_backward",
)


@pytest.mark.parametrize(
    ("places", "inside"),
    [
        ((PROGRAM + ":main",), None),
        ((TORCH + "utils/data/dataloader.py:__next__",), "torch/utils/data/dataloader.py:__next__"),
        # What the program does inside of it is inside, too.
        (
            (TORCH + "optim/optimizer.py:wrapper", PROGRAM + ":closure"),
            "torch/optim/optimizer.py:wrapper",
        ),
        ((TORCH + "nn/modules/module.py:_call_impl", PROGRAM + ":forward"), None),
        ((TORCH + "utils/_contextlib.py:decorate_context", PROGRAM + ":evaluate"), None),
        # A range that C++ opens and calls Python from: a custom function, a dispatch mode.
        (
            (TORCH + "autograd/function.py:apply", PROGRAM + ":forward"),
            "torch/autograd/function.py:apply",
        ),
        ((PROGRAM + ":__torch_dispatch__",), f"{PROGRAM}:__torch_dispatch__"),
        # After backward has returned to its last Python frame nothing is open …
        (BACKWARD, None),
        # … but in a hook it is.
        ((*BACKWARD, PROGRAM + ":hook"), "torch/autograd/graph.py:_engine_run_backward"),
    ],
)
def test_frames_of_torch_that_open_ranges_are_inside(
    places: tuple[str, ...], inside: str | None
) -> None:
    assert next(map(place, holders(stack(innermost(*places)))), None) == inside


def test_a_range_of_the_programs_is_open_while_its_object_lives() -> None:
    assert open_objects() == []
    opened = RecordFunction()
    assert open_objects() == [opened]
    del opened
    assert open_objects() == []


def test_looking_for_ranges_breaks_no_tuple_that_a_thread_is_filling() -> None:
    broken: list[SystemError] = []
    ended = threading.Event()

    def fill() -> None:
        while not ended.is_set():
            try:
                tuple(number for number in range(2000))
            except SystemError as error:
                broken.append(error)

    thread = threading.Thread(target=fill)
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    try:
        thread.start()
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            open_objects()
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(before)
    assert broken == []


def test_a_call_waits_for_a_quiet_place() -> None:
    """The main thread leaves the range while another thread asks for such a place."""
    opened = [RecordFunction()]
    seen: list[int] = []
    done = threading.Event()

    def ask() -> None:
        try:
            at_quiet_place(lambda: seen.append(len(opened)), everywhere=False, seconds=20)
        finally:
            done.set()

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(20):  # it is asked and refused meanwhile
        done.wait(0.005)
    assert not seen
    opened.clear()
    while not done.wait(0.005):
        pass
    thread.join()
    assert seen == [0]


def test_no_quiet_place_says_what_is_open_and_calls_nothing() -> None:
    opened = RecordFunction()
    with pytest.raises(NoQuietPlace, match="a record_function"):
        at_quiet_place(pytest.fail, everywhere=False, seconds=0)
    del opened
    mark = object()
    open_ranges.open_annotations.add(mark)
    with pytest.raises(NoQuietPlace, match="an annotation"):
        at_quiet_place(pytest.fail, everywhere=False, seconds=0)
    open_ranges.open_annotations.discard(mark)
    at_quiet_place(lambda: None, everywhere=False, seconds=0)


def test_a_thread_that_waits_is_in_no_op_and_one_that_runs_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = set(stacks())  # threads that earlier tests have left behind
    others.discard(threading.get_ident())

    def of_this_test() -> dict[int, list[FrameType]]:
        return {thread: frames for thread, frames in stacks().items() if thread not in others}

    monkeypatch.setattr(open_ranges, "stacks", of_this_test)
    begun, end, ended = threading.Event(), threading.Event(), list[bool]()
    waiting = threading.Thread(target=end.wait)
    waiting.start()
    at_quiet_place(lambda: None, everywhere=True, seconds=5)

    def run() -> None:
        begun.set()
        while not ended:
            pass

    running = threading.Thread(target=run)
    running.start()
    begun.wait()
    try:
        with pytest.raises(NoQuietPlace, match="run on another thread"):
            at_quiet_place(pytest.fail, everywhere=True, seconds=0)
        at_quiet_place(lambda: None, everywhere=False, seconds=5)
    finally:
        ended.append(True)
        end.set()
        waiting.join()
        running.join()


def test_ours_is_not_the_programs() -> None:
    """The check runs in a frame of ours on top of the program's: it is looked through."""
    assert Path(open_ranges.__file__).parent.name == "torch"
    assert not holders(stack(sys._getframe()))
