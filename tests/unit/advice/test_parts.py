"""Parts of the step: which cause one gets, how grave it is, where it is, and who else claims it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.catalogue import causes, effects
from stepscope.analysis.overview_page import OverviewPage
from stepscope.analysis.step_account import ShareRow, StepAccount
from stepscope.registry import Silence
from stepscope.result import Finding, Place, Ref, Severity
from stepscope.tables.parts.shares import COPIES_ARGUMENT, MADE, ON_EACH_DEVICE
from tests.labelled.synthetic import GOOD
from tests.unit.advice.asking import ask
from tests.unit.advice.made import (
    account,
    answer,
    call,
    first,
    op,
    outcome,
    part,
    saying,
    table,
    told,
    with_owners,
)

JOIN = "threading.Thread._wait_for_tstate_lock"


def of(kind: str, first: str, **changes: Any) -> dict[str, Any]:
    """A part that is mostly something of the framework's."""
    return part(kind=kind, first=first, first_kind="framework", **changes)


@pytest.mark.parametrize(
    ("row", "cause", "severity"),
    [
        (part(), "part-python", "high"),
        (part(growth=3.0), "part-growing", "high"),
        (call("json.dumps"), "part-known-call", "high"),
        (call("a.b"), "part-library", "high"),
        (call("queue.Queue.get"), "part-python-waits", "high"),
        (part(kind="input", function=""), "part-input", "high"),
        (part(kind="copy", function=""), "part-copy", "high"),
        (part(kind="launch", function=""), "part-launch", "high"),
        (part(kind="allocation", function=""), "part-allocation", "high"),
        (part(kind="wait", function=""), "part-wait", "high"),
        (part(kind="unrecorded", function=""), "part-unrecorded", "high"),
        (part(kind="eager"), "part-eager", "high"),
        (of("framework", "f"), "part-dispatch", "high"),
        (of("framework", "torch.Tensor.item"), "part-reading", "high"),
        (of("framework", "tensorflow.constant"), "part-converting", "high"),
        (part(kind="function", name="Model.forward", function="Model.forward"), "part-op",
         "info"),
        (part(kind="function"), "part-function", "info"),
        (part(kind="layer"), "part-function", "info"),
        (part(kind="program"), "part-compiled", "info"),
        (op("MatMul", 5.0), "part-product", "info"),
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
        (op("RMSprop update", 5.0), "part-update", "info"),
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


@pytest.mark.parametrize(
    ("emulated", "cause"), [("bfloat16, float16", "part-float16"), ("float16", "part-product")]
)
def test_products_in_a_type_that_pytorch_emulates_here_are_told(emulated: str, cause: str) -> None:
    page = ask(GOOD).result("overview_page")
    assert isinstance(page, OverviewPage)
    environment = replace(page.environment, settings={"torch_emulates": emulated})
    advice = told(
        account(op("MatMul", 5.0, data_type="bf16")),
        overview_page=replace(page, environment=environment),
    )
    assert advice.findings[0].cause == cause


READS = part(kind="framework", first="np.asarray(jax.Array)", first_kind="annotated")
LOOP_OP, ADAM = op("while", 4.0), op("Adam update", 7.0)
CALLBACK, TABLE = "jit(run)/while/body/{}_callback", "aten/embedding_dense_backward"


@pytest.mark.parametrize(
    ("rows", "name", "share", "cause"),
    [
        # A JAX loop that reads values is to read less often.
        ([READS], READS["first"], 0.8, "part-reading"),
        ([READS], READS["first"], 0.3, "part-dispatch"),
        # Neither vmap nor a scan spares the calls of the interpreter.
        ([LOOP_OP], CALLBACK.format("pure"), 0.85, "part-callback"),
        ([LOOP_OP], CALLBACK.format("io"), 0.85, "part-callback"),
        ([LOOP_OP], CALLBACK.format("pure"), 0.2, "part-graph-loop"),
        ([LOOP_OP], "jit(step)/while/body/add", 0.85, "part-graph-loop"),
        # An update of whole tables has a remedy of its own.
        ([ADAM], TABLE, 1.0, "part-update-rows"),
        ([ADAM | {"time_ms": 3.0, "step_frac": 0.3}], TABLE, 1.0, "part-update"),
        ([ADAM], "aten/mm", 1.0, "part-update"),
    ],
)
def test_what_a_part_is_made_of_decides_its_remedy(
    rows: list[dict[str, Any]], name: str, share: float, cause: str
) -> None:
    """The share is of the last part, which has an owner of that name if it is an op."""
    of_last = {"part": len(rows) - 1, "role": MADE, "line": None}
    shares = {name: share, "rest": 1 - share}
    made = [of_last | {"name": one, "share_frac": frac} for one, frac in shares.items()]
    owners = [{"kind": "op", "name": name}] if rows[-1]["kind"] == "op" else []
    known = with_owners(account(*rows), *owners, shares=table(ShareRow, made))
    assert cause in {one.cause for one in told(known).findings}


TORN = {"time_ms": 2.0, "runs": 50.0, "steps_frac": 0.25, "typical_ms": 0.4, "every": 0.0}
FEW: dict[str, Any] = {"every": 0.0, "steps_frac": 0.1}


@pytest.mark.parametrize(
    ("row", "is_alarm"),
    [
        (part(**TORN), False),  # all steps do it, and two of eight were interrupted in it
        (part(**TORN | {"every": 3.0}), True),  # a rhythm is the program's
        (part(**TORN | {"typical_ms": 0.0}), True),  # other steps do nothing of it
        (part(**TORN | {"runs": 2.0}), True),  # one call, which may be slow now and then
        (part(time_ms=0.7, **FEW), False),  # little Python of few steps
        (part(time_ms=0.7), True),
        (part(time_ms=4.0, **FEW), True),
        (part(time_ms=0.8, every=0.5, steps_frac=0.1), False),
        (part(kind="compile", function="", first_step_frac=0.9), False),  # in the first step
    ],
)
def test_what_few_steps_have_or_one_interrupted_is_no_alarm(
    row: dict[str, Any], is_alarm: bool
) -> None:
    found = first(account(row, op("MatMul", 0.5)))
    assert (found.severity != "info") == is_alarm


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        # An op that was interrupted in one step does not come first.
        ([op("tanh", 4.0, runs=100.0, typical_ms=0.4), op("relu", 1.5, runs=100.0)], "relu"),
        # What is worth a change does, though several ops take longer.
        ([*(op(name, 2.2) for name in ("Conv2D", "MatMul", "Relu")), part(time_ms=1.2)], "prepare"),
    ],
)
def test_what_comes_first_of_several_parts(rows: list[dict[str, Any]], name: str) -> None:
    place = first(account(*rows)).place
    assert place is not None and name in (place.family, place.function)


def test_the_recorders_own_work_is_no_fault() -> None:
    assert not told(account(part(kind="recorder", name="recorder", time_ms=9.0))).findings


def in_run(found: StepAccount, **environment: str) -> list[Finding]:
    """Findings about parts in a run of that kind."""
    page = ask(GOOD).result("overview_page")
    page = replace(page, environment=replace(page.environment, **environment))
    rules = [rule for rule in RULES if rule.id == "largest-part"]
    return [*advise({"step_account": found, "overview_page": page}, rules).findings]


@pytest.mark.parametrize("optimizer", ["Adam", "SGD", "RMSprop", "Lion"])
def test_the_programs_optimizer_is_kept(optimizer: str) -> None:
    """``fused=True`` raises TypeError in the others."""
    code = in_run(account(op(f"{optimizer} update", 5.0)), framework="PyTorch")[0].code["pytorch"]
    assert optimizer in code
    assert ("fused=True" in code) == (optimizer in ("Adam", "SGD"))


@pytest.mark.parametrize(
    ("task", "function", "cause"),
    [
        ("Inference", "queue.Queue.get", "part-idle-service"),
        ("Training", "queue.Queue.get", "part-python-waits"),
        ("Training", "recv", "part-python-waits"),
        ("Inference", "threading.Thread.join", "part-python-waits"),
    ],
)
def test_a_server_that_waits_for_requests_promises_no_saving_by_it(
    task: str, function: str, cause: str
) -> None:
    waiting = account(call(function, 7.0), op("MatMul", 2.0))
    found = next(one for one in in_run(waiting, task_type=task) if one.cause == cause)
    assert (found.saving_ms is None) == (cause == "part-idle-service")


# ------------------------------------------------------------------ other threads

FEEDER = {
    "thread": "feeder", "function": "load", "file": "serve.py", "line": 42, "busy_frac": 0.4,
    "loop_waits": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("row", "rival", "is_named"),
    [
        (call(JOIN), FEEDER | {"count": 73}, True),
        (call(JOIN), FEEDER | {"busy_frac": 0.02}, False),
        (call("queue.Queue.get"), FEEDER | {"busy_frac": 0.1}, False),
        (op("MatMul", 7.0), FEEDER, False),  # it computes
    ],
)
def test_who_is_at_work_for_most_of_a_wait_is_what_is_waited_for(
    row: dict[str, Any], rival: dict[str, Any], is_named: bool
) -> None:
    place = first(account(row, rivals=[rival])).place
    assert (place == Place("load", "serve.py", 42)) == is_named


def test_who_holds_the_lock_is_the_place_of_a_wait() -> None:
    holder = {"thread": "saver", "function": "Saver.run", "file": "save.py", "line": 7}
    found = first(
        account(call("threading.Lock.acquire"), lock_holders=[holder | {"wait_frac": 0.9}])
    )
    assert (found.cause, str(found.place)) == ("part-lock-wait", "Saver.run (save.py:7)")


def test_threads_that_hold_the_lock_for_a_part_of_their_time_may_cost_more_unrecorded() -> None:
    rival = FEEDER | {"count": 4, "takes_turns": True}
    found = first(account(part(kind="framework", time_ms=3.0), op("Conv2D", 5.0), rivals=[rival]))
    assert found.rule == "gil-contention"
    # A sampler lets threads take turns more often than Python does by itself.
    assert found.saving_low_ms == pytest.approx(0.3 * 0.4 * 3.0)
    assert found.saving_high_ms == pytest.approx(0.4 / 0.75 * 10.0)


def test_without_python_nothing_is_known_of_the_lock() -> None:
    blind = replace(account(part()), has_python=False)
    assert outcome(told(blind), "gil-contention") == "unknown"


@pytest.mark.parametrize(
    "rows",
    [
        [call(JOIN, 9.0)],  # it only waits for others
        # It waits for the thread's answer.
        [call("socket.SocketIO.readinto", 8.5), part(kind="framework", time_ms=1.5)],
    ],
)
def test_a_loop_that_only_waits_needs_no_lock(rows: list[dict[str, Any]]) -> None:
    rival = FEEDER | {"busy_frac": 0.98, "loop_waits": True}
    assert isinstance(
        answer("gil-contention", step_account=account(*rows, rivals=[rival])), Silence
    )


# ------------------------------------------------------------------ other rules

BY_OP = ("framework", "eager")
LOOP = part(kind="eager", name="fresh_keys", function="fresh_keys", time_ms=5.0, op="split")


def test_a_part_with_its_place_comes_before_the_same_without_one() -> None:
    eager = saying("eager-execution", 7.0, *BY_OP)
    rest = part(kind="framework", function="main", time_ms=2.0)
    found = told(account(LOOP, rest), eager).findings
    assert [(one.rule, one.place is None) for one in found[:2]] == [
        ("largest-part", False),
        ("eager-execution", True),
    ]
    little = account(LOOP | {"time_ms": 2.0}, part(kind="framework", time_ms=5.0))
    assert told(little, eager).findings[0].place is not None


@pytest.mark.parametrize(
    ("severity", "says"), [("medium", "eager-execution"), ("info", "largest-part")]
)
def test_a_rule_that_only_informs_does_not_claim_a_part(severity: Severity, says: str) -> None:
    """A program of PyTorch runs op by op as usual: that by itself explains nothing."""
    evidence = (Ref("trace_viewer", "ops"),)
    rule = saying("eager-execution", 5.0, *BY_OP, severity=severity, evidence=evidence)
    found = first(account(part(kind="framework", time_ms=5.0)), rule)
    assert found.rule == says
    assert "ops" in {one.what for one in found.evidence}


def test_a_loop_and_what_dispatching_it_costs_are_one_finding() -> None:
    measured = {"ops_per_step": 1404.0, "idle_ms": 6.5}
    rule = saying(
        "eager-execution", 6.0, *BY_OP, severity="high", saving_high_ms=8.0, measured=measured
    )
    (found,) = told(account(LOOP), rule).findings
    assert (found.rule, found.severity) == ("eager-execution", "high")
    assert found.saving_high_ms is not None and found.saving_high_ms >= 5.0


def test_a_wait_has_the_number_of_what_causes_it() -> None:
    cause = saying("python-in-pipeline", 5.0, cause_of=("input-bound",), saving_high_ms=7.0)
    found = told(account(), cause, saying("input-bound", 8.0, "input")).findings
    assert [(one.rule, one.saving_ms, one.saving_high_ms) for one in found] == [
        ("python-in-pipeline", 5.0, 7.0),
        ("input-bound", 5.0, 7.0),
    ]


@pytest.mark.parametrize(("cause", "count"), [("idle-host-waits", 1), ("idle-device", 2)])
def test_a_host_that_waits_while_its_device_idles_is_one_finding(cause: str, count: int) -> None:
    """It had two savings; where the device idles for another reason, the wait is another matter."""
    known = {"severity": "high", "saving_high_ms": 8.0, "cause": cause}
    rule = saying("idle-device", 8.0, **known, place=Place(call="recv"))
    wait = part(kind="wait", name="recv", function="", time_ms=6.0)
    found = told(account(wait), rule).findings
    assert len(found) == count
    (idle,) = (one for one in found if one.rule == "idle-device")
    assert idle.place == Place(call="recv")
