"""Rules that read the pod: simulated jobs whose fault is known, asked as a session asks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from bench.pods.faults import FAULTS
from bench.pods.job import Layout, Simulation, no_fault
from bench.pods.recorded import summaries
from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.pod.analyse import analyse
from stepscope.pod.report import Pod
from stepscope.registry import Answer, Silence
from stepscope.result import Advice, Finding

PIPELINE = Layout(4, 16, 1)
SHARDED = Layout(1, 64, 1)
SIZE = 0.4


@cache
def pod_of(fault: str, layout: Layout = PIPELINE, seed: int = 4) -> tuple[Pod, float]:
    """The pod, and what its fault costs of each step, ms."""
    healthy = Simulation(layout, no_fault(layout), seed).simulate()
    if not fault:
        return analyse(summaries(healthy, seed)), 0.0
    made, _ = FAULTS[fault](layout, SIZE, np.random.default_rng(seed))
    run = Simulation(layout, made, seed).simulate()
    return analyse(summaries(run, seed)), run.step_ms - healthy.step_ms


def answers(rule_id: str, pod: Pod) -> list[Answer]:
    return list(RULES[RULES.ids.index(rule_id)].check(Results({"pod": pod})))


def advice(pod: Pod) -> Advice:
    """What is advised where there is the pod alone, as of more hosts than open together."""
    return advise({"pod": pod}, RULES, {})


@pytest.mark.parametrize(
    ("fault", "layout", "rule", "cause"),
    [
        ("gpu_throttled", PIPELINE, "straggler", "compute"),
        ("input_starved", SHARDED, "straggler", "input"),
        ("host_pause", SHARDED, "straggler", "host"),
        ("slow_rack", SHARDED, "straggler", "compute"),
        ("nic_slow", PIPELINE, "slow-link", "network"),
        ("last_stage", PIPELINE, "unequal-stages", "unequal"),
    ],
)
def test_the_fault_comes_first_with_its_cost_and_its_cause(
    fault: str, layout: Layout, rule: str, cause: str
) -> None:
    pod, cost_ms = pod_of(fault, layout)
    first = advice(pod).findings[0]
    assert (first.rule, first.measured["cause"]) == (rule, cause)
    assert first.saving_ms == pytest.approx(cost_ms, rel=0.1)
    named = next(pod.suspects.rows())["name"]
    assert first.evidence[0].rows == (named,)


@pytest.mark.parametrize("rule", ["straggler", "slow-link", "unequal-stages"])
@pytest.mark.parametrize("layout", [PIPELINE, SHARDED], ids=str)
def test_an_even_pod_is_left_in_peace(rule: str, layout: Layout) -> None:
    pod, _ = pod_of("", layout)
    (answer,) = answers(rule, pod)
    assert isinstance(answer, Silence)


def test_two_that_are_slow_together_are_both_advised() -> None:
    """Fixing one alone saves next to nothing: that is the least, not what is expected."""
    pod, cost_ms = pod_of("two_hosts", SHARDED)
    found = [one for one in answers("straggler", pod) if isinstance(one, Finding)]
    assert len(found) == 2
    for one in found:
        assert one.saving_ms is not None
        assert one.saving_low_ms is not None
        assert one.saving_low_ms < one.saving_ms / 2
        assert one.saving_ms == pytest.approx(cost_ms, rel=0.3)
    placed = [one for one in advice(pod).findings if one.rule == "straggler"]
    assert {one.severity for one in placed} == {"high"}


def test_recordings_that_are_missing_are_said_with_the_finding() -> None:
    pod, _ = pod_of("gpu_throttled")
    (found,) = answers("straggler", replace(pod, expected=pod.recordings + 3))
    assert isinstance(found, Finding)
