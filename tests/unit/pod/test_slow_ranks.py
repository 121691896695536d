"""The slow rank of a job and its begin, from summaries of step logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.step_ranks import write_job
from stepscope.errors import StoreError
from stepscope.formats.step_log import SUMMARY, SUMMARY_ENDING
from stepscope.pod.slow_ranks import SlowRanks, slow_ranks
from stepscope.store.step_summaries import StepSummaries, read_summaries

_RANKS, _STEPS, _SINCE = 16, 20_000, 7_210
_CHUNK_STEPS = 20


def asked(folder: Path) -> SlowRanks:
    return slow_ranks(read_summaries(folder))


@pytest.mark.parametrize("seed", range(3))
def test_a_slow_rank_and_its_first_step_are_found(tmp_path: Path, seed: int) -> None:
    write_job(tmp_path, _RANKS, _STEPS, 11, _SINCE, waiting=False, seed=seed)
    found = asked(tmp_path)
    (row,) = found.slow.records()
    assert (row.rank, row.host, row.sign, row.is_over) == ("11", "node1", "step", False)
    assert abs(row.since_step - _SINCE) <= 2 * _CHUNK_STEPS
    assert row.own_ms / row.others_ms == pytest.approx(1.2, abs=0.02)
    assert found.headline.startswith("Rank 11 on node1 takes 1.2 times the median step, since step")


@pytest.mark.parametrize("seed", range(3))
def test_ranks_that_wait_for_each_other_differ_in_another_sign(tmp_path: Path, seed: int) -> None:
    write_job(tmp_path, _RANKS, _STEPS, 3, _SINCE, waiting=True, seed=seed)
    found = asked(tmp_path)
    (row,), (change,) = found.slow.records(), found.changes.records()
    assert (row.rank, row.sign) == ("3", "input wait")
    assert abs(change.since_step - _SINCE) <= 2 * _CHUNK_STEPS
    assert change.delta_frac == pytest.approx(0.2, abs=0.01)
    assert found.headline.startswith("All ranks are 20 % slower since step 7,2")
    assert "rank 3 on node0 waits for input" in found.headline


@pytest.mark.parametrize("seed", range(5))
def test_noise_names_nobody(tmp_path: Path, seed: int) -> None:
    write_job(tmp_path, _RANKS, _STEPS, None, 0, waiting=False, seed=seed)
    found = asked(tmp_path)
    assert not len(found.slow) and not len(found.changes)
    assert found.headline == "No rank differs: 16 ranks, 20,000 steps each."


def job(lengths_us: np.ndarray, cpu_frac: float = 0.5) -> list[StepSummaries]:
    """A rank per row, a chunk of ten steps per column."""
    ranks = []
    for number, row in enumerate(lengths_us):
        records = np.zeros(len(row), SUMMARY)
        records["sum_us"] = row
        records["end_ns"] = 10**18 + np.cumsum(row) * 1000
        records["begin_ns"] = records["end_ns"] - row * 1000
        records["first"], records["steps"] = np.arange(len(row)) * 10, 10
        records["cpu_us"] = row * cpu_frac
        ranks.append(StepSummaries(str(number), "", records))
    return ranks


def test_a_time_of_slowness_ends() -> None:
    lengths = np.full((5, 400), 1_000_000)
    lengths[2, 100:200] = 1_300_000
    lengths[2, 200:] = 1_000_000
    (row,) = slow_ranks(job(lengths)).slow.records()
    assert (row.rank, row.since_step, row.is_over) == ("2", 1000, True)
    assert row.lasted_s == pytest.approx(130, abs=2)


def test_a_pause_is_no_slow_rank() -> None:
    lengths = np.full((5, 400), 1_000_000)
    lengths[0, 100] = 60_000_000
    assert not len(slow_ranks(job(lengths)).slow)


def test_who_computes_while_the_others_wait_is_named_by_processor_time() -> None:
    ranks = job(np.full((5, 400), 1_000_000))
    ranks[4].records["cpu_us"] = 950_000
    found = slow_ranks(ranks)
    (row,) = found.slow.records()
    assert (row.rank, row.sign, row.since_step) == ("4", "processor", 0)
    # Processes that use little of a processor do not keep others waiting with it.
    ranks[4].records["cpu_us"] = 700_000
    assert not len(slow_ranks(ranks).slow)


def test_a_rank_that_runs_alone_is_held_against_nobody() -> None:
    ranks = job(np.full((3, 100), 1_000_000)) + job(np.full((4, 300), 1_000_000))[3:]
    ranks[3].records["sum_us"][100:] *= 2
    assert not len(slow_ranks(ranks).slow)


def test_records_that_are_none_are_left_out(tmp_path: Path) -> None:
    write_job(tmp_path, 1, 200, None, 0, waiting=False, seed=0)
    summaries = tmp_path / f"run-rank0{SUMMARY_ENDING}"
    data = summaries.read_bytes()
    summaries.write_bytes(data[:64] + bytes(64) + data[64:192] + data[192:220])
    assert read_summaries(tmp_path)[0].records["first"].tolist() == [0, 20, 40]


def test_no_log_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no step log"):
        read_summaries(tmp_path)
