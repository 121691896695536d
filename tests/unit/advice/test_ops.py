"""Rules about single ops: the one that dominates, and those below their roofline."""

from dataclasses import replace

import pytest

from stepscope.advice import RULES, advise
from stepscope.formats.xspace import decode
from stepscope.registry import Unknown
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GOOD_TPU, tpu_ops
from tests.profiles.model import gpu, host, line, space, stream
from tests.unit.advice.asking import Asked, ask


def test_ops_below_their_roofline_are_worth_what_good_kernels_reach() -> None:
    # TPU v4: 275 TFLOP/s. 2 GFLOP in 200 µs are 10 TFLOP/s: 3.6 % of it.
    slow = tpu_ops(flops=2_000_000_000, bytes_accessed=20_000_000)
    found = ask(replace(GOOD_TPU, kernels=slow)).finding("roofline-gap")
    # Memory binds: 20 MB in 200 µs are 100 GB/s of 1,228: 8.1 %, a good kernel reaches 60 %.
    efficiency = 100 / 1228
    assert found.measured["efficiency_frac"] == pytest.approx(efficiency)
    assert found.saving_ms == pytest.approx(1.2 * (1 - efficiency / 0.6))
    assert found.saving_high_ms == pytest.approx(1.2 * (1 - efficiency))
    assert found.measured["ops"] == 6 and found.severity == "high"


def test_what_computes_in_16_bits_is_not_told_to() -> None:
    # Hardly any bytes: compute binds, and the only peak in use is that of bf16.
    asked = ask(replace(GOOD_TPU, kernels=tpu_ops(flops=2_000_000_000, bytes_accessed=1000)))
    roofline = asked.result("roofline_model")
    assert set(roofline.flop_peaks["data_type"]) <= {"bf16", "16-bit"}
    found = asked.finding("roofline-gap")
    assert found.measured["bound_by"] == "Compute"
    assert not any("16 bits" in action for action in found.actions)


def test_waits_and_collectives_are_not_kernels_below_their_roofline() -> None:
    waits = [
        replace(kernel, stats={**kernel.stats, "hlo_category": "async-done"})
        for kernel in tpu_ops(flops=2_000_000_000, bytes_accessed=20_000_000)
    ]
    asked = ask(replace(GOOD_TPU, kernels=waits))
    assert "unknown" in asked.reason("roofline-gap", Unknown)


def test_where_there_are_no_steps_rules_speak_of_the_recording() -> None:
    data = space(
        host(line("python", ("something", 0, 10))),
        gpu(0, stream(7, ("ampere_sgemm_128x64_nn", 0, 3), ("MemcpyH2D", 5, 1))),
    )
    asked = Asked(Profile("s", (Host("h", decode(data)),)))
    wanted = {tool for rule in RULES for tool in rule.reads}
    advice = advise(asked.results(*wanted), RULES)
    assert [one for one in advice.checked if one.outcome == "failed"] == []
    parts = [one for one in advice.findings if "part_ms" in one.measured]
    assert parts, "the recording as a whole is accounted for"
    # No step is known, so none is spoken of; what to do is still about the program's steps.
    [one.title + one.message for one in advice.findings if one.rule != "incomplete-profile"]
    assert {one.severity for one in advice.findings} <= {"info", "low"}, (
        "nothing of a loop is known"
    )
    savings = [one.saving_ms for one in advice.findings if one.saving_ms is not None]
    assert all(0 <= saving <= 0.01 for saving in savings), "no more than the 10 µs recorded"
