"""Rules that read the account of a step: gradients, growth, recomputation, what a device awaits."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.analysis.step_account import OpsGrowth, StepAccount
from stepscope.result import Advice, Finding
from stepscope.tables.in_steps.recomputed import Recomputed
from stepscope.tables.parts.gradients import NeedlessGradients
from tests.labelled.synthetic import GOOD
from tests.unit.advice.asking import ask
from tests.unit.advice.made import account, finding, op, outcome, part, told, with_owners

Times = tuple[float | None, float | None, float | None]


def saving(found: Finding) -> Times:
    return found.saving_low_ms, found.saving_ms, found.saving_high_ms


# ------------------------------------------------------------------ gradients

EVALUATE = NeedlessGradients(
    6.0, 40.0, "aten::linear", "evaluate", "train.py", 30, "train.py:50 main", is_all=True
)
# A backward pass ends in 84 parameters, half of which are updated.
TEACHER = replace(EVALUATE, time_ms=3.0, ops=84, updated=42, is_all=False)
BY_TASK = replace(EVALUATE, function="by_task", times=4.0, is_all=False)
NOTE_MS = 40 * 0.06


def needless(**known: Any) -> Advice:
    wanted = ("unused-gradients", "repeated-gradients")
    return told(replace(account(op("conv", 8.0)), **known), wanted=wanted)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        # 40 ops that take 6 ms note a gradient each, in 60 µs; 4,000 of 1.5 µs do little else.
        ({"unused_gradients": EVALUATE}, (0.05 * NOTE_MS, 0.25 * NOTE_MS, 0.6 * NOTE_MS)),
        ({"unused_gradients": replace(EVALUATE, ops=4_000)}, (0.3, 1.5, 3.6)),
        ({"unclaimed_gradients": TEACHER}, (1.2, 2.25, 3.3)),
        ({"repeated_gradients": BY_TASK}, (3.6, 5.4, 6.0 / (6.0 + 0.9 * 4.0) * 10)),
    ],
)
def test_needless_gradients_save_no_more_than_they_cost(
    known: dict[str, NeedlessGradients], expected: Times
) -> None:
    (found,) = needless(**known).findings
    assert saving(found) == pytest.approx(expected)


def test_needless_gradients_are_placed_if_python_was_recorded() -> None:
    (found,) = needless(repeated_gradients=BY_TASK).findings
    assert found.severity == "high" and found.place is not None
    unplaced = replace(BY_TASK, function="", file="", line=None, caller="")
    (found,) = needless(repeated_gradients=unplaced).findings
    assert found.place is None


def test_few_needless_gradients_are_no_finding_and_without_names_nobody_can_tell() -> None:
    """JAX's ops do not say what they are the gradients of."""
    assert not needless(unclaimed_gradients=replace(TEACHER, time_ms=0.9)).findings
    few = needless(repeated_gradients=replace(BY_TASK, time_ms=0.4))
    assert outcome(few, "repeated-gradients") == "silent"
    assert outcome(needless(), "repeated-gradients") == "unknown"


# ------------------------------------------------------------------ recomputed, growing

BACK = "jit(step)/transpose(jvp(net))/checkpoint"
TIMES = {
    "jit(step)/jvp(net)/dot_general": 5.0,
    f"{BACK}/dot_general": 2.0,
    f"{BACK}/rematted_computation/dot_general": 1.5,
    f"{BACK}/rematted_computation/tanh": 0.5,
}


def recomputed(times: dict[str, float], **results: Any) -> Advice:
    """Of a step of 10 ms, 9 of it in a product and 1 in the runtime."""
    product = op("dot_general", 9.0, file="net.py", line=8, is_source=True)
    owners = [
        {"kind": "op", "name": name, "time_ms": time, "family": name.rpartition("/")[2]}
        for name, time in times.items()
    ]
    runtime = {"kind": "runtime", "name": "ThunkExecutor", "time_ms": 1.0}
    of = with_owners(account(product), *owners, runtime)
    wanted = ("recomputed-activations", *(() if results else ("largest-part",)))
    return told(of, wanted=wanted, **results)


def test_it_says_how_much_is_computed_again_before_the_model_itself() -> None:
    first, second = recomputed(TIMES).findings
    assert (first.rule, second.rule) == ("recomputed-activations", "largest-part")
    assert first.place is not None and (first.place.file, first.place.line) == ("net.py", 8)
    # Of the runtime's 1 ms around 9 ms of ops, 2 ms have 2 ninths.
    assert (first.saving_low_ms, first.saving_high_ms) == pytest.approx((0.6, 2.0 + 2 / 9))
    assert first.severity == "info", "the memory may be needed"


def test_of_pytorch_the_account_of_the_host_says_it() -> None:
    """Its ops have the same names, whichever pass they are run for."""
    times = {"aten/mm:mm": 9.0, "aten/add:add": 1.0}
    again = Recomputed(ms=2.0, ops="linear 80%, layer_norm 20%", first="aten/linear:linear")
    (first,) = recomputed(times, host_activity=SimpleNamespace(recomputed=again)).findings
    assert first.rule == "recomputed-activations"
    # Of the runtime's 1 ms around 10 ms of ops, 2 ms have a fifth.
    assert (first.saving_low_ms, first.saving_high_ms) == pytest.approx((0.6, 2.2))
    assert outcome(recomputed(times), "recomputed-activations") == "silent"


@pytest.mark.parametrize(
    ("growth", "steps", "expected"),
    [
        (OpsGrowth(20, 50, 35.0, "aten/mul"), 8, "fired"),
        (None, 8, "silent"),
        (None, 3, "unknown"),  # three steps cannot tell
    ],
)
def test_steps_of_more_and_more_ops_grow(
    growth: OpsGrowth | None, steps: int, expected: str
) -> None:
    of = account(op("mul", 4.0), part(kind="framework", time_ms=5.0))
    at = {"function": "train_on", "file": "train.py", "line": 27}
    owner = {"kind": "op", "name": "aten/mul", "family": "mul", "time_ms": 2.0} | at
    of = with_owners(of, owner, growth=growth, step_count=steps)
    assert outcome(told(of, wanted=("growing-steps",)), "growing-steps") == expected


# ------------------------------------------------------------------ an idle device

IDLE = ask(replace(GOOD, python_us=2_500))
PRODUCTS = part(kind="op", name="matmul", time_ms=5.0, is_launched=True)
NOISE = part(kind="op", name="normal", time_ms=3.0, file="train.py", line=8)


def idle(of: StepAccount, idle_ms: float) -> Finding:
    """What the rule says of a device that idles so long in a step with this account."""
    device = replace(IDLE.result("device_idle"), idle_ms=idle_ms)
    page = IDLE.result("overview_page")
    return finding("idle-device", overview_page=page, device_idle=device, step_account=of)


def test_the_hosts_largest_part_is_what_the_device_waits_for() -> None:
    place = idle(account(PRODUCTS, NOISE), 4.0).place
    assert place is not None
    assert (place.family, place.file, place.line) == ("normal", "train.py", 8)
    assert idle(account(PRODUCTS, NOISE), 7.0).place is None  # much else fills the time


def test_what_the_host_computes_for_the_device_is_named() -> None:
    """A rotary embedding's angles, on the host in each layer: "the device is idle", and no more."""
    at = {"function": "angles", "file": "train.py", "line": 27}
    listed: list[dict[str, Any]] = [
        {"name": "aten/cos", "time_ms": 0.8, **at},
        {"name": "aten/mul", "time_ms": 0.9, **at},
        {"name": "aten/mul and 1 other op", "time_ms": 0.5, "on_device": True},
        {"name": "aten/mm", "time_ms": 0.3},  # what hands it over, on the thread of gradients
        {"name": "aten/mm and 2 other ops", "time_ms": 2.0, "on_device": True},
        {"name": "aten/sum", "time_ms": 0.5, "stretches": 20.0},  # each as short as a launch
        {"name": "aten/sum", "time_ms": 0.1, "on_device": True},
        {"name": "aten/empty", "time_ms": 0.5},
    ]
    owners = [{"kind": "op", "stretches": 2.0} | one for one in listed]
    place = idle(with_owners(account(), *owners, has_device=True), 4.0).place
    assert place is not None and place.function == "angles"
