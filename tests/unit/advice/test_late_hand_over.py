"""late-hand-over: batches are ready, and the step waits anyway."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.result import Finding
from tests.unit.advice.evidence.starved import SERIAL, results
from tests.unit.advice.test_largest_part import saying

READY = replace(SERIAL, iterator="Prefetch", long_name="Iterator::Root::Prefetch", kind="hand-over")


def told(making_us: float | None, **known: Any) -> tuple[Finding, ...]:
    """A step of 100 ms that waits 20 for input, beside what calls every wait the input's fault."""
    found = results(replace(READY, **known), {}, wait_ms=20.0)
    nodes = [SimpleNamespace(iterator="Prefetch", self_us=18_000.0)]
    if making_us is not None:
        nodes.append(SimpleNamespace(iterator="BatchV2", self_us=making_us))
    found["tf_data_bottleneck_analysis"].graph = SimpleNamespace(
        nodes=SimpleNamespace(records=lambda: nodes)
    )
    rule = next(rule for rule in RULES if rule.id == "late-hand-over")
    return advise(found, [rule, saying("input-bound", 20.0, "input")]).findings


def test_a_late_hand_over_is_no_fault_of_the_pipeline() -> None:
    (one,) = told(1_400.0)
    assert (one.rule, one.severity) == ("late-hand-over", "info")
    assert one.saving_high_ms == pytest.approx(20.0)
