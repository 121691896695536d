"""What a summary says of a small trace whose every time is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepscope.summary.build import summarise
from stepscope.tables.collectives.identity import SYMMETRIC, kind_of
from tests.profiles.summaries import frame
from tests.unit.summary.traces import STEP_US, STEPS, host_of, trace

US = 10**6


def rows(rank: int, **how: bool) -> list[dict[str, Any]]:
    found = summarise(host_of(trace(rank, **how), f"rank{rank}"))
    met = found.meetings["communicator"]
    said = {name: found.communicators[name][met] for name in ("key", "kind")}
    return frame({**found.meetings, **said}).to_dicts()


def test_collectives_have_communicator_number_step_and_times() -> None:
    found = rows(0)
    assert [row["kind"] for row in found] == ["all_reduce", "all_gather"] * STEPS
    assert [row["number"] for row in found] == [10, 20, 11, 21, 12, 22]
    assert [row["step"] for row in found] == [0, 0, 1, 1, 2, 2]
    assert [row["duration_ps"] // US for row in found] == [1000, 2000] * STEPS
    assert {row["exposed_ps"] - row["duration_ps"] for row in found} == {0}


def test_members_share_a_communicator_and_others_do_not() -> None:
    pairs = [{row["key"] for row in rows(rank) if row["kind"] == "all_reduce"} for rank in range(4)]
    everyone = [
        {row["key"] for row in rows(rank) if row["kind"] == "all_gather"} for rank in range(4)
    ]
    assert pairs[0] == pairs[1] != pairs[2] == pairs[3]
    assert len(set.union(*everyone)) == 1


def test_without_numbers_a_collective_is_the_nth_of_its_step() -> None:
    assert [row["number"] for row in rows(0, numbered=False)] == [0] * 2 * STEPS


def test_without_groups_all_that_do_the_same_are_taken_to_be_one_and_it_is_said() -> None:
    found = summarise(host_of(trace(0, grouped=False), "rank0"))
    assert found.communicators["is_guess"].all()
    assert found.communicators["key"].tolist() == ["all/all_reduce", "all/all_gather"]


def test_steps_and_their_parts_sum() -> None:
    found = summarise(host_of(trace(2), "rank2"))
    assert found.who.rank == 2
    assert found.who.devices == ("GPU:0",)
    assert found.steps["step"].tolist() == list(range(STEPS))
    parts = [name for name in list(found.steps)[4:] if name != "counts"]
    assert found.steps["counts"].all()
    total = np.sum([found.steps[name] for name in parts], axis=0)
    assert total.tolist() == found.steps["duration_ps"].tolist()
    assert found.steps["duration_ps"][0] == pytest.approx(STEP_US * US, rel=0.2)
    assert found.steps["collectives_ps"].sum() == STEPS * 3000 * US


def test_collectives_are_no_ops() -> None:
    found = summarise(host_of(trace(0), "rank0"))
    (row,) = frame(found.ops).rows()
    assert row == (0, "gemm", 2 * STEPS, 5000 * US * STEPS, 2000 * US, 3000 * US)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16", "reduce_scatter"),
        ("_allgather_base", "all_gather"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("all-to-all.3", "all_to_all"),
        ("collective-permute-start", "send_recv"),
        ("ncclDevKernel_SendRecv", "send_recv"),
        ("ncclDevKernel_Reduce_Sum", "reduce"),
        ("gloo:all_reduce", "all_reduce"),
        ("barrier", "barrier"),
        ("something else", "something else"),
    ],
)
def test_what_a_collective_does_is_told_from_its_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_only_what_ends_together_tells_who_came_last() -> None:
    assert {"all_reduce", "all_gather", "reduce_scatter", "barrier"} == SYMMETRIC


def test_a_first_step_that_warms_up_does_not_count() -> None:
    found = summarise(host_of(trace(0, warm_up_us=3 * STEP_US), "rank0"))
    assert found.steps["counts"].tolist() == [False, True, True]
