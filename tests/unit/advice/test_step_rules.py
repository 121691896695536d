"""Rules about steps: how grave a wait is, uneven steps, eager ops, gradients, idle devices."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.analysis.overview_page import DeviceShare, OverviewPage, StepRow
from stepscope.analysis.step_account import OpsGrowth, StepAccount
from stepscope.registry import Answer, Rule, Silence
from stepscope.result import Advice, Finding, Table, columns_of
from stepscope.tables.in_steps.recomputed import Recomputed
from stepscope.tables.parts.gradients import NeedlessGradients
from tests.labelled.synthetic import GOOD, WAIT
from tests.profiles.model import Event, EventLike, gpu, host, line, stream
from tests.unit.advice.asking import Asked, ask, opened
from tests.unit.advice.made import (
    account,
    finding,
    host_activity,
    op,
    outcome,
    part,
    told,
    with_calls,
    with_owners,
)

Times = tuple[float | None, float | None, float | None]
Calls = list[tuple[str, float, float]]


def rule_of(rule_id: str) -> Rule:
    return next(rule for rule in RULES if rule.id == rule_id)


# ------------------------------------------------------------------ waits


def launching(launch_us: float) -> OverviewPage:
    """Steps of 100 µs, in each a kernel that ends at 95 µs, however long its launch takes."""
    marks, kernels = [], []
    for step in range(12):
        at, ids = 100.0 * step, {"correlation_id": step}
        marks.append(Event("train", at, 100.0, {"step_num": step, "_r": 1}))
        marks.append(Event("cuLaunchKernel", at + 1, launch_us, ids))
        kernels.append(Event("volta_h884gemm", at + 1 + launch_us, 94 - launch_us, ids))
    asked = opened(host(line("python", *marks)), gpu(0, stream(7, *kernels)))
    found: OverviewPage = asked.result("overview_page")
    return found


@pytest.mark.parametrize(
    ("launch_us", "confidence", "severity"),
    [
        # One of 14 % was "low", and a sum of 4 % "medium".
        (8.0, 0.9, "medium"),
        (20.0, 0.9, "high"),
        # A healthy program's loop was taken for its steps, and 8 % of that was an alarm.
        (8.0, 0.5, "info"),
        (20.0, 0.5, "high"),
    ],
)
def test_a_wait_for_launches_is_as_grave_as_any_of_its_share(
    launch_us: float, confidence: float, severity: str
) -> None:
    page = launching(launch_us)
    page = replace(page, steps=replace(page.steps, confidence=confidence))
    (found,) = advise({"overview_page": page}, [rule_of("launch-bound")]).findings
    assert found.severity == severity


@pytest.mark.parametrize(
    ("input_us", "severity"), [(100.0, "medium"), (200.0, "medium"), (300.0, "high")]
)
def test_a_wait_for_input_is_as_grave_as_any_of_its_share(input_us: float, severity: str) -> None:
    """6, 12 and 17 % of the step: the last was "medium"."""
    found = ask(replace(GOOD, input_us=input_us, wait=WAIT)).finding("input-bound")
    assert found.severity == severity


def uneven(took: list[float], compiled: list[float], grows: str = "host_compute_ms") -> Answer:
    """What is said of steps that take so long, and compile for so long; the rest grows."""
    steps: dict[str, Any] = {name: [0.0] * len(took) for name in columns_of(StepRow)} | {
        "kept": [True] * len(took),
        "step_num": list(range(len(took))),
        "start_ms": np.cumsum(took).tolist(),
        "step_time_ms": took,
        "compilation_ms": compiled,
        grows: [a - b for a, b in zip(took, compiled, strict=True)],
    }
    page = replace(launching(1.0), step_table=Table(StepRow, steps), device=DeviceShare(None, None))
    (found,) = rule_of("uneven-steps").check(Results({"overview_page": page}))
    return found


@pytest.mark.parametrize(
    "took",
    [
        # Each fourth call of an update ends a round with a rollout: 25 % of them are long.
        [0.5, 0.5, 0.5, 30.0] * 6,
        [10.0] * 99 + [21.0],  # 11 of 1,011 ms
    ],
    ids=["rounds", "cheap"],
)
def test_steps_that_are_usual_or_cheap_are_no_exception(took: list[float]) -> None:
    assert isinstance(uneven(took, [0.0] * len(took)), Silence)


def test_one_step_that_compiles_does_not_explain_the_other_slow_steps() -> None:
    """Of 8 slow steps on a busy machine one compiled, and "compilation grows most" was an alarm."""
    found = uneven([10.0] * 20 + [30.0, 30.0, 30.0], [0.0] * 22 + [15.0])
    assert isinstance(found, Finding)
    assert found.severity == "info"
    # What grows is called as the overview calls it.
    device = uneven([10.0] * 20 + [30.0] * 3, [0.0] * 23, "device_compute_16_ms")
    assert isinstance(device, Finding)


# ------------------------------------------------------------------ op by op


def looped(*calls: tuple[str, float, float]) -> Asked:
    """Four steps of 1 ms with the same calls on the loop's thread (µs from the step's begin)."""
    events: list[EventLike] = []
    for step in range(4):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        events += [(name, begin + start, length) for name, start, length in calls]
    return opened(host(line("python", *events)))


def place_of(found: Asked) -> tuple[str, str, int | None] | None:
    place = found.finding("eager-execution").place
    return None if place is None else (place.function, place.file, place.line)


def checks(dispatch_us: float, check_us: float = 600.0) -> Calls:
    """A check in 20 functions that dispatch two ops each, and a compiled step."""
    calls = [("$train.py:12 check", 10.0, check_us), ("PjitFunction(train_step)", 900.0, 20.0)]
    for nth in range(20):
        at = 10 + check_us / 20 * nth
        calls.append((f"$net.py:{nth + 5} layer_{nth}", at, check_us / 20))
        calls.append(("PjitFunction(add)", at + 1, dispatch_us))
        calls.append(("PjitFunction(mul)", at + 15, dispatch_us))
    return calls


def words() -> Calls:
    """A function that dispatches within JAX's own, and a small one that does so by itself."""
    calls = [("$text.py:12 words", 10.0, 880.0), ("$train.py:5 report", 900.0, 80.0)]
    calls.append(("PjitFunction(add)", 910.0, 30.0))
    for nth in range(20):
        at = 10.0 + 44 * nth
        jax = f"$/venv/lib/python3.12/site-packages/jax/_src/op_{nth}.py:{nth + 5} call_{nth}"
        calls.append((jax, at, 44.0))
        calls.append(("PjitFunction(not_equal)", at + 1, 18.0))
        calls.append(("PjitFunction(less)", at + 22, 18.0))
    return calls


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        (checks(13.0), ("check", "train.py", 12)),
        (checks(4.0), None),  # it is mostly Python of its own
        # The model's own forward pass is not to be left out, but it may be compiled.
        (checks(19.0, check_us=880.0), ("check", "train.py", 12)),
        (words(), ("words", "text.py", 12)),
    ],
    ids=["a part of the step", "mostly Python", "nearly all of the step", "below a library"],
)
def test_the_call_below_which_a_step_runs_op_by_op_is_named(
    calls: Calls, place: tuple[str, str, int] | None
) -> None:
    assert place_of(looped(*calls)) == place


def test_ten_functions_that_somebody_compiled_are_no_eager_step() -> None:
    layers = [(f"PjitFunction(layer_{at})", 90.0 * at, 80.0) for at in range(10)]
    looped(*layers).reason("eager-execution", Silence)


def test_what_has_no_steps_is_not_called_a_step() -> None:
    ops = [(f"PjitFunction(op_{place})", 3.0 * place * place, 10.0) for place in range(200)]
    found = opened(host(line("python", *ops)))
    assert found.result("step_account").is_window
    found.finding("eager-execution")


def a_call(function: str, framework_ms: float, above: int = -1, **more: Any) -> dict[str, Any]:
    at = {"function": function, "file": "a.py", "line": 9, "above": above}
    return at | {"framework_ms": framework_ms} | more


VIEWS = a_call("views", 10.0)
SHARED = [
    a_call("main", 16.0, is_loop=True),
    a_call("prepare", 15.0, 0, is_loop=True),
    *(a_call(name, 5.0, 1) for name in ("crop", "jitter", "blur")),
]
LOOP = part(kind="eager", function="view", caller="a.py:7 views", time_ms=8.0)


@pytest.mark.parametrize(
    ("calls", "parts", "function"),
    [
        ([VIEWS], [], "views"),
        # Pictures cut one by one on the host: to compile the call that does so helps little.
        ([VIEWS], [LOOP], ""),
        (SHARED, [], "prepare"),  # their caller in common
        # It has the loop: what hands ops over there is a line of it.
        ([a_call("main", 16.0, caller="train.py:61 <module>")], [], "main"),
        ([], [], ""),
    ],
)
def test_functions_that_hand_ops_over(
    calls: list[dict[str, Any]], parts: list[dict[str, Any]], function: str
) -> None:
    """Of 20 ms steps, 10 in which nothing computes."""
    host = host_activity(eager_ops=100.0, usual_eager_ops=100.0)
    of = with_calls(account(*parts), *calls, step_time_ms=20.0)
    place = finding("eager-execution", host_activity=host, step_account=of).place
    assert (place.function if place else "") == function


# ------------------------------------------------------------------ gradients


def saving(found: Finding) -> Times:
    return found.saving_low_ms, found.saving_ms, found.saving_high_ms


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
    if growth is not None:
        found = finding("growing-steps", step_account=of)
        # 30 more ops in seven steps; the steady rest is what 20 ops leave of whole increments.
        low_ms, high_ms = 10 * (1 - 20 / 35), 10 * (1 - 20 % (30 / 7) / 35)
        assert saving(found) == pytest.approx((low_ms, (low_ms + high_ms) / 2, high_ms))
        assert found.place is not None and found.place.line == 27


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
