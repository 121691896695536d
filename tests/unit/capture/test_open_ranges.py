"""Where a PyTorch program is, by its Python frames."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.capture import left_open, open_ranges
from stepscope.capture.left_open import Ledger
from stepscope.capture.open_ranges import NoQuietPlace, at_quiet_place, open_frame, open_object

TORCH = "/some/where/torch/"
PROGRAM = "/home/somebody/train.py"


class RecordFunction:
    """A range as the program opens it."""


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module: Any = ModuleType("torch")
    module.__file__ = TORCH + "__init__.py"
    module.autograd = SimpleNamespace(profiler=SimpleNamespace(record_function=RecordFunction))
    monkeypatch.setitem(sys.modules, "torch", module)
    assert not open_ranges.open_annotations
    yield
    open_ranges.open_annotations.clear()


def innermost(*places: str) -> FrameType:
    """The innermost frame of a call through functions of these files (``file:name``)."""
    calls: list[Any] = []
    for place in places:
        file, _, name = place.rpartition(":")
        names: dict[str, Any] = {}
        text = f"def {name}(calls): return calls[0](calls[1:])"
        exec(compile(text, file, "exec"), names)
        calls.append(names[name])
    calls.append(lambda _: sys._getframe().f_back)
    frame = calls[0](calls[1:])
    assert isinstance(frame, FrameType)
    return frame


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
    assert open_frame(innermost(*places)) == inside


def test_a_range_of_the_programs_is_open_while_its_object_lives() -> None:
    assert open_object() is None
    opened = RecordFunction()
    assert open_object() == "a record_function"
    del opened
    assert open_object() is None


def test_an_annotation_of_ours_is_open_until_it_ends() -> None:
    mark = object()
    open_ranges.open_annotations.add(mark)
    assert open_object() == "an annotation"
    open_ranges.open_annotations.discard(mark)
    assert open_object() is None


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


def test_a_thread_that_waits_is_in_no_op_and_one_that_runs_may_be() -> None:
    begun, end, ended = threading.Event(), threading.Event(), []
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


class TestLeftOpen:
    """Whether a profiler may begin after another one has ended."""

    def test_nothing_ended_nothing_forbids(self) -> None:
        assert Ledger().why_not(is_local=True, seconds=0) is None

    def test_a_trace_without_open_ranges_frees_its_kind(self) -> None:
        ledger = Ledger()
        opened = RecordFunction()
        ended = ledger.end(is_local=True)
        assert ledger.why_not(is_local=True, seconds=0) is not None  # not told yet
        ended.tell(())
        assert ledger.why_not(is_local=True, seconds=0) is None
        del opened

    def test_an_open_range_forbids_its_kind_until_it_was_seen_closed(self) -> None:
        ledger = Ledger()
        opened = RecordFunction()
        ledger.end(is_local=True).tell(("epoch", "train"))
        why = ledger.why_not(is_local=True, seconds=0)
        assert why is not None
        assert "inside epoch, train" in why
        assert "a record_function" in why
        assert ledger.why_not(is_local=False, seconds=0) is None
        del opened
        assert ledger.why_not(is_local=True, seconds=0) is None
        # A range that begins after that is none that the ended profiler knows.
        again = RecordFunction()
        assert ledger.why_not(is_local=True, seconds=0) is None
        del again

    def test_another_thread_has_left_its_op_when_it_is_elsewhere(self) -> None:
        arrived, flags = threading.Event(), []

        def run() -> None:
            arrived.set()
            while not flags:
                pass
            while len(flags) < 2:
                pass

        thread = threading.Thread(target=run)
        thread.start()
        arrived.wait()
        while sys._current_frames()[thread.ident or 0].f_code.co_name != "run":
            pass  # it is in set() still
        ledger = Ledger()
        ledger.end(is_local=False).tell(("aten::mm",))
        try:
            flags.append(1)
            assert ledger.why_not(is_local=False, seconds=20) is None
        finally:
            flags.append(2)
            thread.join()

    def test_the_program_is_watched_beside_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(left_open, "_AGAIN_SECONDS", 0.001)
        ledger = Ledger()
        opened = [RecordFunction()]
        ended = ledger.end(is_local=True)
        ended.tell(("Optimizer.step#SGD.step",))
        ledger.watch()
        assert not ended.is_over
        opened.clear()
        for _ in range(10_000):
            if ended.is_over:
                break
            threading.Event().wait(0.001)
        assert ended.is_over


def test_ours_is_not_the_programs() -> None:
    """The check runs in a frame of ours on top of the program's: it is looked through."""
    assert Path(open_ranges.__file__).parent.name == "capture"
    assert open_frame(sys._getframe()) is None
