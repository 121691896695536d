"""Causes of parts of the step: which one a part gets, its severity, and what it saves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice.catalogue import causes, effects
from stepscope.analysis.step_account import ShareRow
from stepscope.result import Table
from stepscope.tables.parts.shares import COPIES_ARGUMENT, MADE, ON_EACH_DEVICE
from tests.unit.advice.test_largest_part import account, first, op, part


@pytest.mark.parametrize(
    ("row", "cause", "severity"),
    [
        (part(), "part-python", "high"),
        (part(growth=3.0), "part-growing", "high"),
        (part(kind="library", first="json.dumps", first_kind="library"), "part-known-call", "high"),
        (part(kind="library", first="a.b", first_kind="library"), "part-library", "high"),
        (
            part(kind="library", first="queue.Queue.get", first_kind="library"),
            "part-python-waits",
            "high",
        ),
        (part(kind="input", function=""), "part-input", "high"),
        (part(kind="copy", function=""), "part-copy", "high"),
        (part(kind="launch", function=""), "part-launch", "high"),
        (part(kind="allocation", function=""), "part-allocation", "high"),
        (part(kind="wait", function=""), "part-wait", "high"),
        (part(kind="unrecorded", function=""), "part-unrecorded", "high"),
        (part(kind="eager"), "part-eager", "high"),
        (part(kind="framework", first="f", first_kind="framework"), "part-dispatch", "high"),
        (
            part(kind="framework", first="torch.Tensor.item", first_kind="framework"),
            "part-reading",
            "high",
        ),
        (
            part(kind="framework", first="tensorflow.constant", first_kind="framework"),
            "part-converting",
            "high",
        ),
        (part(kind="function", name="Model.forward", function="Model.forward"), "part-model",
         "info"),
        (part(kind="function"), "part-function", "info"),
        (part(kind="layer"), "part-layer", "info"),
        (part(kind="program"), "part-compiled", "info"),
        (op("MatMul", 5.0), "part-product", "info"),
        (op("MatMul", 5.0, is_apart=True), "part-constant-product", "info"),
        (op("MatMul", 5.0, data_type="f64"), "part-double", "high"),
        (op("MatMul", 5.0, data_type="f16"), "part-float16", "high"),
        (op("MatMul", 5.0, data_type="f16", on_device=True), "part-product", "info"),
        (op("MatMul", 5.0, data_type="bf16"), "part-product", "info"),
        (op("dot_general", 5.0, roles=ON_EACH_DEVICE), "part-replicated", "high"),
        (op("copy", 5.0, roles=COPIES_ARGUMENT), "part-copied-argument", "high"),
        (op("While", 5.0), "part-graph-loop", "info"),
        (op("while", 5.0) | {"op": "TensorListFromTensor"}, "part-graph-loop", "info"),
        (op("while", 5.0) | {"op": "MatMul"}, "part-graph-loop", "info"),
        (op("Sort", 5.0), "part-rare-op", "info"),
        (op("Cast", 5.0), "part-overhead-op", "high"),
        (op("Adam update", 5.0), "part-update", "info"),
        (op("RMSprop update", 5.0), "part-update-unfused", "info"),
        (op("Erf", 5.0), "part-op", "info"),
    ],
)  # fmt: skip
def test_a_part_gets_the_first_cause_that_fits(
    row: dict[str, Any], cause: str, severity: str
) -> None:
    found = first(account(row))
    assert (found.cause, found.severity) == (cause, severity)
    assert found.title
    assert found.assumption == effects()[causes()[cause].effect].assumption
    low, high = found.saving_low_ms, found.saving_high_ms
    assert found.saving_ms is not None and low is not None and high is not None
    assert low <= found.saving_ms <= high


def test_each_cause_of_a_part_has_an_effect_and_a_worth() -> None:
    of_parts = [cause for cause in causes().values() if cause.facts == "part"]
    assert of_parts[-1].id == "part-op"
    for cause in of_parts:
        assert cause.effect in effects()
        assert 0 < cause.worth <= 1 and 0 < cause.expected <= 1 and 0 < cause.confidence < 1


def test_a_part_that_few_steps_have_is_no_alarm() -> None:
    rare = part(every=float("inf"), time_ms=0.8, steps_frac=0.1)
    rare["every"] = 0.5
    assert first(account(rare, op("MatMul", 0.5))).severity == "info"


def test_an_op_that_was_interrupted_in_one_step_does_not_come_first() -> None:
    rare = op("tanh", 4.0, runs=100.0, typical_ms=0.4)
    place = first(account(rare, op("relu", 1.5, runs=100.0))).place
    assert place is not None and place.family == "relu"


def test_who_holds_the_lock_is_the_place_of_a_wait() -> None:
    row = part(kind="library", first="threading.Lock.acquire", first_kind="library")
    holder = {"thread": "saver", "function": "Saver.run", "file": "save.py", "line": 7, "call": ""}
    found = first(account(row, lock_holders=[holder | {"wait_frac": 0.9}]))
    assert found.cause == "part-lock-wait"
    assert found.place is not None and str(found.place) == "Saver.run (save.py:7)"


def test_compilation_in_the_first_of_several_steps_is_no_alarm() -> None:
    row = part(kind="compile", function="", first_step_frac=0.9)
    assert first(account(row)).severity == "info"


@pytest.mark.parametrize(
    ("most", "share", "cause"),
    [
        ("jit(step)/while/body/pure_callback", 0.85, "part-callback"),
        ("jit(step)/while/body/io_callback", 0.85, "part-callback"),
        ("jit(step)/while/body/pure_callback", 0.2, "part-graph-loop"),
        ("jit(step)/while/body/add", 0.85, "part-graph-loop"),
    ],
)
def test_a_loop_that_mostly_calls_python_has_a_remedy_of_its_own(
    most: str, share: float, cause: str
) -> None:
    """Neither vmap nor a scan spares the calls of the interpreter."""
    row = {"part": 0, "role": MADE, "name": most, "share_frac": share}
    nothing = {"function": "", "file": "", "line": None, "op": ""}
    shares = Table(ShareRow, {name: [value] for name, value in (nothing | row).items()})
    assert first(replace(account(op("while", 5.0)), shares=shares)).cause == cause
