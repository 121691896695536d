"""No rule breaks, whatever a profile holds."""

from __future__ import annotations

import json

import pytest

from stepscope.advice import RULES, advise
from stepscope.formats.xspace import decode
from stepscope.result import Advice
from stepscope.result import _plain as plain
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import (
    async_gpu,
    gpu,
    hostile_names,
    negative_thread_ids,
    no_events,
    only_a_recorder,
    overlapping_streams,
    pytorch_like,
    space,
    stream,
    unmarked,
    worked_example,
)
from tests.unit.advice.asking import Asked

READY = {
    "worked example": worked_example(gpu=True),
    "without a device": worked_example(),
    "one step": worked_example(gpu=True, steps=1),
    "host ahead": async_gpu(),
    "two streams": overlapping_streams(),
    "unmarked": unmarked(),
    "PyTorch": pytorch_like(),
    "strange threads": negative_thread_ids(),
    "hostile names": hostile_names(),
    "no events": no_events(),
    "only a recorder": only_a_recorder(),
    "kernels of no length": space(gpu(0, stream(7, ("sgemm", 0, 0), ("MemcpyH2D", 1, 0)))),
}


def advice_on(*recordings: bytes) -> Advice:
    hosts = tuple(Host(f"h{index}", decode(data)) for index, data in enumerate(recordings))
    asked = Asked(Profile("s", hosts))
    wanted = {tool for rule in RULES for tool in rule.reads}
    advice = advise(asked.results(*wanted), RULES)
    assert [one for one in advice.checked if one.outcome == "failed"] == []
    return advice


@pytest.mark.parametrize("name", READY)
def test_every_rule_answers_in_plain_json_with_bounded_numbers(name: str) -> None:
    advice = advice_on(READY[name])
    assert len(advice.checked) == len(RULES)
    words = {"fired": "found", "silent": "not found", "unknown": "not enough data"}
    for checked in advice.checked:
        assert checked.said == words[checked.outcome]
        assert checked.reason or checked.outcome == "fired"
    for found in advice.findings:
        assert found.rule in json.dumps(plain(found, None), allow_nan=False)
        assert 0 <= found.confidence <= 1
        assert found.saving_ms is None or found.saving_ms >= 0
        if found.saving_ms is not None and found.saving_high_ms is not None:
            assert found.saving_high_ms >= found.saving_ms * (1 - 1e-9)


def test_every_rule_answers_on_hosts_that_have_nothing_in_common() -> None:
    advice_on(worked_example(gpu=True), no_events(), pytorch_like(), unmarked())
