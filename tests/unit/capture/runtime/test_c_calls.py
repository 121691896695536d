"""Calls into C that a thread's innermost line makes: named by the program's own words for them."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from time import sleep as nap
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stepscope.capture.runtime.c_calls import CCalls, _calls_of
from stepscope.schema import names

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="instructions have no place in the source before 3.11"
)
TAKEN = threading.Lock()
OWNED = SimpleNamespace(lock=TAKEN)
MANY = np.arange(400_000)
# Stands for PyTorch: what its tensor() is written in, only a module of that name needs to be.
torch: Any = ModuleType("torch")
torch.tensor = torch.rand = sorted


def sleeps(over: threading.Event) -> None:
    while not over.is_set():
        time.sleep(0.05)


def naps(over: threading.Event) -> None:
    while not over.is_set():
        nap(0.05)


def enters(over: threading.Event) -> None:
    with OWNED.lock:
        over.wait()


def acquires(over: threading.Event) -> None:
    OWNED.lock.acquire()
    OWNED.lock.release()


def shuffles(over: threading.Event) -> None:
    while not over.is_set():
        (np.random.shuffle)(MANY)


def sorts(over: threading.Event) -> None:
    while not over.is_set():
        sorted(range(100_000, 0, -1))


def finds(over: threading.Event) -> None:
    listed = list(range(400_000))
    while not over.is_set():
        listed.index(399_999)


def converts(over: threading.Event) -> None:
    while not over.is_set():
        torch.tensor(range(100_000, 0, -1))


def dispatches(over: threading.Event) -> None:
    while not over.is_set():
        torch.rand(range(100_000, 0, -1))


def of_an_object(over: threading.Event) -> None:
    listed = list(range(100_000))
    while not over.is_set():
        listed.reverse()


def of_a_function(over: threading.Event) -> None:
    call = functools.partial(time.sleep, 0.05)
    while not over.is_set():
        call()


def seen(program: Callable[[threading.Event], None]) -> set[str]:
    """What looks at a thread find while it is in a function's own code."""
    over, found, calls = threading.Event(), set[str](), CCalls()
    thread = threading.Thread(target=program, args=(over,), daemon=True)
    with TAKEN:
        thread.start()
        deadline = time.monotonic() + 30
        looks = 0
        while looks < 40 and time.monotonic() < deadline:
            time.sleep(0.002)
            frame = sys._current_frames().get(thread.ident or 0)
            if frame is not None and frame.f_code is program.__code__:
                found.add(calls.name(frame.f_code, frame.f_lasti, __name__))
                looks += 1
            del frame
        over.set()
    thread.join()
    return found - {""}


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (sleeps, "$time sleep"),
        (naps, "$time sleep"),
        (enters, names.PYTHON_CALL_MARK + names.LOCK_CALL),
        (acquires, names.PYTHON_CALL_MARK + names.LOCK_CALL),
        (shuffles, "$numpy.random shuffle"),
        (sorts, "$builtins sorted"),
        (finds, "$<unknown> index"),
        (converts, "$<unknown> torch.tensor"),
    ],
)
def test_a_call_of_a_modules_function_is_named(
    program: Callable[[threading.Event], None], said: str
) -> None:
    assert said in seen(program)


@pytest.mark.parametrize("program", [of_an_object, of_a_function, dispatches])
def test_what_only_the_running_program_knows_is_not_asked_for(
    program: Callable[[threading.Event], None],
) -> None:
    assert seen(program) <= {"$builtins list", "$builtins range"}


def test_a_file_that_has_changed_or_gone_names_nothing() -> None:
    code = compile("import time\ndef f():\n    time.sleep(9)\n", "/nowhere/gone.py", "exec")
    inner = next(one for one in code.co_consts if hasattr(one, "co_code"))
    calls = CCalls()
    assert {calls.name(inner, at, __name__) for at in range(0, len(inner.co_code), 2)} == {""}
    assert calls.name(inner, -1, __name__) == ""


SOURCE = """\
    def step(self, data):
        if (data): return (np.random
            .shuffle)(data, key=lambda x: len(x))  # by (length)
        "ä, b".split(", "); print(f"{max(3, 4)}", [1, 2].index(2))
        (data + self.rest).tolist(); queue.get().put_nowait(None)
        self.rows[3].flush(); return not (yield)(sum(data))
"""


def by_tree(source: str) -> dict[tuple[int, int], tuple[str, ...]]:
    """The same by Python's own parser."""
    found = {}
    for one in ast.walk(ast.parse(textwrap.dedent(source))):
        if isinstance(one, ast.Call):
            parts, at = [], one.func
            while isinstance(at, ast.Attribute):
                parts.append(at.attr)
                at = at.value
            parts.append(at.id if isinstance(at, ast.Name) else "")
            found[one.end_lineno or 0, one.end_col_offset or 0] = tuple(reversed(parts))
    return found


def by_tokens(source: str) -> dict[tuple[int, int], tuple[str, ...]]:
    lines = textwrap.dedent(source).splitlines(keepends=True)
    return {(row, column): chain for row, column, chain in _calls_of(lines)}


def test_calls_go_through_the_names_that_pythons_parser_finds() -> None:
    known, found = by_tree(SOURCE), by_tokens(SOURCE)
    inside = {at for at, chain in known.items() if chain == ("max",)}  # a string, before 3.12
    assert {at: found.get(at) for at in known if at not in inside} == {
        at: chain for at, chain in known.items() if at not in inside
    }


@pytest.mark.parametrize("module", ["argparse", "subprocess", "typing", "threading", "inspect"])
def test_real_modules_have_the_same_calls(module: str) -> None:
    source = Path(importlib.import_module(module).__file__ or "").read_text("utf-8")
    known, found = by_tree(source), by_tokens(source)
    wrong = {at: (chain, found.get(at)) for at, chain in known.items() if found.get(at) != chain}
    # Of calls in strings old Pythons tell no place.
    assert len(wrong) <= 0.05 * len(known), wrong


def test_a_part_of_a_file_is_read_as_far_as_it_goes() -> None:
    assert by_tokens("        f(g(1),\n    h(2)\n  oops") == {(1, 12): ("g",), (2, 6): ("h",)}
    assert by_tokens(")))") == {}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="fixed in CPython")
def test_naming_a_call_breaks_no_tree_that_the_program_makes_meanwhile() -> None:
    """A collection of garbage that runs Python lets another thread in while a tree is made."""
    lines = Path(threading.__file__).read_text("utf-8").splitlines(keepends=True)
    over = threading.Event()

    def names_calls() -> None:
        while not over.is_set():
            list(_calls_of(lines))

    def collected(_phase: str, _info: dict[str, int]) -> None:
        for _ in range(300):
            pass

    thread = threading.Thread(target=names_calls)
    before = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(50, 5, 5)
    try:
        thread.start()
        until = time.monotonic() + 2
        while time.monotonic() < until:
            ast.parse("".join(lines[:200]), mode="exec")
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
        over.set()
        thread.join()
