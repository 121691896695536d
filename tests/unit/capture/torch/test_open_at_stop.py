"""Whether a PyTorch profiler may begin after another one has ended."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepscope.capture.torch import open_at_stop as left_open
from stepscope.capture.torch import open_ranges
from stepscope.capture.torch.open_at_stop import Ended, Ledger
from tests.unit.capture.torch_double import TORCH, RecordFunction, loaded


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from loaded(monkeypatch)


def loader_next(call: Callable[[], Any]) -> Any:
    """A call from within a function of PyTorch's that opens ranges."""
    names: dict[str, Any] = {}
    code = "def __next__(call): return call()"
    exec(compile(code, TORCH + "utils/data/dataloader.py", "exec"), names)
    return names["__next__"](call)


def ended(*names: str, is_local: bool = True) -> tuple[Ledger, Ended]:
    ledger = Ledger()
    one = ledger.end(is_local=is_local)
    one.tell(names)
    return ledger, one


def why_not(ledger: Ledger, *, is_local: bool = True, seconds: float = 0) -> str | None:
    return ledger.why_not(is_local=is_local, seconds=seconds)


def test_nothing_ended_nothing_forbids() -> None:
    assert why_not(Ledger()) is None


def test_a_trace_without_open_ranges_frees_its_kind() -> None:
    opened = RecordFunction()
    ledger = Ledger()
    one = ledger.end(is_local=True)
    assert "inside something" in (why_not(ledger) or "")  # its trace was not looked at yet
    one.tell(())
    assert why_not(ledger) is None
    del opened


def test_a_range_of_the_programs_forbids_its_kind_until_it_ends() -> None:
    opened = RecordFunction()
    ledger, _ = ended("epoch", "train")
    why = why_not(ledger)
    assert why is not None
    assert "ended inside epoch, train" in why
    assert "in a record_function" in why
    assert why_not(ledger, is_local=False) is None
    another = RecordFunction()  # none that the profiler has seen begin
    del opened
    assert why_not(ledger) is None
    del another


def test_an_annotation_of_ours_forbids_until_it_ends() -> None:
    mark, another = object(), object()
    open_ranges.open_annotations.add(mark)
    ledger, _ = ended("epoch")
    open_ranges.open_annotations.add(another)
    assert "in an annotation" in (why_not(ledger) or "")
    open_ranges.open_annotations.discard(mark)
    assert why_not(ledger) is None


def test_a_call_of_pytorchs_forbids_until_it_returns_and_no_other_does() -> None:
    ledger = Ledger()

    def within() -> None:
        ledger.end(is_local=True).tell(("enumerate(DataLoader)",))
        assert "in torch/utils/data/dataloader.py:__next__" in (why_not(ledger) or "")

    loader_next(within)
    assert loader_next(lambda: why_not(ledger)) is None


def run_until(flags: list[int], arrived: threading.Event) -> None:
    arrived.set()
    while not flags:
        pass
    while len(flags) < 2:
        pass


# Without neighbours: xdist's own reader stands still as a thread in an op does.
@pytest.mark.measured
@pytest.mark.framework_torch
def test_another_thread_has_left_its_op_when_it_is_elsewhere() -> None:
    arrived, flags = threading.Event(), list[int]()
    thread = threading.Thread(target=run_until, args=(flags, arrived))
    thread.start()
    arrived.wait()
    while sys._current_frames()[thread.ident or 0].f_code is not run_until.__code__:
        pass  # it is in set() still
    ledger, _ = ended("aten::mm", is_local=False)
    try:
        flags.append(1)
        assert why_not(ledger, is_local=False, seconds=20) is None
    finally:
        flags.append(2)
        thread.join()


def test_the_main_thread_has_left_its_op_when_it_does_something_else_for_us() -> None:
    """It is at the same instruction whenever another thread looks, and has returned from it."""
    answers: list[str | None] = []

    def ask() -> None:
        time.sleep(0.05)  # the main thread is in its op
        ledger, one = ended("aten::mm")
        answers.append(one.inside())
        answers.append(why_not(ledger, seconds=20))

    thread = threading.Thread(target=ask)
    thread.start()
    while len(answers) < 2:
        time.sleep(0.2)  # the op
    thread.join()
    first, second = answers
    assert first is not None
    assert first.endswith(
        ":test_the_main_thread_has_left_its_op_when_it_does_something_else_for_us"
    )
    assert second is None


def test_what_has_ended_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that is kept would keep the batch in its variables."""
    monkeypatch.setattr(left_open, "_PAUSE_SECONDS", 0.001)

    class Batch:
        pass

    ledger = Ledger()

    def train() -> tuple[Ended, weakref.ref[Batch]]:
        batch = Batch()
        one = loader_next(lambda: ledger.end(is_local=True))
        one.tell(("enumerate(DataLoader)",))
        return one, weakref.ref(batch)

    one, batch = train()
    ledger.watch(one)
    for _ in range(10_000):
        gc.collect()
        if batch() is None:
            break
        threading.Event().wait(0.001)
    assert batch() is None
    assert one.inside() is None


def test_at_the_end_of_the_interpreter_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12 refuses threads then, and what PyTorch recorded was lost with the refusal."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    opened = RecordFunction()
    ledger, one = ended("aten::mm")
    assert one.inside()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    ledger.watch(one)
    del opened


def test_to_look_keeps_nobodys_variables_alive() -> None:
    """On another thread, as a capture from outside looks; and on that which asks."""

    class Batch:
        pass

    def look() -> None:
        # As our own code does: the answer is a variable of a frame of ours.
        Ended(is_local=False).inside()

    def program(ask: Callable[[], None]) -> weakref.ref[Batch]:
        batch = Batch()
        ask()
        return weakref.ref(batch)

    def on_another_thread() -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    gc.collect()
    gc.disable()
    try:
        assert program(look)() is None
        assert program(on_another_thread)() is None
    finally:
        gc.enable()
