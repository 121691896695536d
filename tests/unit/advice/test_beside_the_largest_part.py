"""Which finding comes first beside the largest part, and what advice says around it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice.parts.replacements import ARGUMENTS
from stepscope.analysis.overview_page import OverviewPage
from stepscope.registry import Rule
from stepscope.result import Finding, Ref
from tests.labelled.synthetic import GOOD
from tests.unit.advice.asking import ask
from tests.unit.advice.made import finding, host_activity
from tests.unit.advice.test_largest_part import account, op, part, saying, told


@pytest.mark.parametrize(("calls", "says"), [(2.0, "Double the batch"), (200.0, "one compiled")])
def test_a_step_that_is_compiled_already_is_not_told_to_be_compiled(
    calls: float, says: str
) -> None:
    host = host_activity({"function": "step", "calls": calls})
    found = account(part(kind="framework", name="main", first="fit"))
    one = finding("largest-part", step_account=found, host_activity=host)
    assert says in one.actions[0]


def test_a_rule_that_lists_ops_explains_a_part_of_one_of_them_only() -> None:
    def check(_results: Any) -> Any:
        ops = Ref("framework_op_stats", "type", rows=("model/Relu", "model/Add"))
        found = Finding("no-xla", "medium", 2.0, 0.6, "not fused", evidence=(ops,))
        yield replace(found, saving_high_ms=4.0)

    rule = Rule("no-xla", check, parts=("op",))
    of_another = told(account(op("EncodePng", 4.0)), rule).findings
    assert {one.rule for one in of_another} == {"no-xla", "largest-part"}
    assert [one.rule for one in told(account(op("Relu", 4.0)), rule).findings] == ["no-xla"]


def test_a_rule_that_only_informs_leaves_the_largest_part_first() -> None:
    """It comes after all parts: if it took the part's place, a smaller one would be first."""

    def check(_results: Any) -> Any:
        ops = Ref("framework_op_stats", "type", rows=("model/div",))
        yield Finding("no-xla", "info", 2.0, 0.6, "not fused", saving_high_ms=4.0, evidence=(ops,))

    rule = Rule("no-xla", check, parts=("op",))
    found = told(account(op("div", 5.0), op("MatMul", 3.0)), rule).findings
    assert [(one.rule, one.measured.get("part_ms")) for one in found] == [
        ("largest-part", 5.0),
        ("largest-part", 3.0),
        ("no-xla", None),
    ]


def test_what_the_host_does_while_devices_idle_comes_before_that_they_do() -> None:
    """That a device is idle is doubtful, saves most, and does not say why."""
    reads = part(kind="framework", name="aten/item", time_ms=6.0)
    found = told(account(reads, op("MatMul", 1.0)), saying("idle-device", 9.0))
    assert [one.rule for one in found.findings][:2] == ["largest-part", "idle-device"]
    little = told(account(part(kind="framework", time_ms=3.0)), saying("idle-device", 9.0))
    assert little.findings[0].rule == "idle-device"


@pytest.mark.parametrize(
    ("framework", "sent_frac", "is_said"),
    [("JAX", 0.12, True), ("JAX", 0.01, False), ("PyTorch", 0.12, False)],
)
def test_arrays_that_are_sent_at_each_call_are_looked_at_first(
    framework: str, sent_frac: float, is_said: bool
) -> None:
    page: OverviewPage = ask(GOOD).result("overview_page")
    sent = {"host_to_device": sent_frac * page.steps.time_ms.mean}
    overview = replace(
        page,
        environment=replace(page.environment, framework=framework),
        breakdown_ms=page.breakdown_ms | sent,
    )
    call = account(part(kind="framework", name="main", first="fit"))
    found = finding("largest-part", step_account=call, overview_page=overview)
    assert (found.actions[0] == ARGUMENTS) is is_said


@pytest.mark.parametrize(("part_ms", "first_rule"), [(6.0, "callback"), (8.0, "largest-part")])
def test_a_likely_cause_comes_before_a_part_that_costs_little_more(
    part_ms: float, first_rule: str
) -> None:
    """A sort that the model may need, beside a callback in each step that it does not."""
    cause = saying("callback", 3.5, "library")
    beside = part(kind="library", name="callback", time_ms=3.5) | {"file": "", "line": None}
    found = told(account(op("Sort", part_ms), beside), cause)
    assert found.findings[0].rule == first_rule
