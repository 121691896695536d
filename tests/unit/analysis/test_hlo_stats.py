"""HLO ops on a compiled program whose answers can be worked out by hand."""

from __future__ import annotations

import pytest

from stepscope.analysis import hlo_stats
from tests.profiles.model import Event, gpu, stream, u
from tests.unit.analysis.compiled import PLANE, SIZE, check_contract, kernel, on_gpu, profile

STALL = {"dma_stall_duration_ps": 2_500_000}


def test_it_answers_on_every_device_and_says_what_is_missing() -> None:
    check_contract(hlo_stats.TOOL)


def test_hlo_ops_have_rates_and_shares() -> None:
    found = hlo_stats.hlo_stats(on_gpu())
    add, dot = found.ops.rows()
    assert (add["hlo_op"], add["rematerialised"], add["category"]) == (
        "add.1",
        True,
        "non-fusion elementwise",
    )
    assert dot["flop_rate_gflops"] == pytest.approx(2 * 64**3 / 10e-6 / 1e9)
    assert dot["memory_bw_gbps"] == pytest.approx(3 * SIZE / 10e-6 / 1e9)
    assert (dot["self_time_frac"], found.idle_time_us) == (0.25, 10)
    assert [row["category"] for row in found.rematerialised.rows()] == [
        "Rematerialised",
        "Not rematerialised",
    ]


def test_stalls_that_nothing_recorded_are_not_none_at_all() -> None:
    assert [row["dma_stall_frac"] for row in hlo_stats.hlo_stats(on_gpu()).ops.rows()] == [
        None,
        None,
    ]
    stalled = Event("dot.1", 0, 10, {"hlo_op": "dot.1", "program_id": u(7)} | STALL)
    found = hlo_stats.hlo_stats(profile(PLANE, gpu(0, stream(1, stalled, kernel("add.1", 20, 20)))))
    assert {row["hlo_op"]: row["dma_stall_frac"] for row in found.ops.rows()} == {
        "dot.1": 0.25,
        "add.1": 0.0,
    }
