"""Pods whose every fault is known, through the whole analysis; counts of what must always hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stepscope
from bench.pods.faults import FAULTS
from bench.pods.job import Layout, Simulation, no_fault
from bench.pods.matrix import LAYOUTS, trial
from bench.pods.recorded import Damage, summaries
from stepscope.errors import NothingToShow
from stepscope.pod.analyse import analyse
from stepscope.pod.clocks import clocks_of
from stepscope.pod.delay import delays_of
from stepscope.pod.intake import gathered
from stepscope.pod.meetings import Meetings, join, units_of
from stepscope.pod.places import axes_of, stages_of
from stepscope.pod.typical import typical_of
from stepscope.pod.waves import waves_of
from stepscope.summary.summary import COMMUNICATORS, MEETINGS, Columns, Summary, columns_of
from tests.profiles.loops import Collective, Kernel, Loop, record
from tests.profiles.summaries import frame, table

SMALL = Layout(2, 4, 2, devices=2, layers=2, batches=3, steps=6)
IDS = [str(layout.shape) for layout in LAYOUTS]


def pod_of(layout: Layout, fault: str = "", size: float = 0.3, seed: int = 4) -> list[Summary]:
    made = no_fault(layout)
    if fault:
        made, _ = FAULTS[fault](layout, size, np.random.default_rng(seed))
    return summaries(Simulation(layout, made, seed).simulate(), seed)


def delays(many: list[Summary]) -> tuple[Meetings, float, float]:
    """The meetings, all waiting, and all that was charged."""
    units, found = units_of([one.who for one in many]), join(gathered(many))
    stage = stages_of(axes_of(found, units), len(units))
    charged = delays_of(found, typical_of(found, stage), waves_of(found))
    whole = charged.own_ps.sum() + charged.transfer_ps.sum() + charged.unexplained_ps
    return found, charged.waited_ps, float(whole)


@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
@pytest.mark.parametrize("fault", ["", "input_starved", "gpu_throttled", "random_lengths"])
def test_charges_sum_to_all_waiting(layout: Layout, fault: str) -> None:
    found, waited, charged = delays(pod_of(layout, fault))
    assert waited == pytest.approx(float(found.stood_ps.sum()))
    assert charged == pytest.approx(waited, rel=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
@pytest.mark.parametrize("fault", ["", "host_pause", "nic_slow"])
def test_a_replay_of_what_was_recorded_takes_as_long_as_the_job(layout: Layout, fault: str) -> None:
    made = no_fault(layout)
    if fault:
        made, _ = FAULTS[fault](layout, 0.3, np.random.default_rng(1))
    run = Simulation(layout, made, 1).simulate()
    pod = analyse(summaries(run, 1))
    assert pod.step_ms == pytest.approx(run.step_ms, rel=2e-3)


@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
def test_no_collective_is_lost_in_a_circle(layout: Layout) -> None:
    found = join(gathered(pod_of(layout)))
    waves = waves_of(found)
    assert waves.lost == 0
    assert sorted(waves.rows.tolist()) == list(range(len(found)))


def test_waits_do_not_depend_on_clocks() -> None:
    layout = SMALL
    run = Simulation(layout, no_fault(layout), 3).simulate()
    one = join(gathered(summaries(run, 3, Damage(offset_ms=0, drift_ppm=0))))
    other = join(gathered(summaries(run, 3, Damage(offset_ms=500, drift_ppm=0))))
    # Rounding to picoseconds is all that is left of clocks.
    assert np.abs(one.wait_ps(slice(None)) - other.wait_ps(slice(None))).max() <= 4


def test_the_order_of_recordings_does_not_matter() -> None:
    many = pod_of(SMALL, "input_starved")
    shuffled = [many[place] for place in np.random.default_rng(1).permutation(len(many))]
    assert analyse(many).to_dict() == analyse(shuffled).to_dict()


def test_clocks_are_brought_together_within_what_is_said() -> None:
    layout = Layout(1, 32, 2, devices=2, layers=3, batches=3, steps=8)
    run = Simulation(layout, no_fault(layout), 5).simulate()
    random = np.random.default_rng(6)  # as ``summaries`` draws them
    planted = random.uniform(-50, 50, layout.hosts)
    many = summaries(run, 5, Damage(offset_ms=50, drift_ppm=0))
    who = [one.who for one in many]
    found = clocks_of(join(gathered(many)), units_of(who), who)
    error_us = (found.offset_ps / 1e9 - (planted - np.median(planted))) * 1e3
    error_us -= np.median(error_us)
    assert np.abs(error_us).max() < 5
    assert (np.abs(error_us) < found.uncertainty_ps / 1e6).mean() >= 0.93
    assert found.uncertainty_ps.max() / 1e6 < 300
    assert len(set(found.component.tolist())) == 1


def test_recordings_that_meet_nobody_are_a_component_of_their_own() -> None:
    apart = Layout(1, 2, 2, devices=2, layers=2, batches=2, steps=4)
    many = pod_of(apart)
    for place, one in enumerate(many):
        keys = one.communicators["key"] + f"/{place}"
        many[place] = replace(one, communicators={**one.communicators, "key": keys})
    who = [one.who for one in many]
    clocks = clocks_of(join(gathered(many)), units_of(who), who)
    assert clocks.component.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("layout", "sizes"),
    [(LAYOUTS[0], set()), (LAYOUTS[1], {4, 16}), (LAYOUTS[2], {4}), (LAYOUTS[3], {4, 16})],
    ids=IDS,
)
def test_axes_are_told_from_who_meets_whom(layout: Layout, sizes: set[int]) -> None:
    many = pod_of(layout)
    units = units_of([one.who for one in many])
    axes = axes_of(join(gathered(many)), units)
    assert {axis.size for axis in axes} == sizes
    rank = np.arange(layout.world).reshape(layout.shape)
    for axis in axes:
        if axis.name == "stage":
            wanted = np.repeat(np.arange(layout.stages), layout.replicas * layout.tensor)
            assert axis.place.tolist() == wanted.tolist()
    assert rank.size == len(units)


# Each kind where it can be told, at a size that costs some percent.
CASES = [
    (LAYOUTS[0], "gpu_throttled"),
    (LAYOUTS[0], "hbm_slow"),
    (LAYOUTS[1], "pcie_slow"),
    (LAYOUTS[2], "nic_slow"),
    (LAYOUTS[3], "rail_slow"),
    (LAYOUTS[0], "host_pause"),
    (LAYOUTS[1], "noisy_neighbour"),
    (LAYOUTS[0], "input_starved"),
    (LAYOUTS[3], "checkpoint"),
    (LAYOUTS[2], "late_start"),
    (LAYOUTS[0], "slow_rack"),
    (LAYOUTS[1], "same_local"),
    (LAYOUTS[2], "last_stage"),
    (LAYOUTS[0], "two_hosts"),
    (LAYOUTS[1], "random_lengths"),
]


@pytest.mark.parametrize(("layout", "fault"), CASES, ids=[name for _, name in CASES])
def test_every_kind_of_fault_is_named_with_its_cause_and_cost(layout: Layout, fault: str) -> None:
    found = trial(layout, fault, 0.4, seed=11)
    assert found.cost > 0.015
    assert found.found, found
    assert found.cause_right, found
    if fault not in ("random_lengths", "two_hosts"):
        assert found.predicted == pytest.approx(found.cost, rel=0.25)


def test_kernel_that_only_one_rank_runs_is_its_cause(tmp_path: Path) -> None:
    kernels = (Kernel("sgemm", 400, "dense/MatMul:MatMul"),)
    own = (Kernel("masked_scatter", 300, "loss/Scatter:Scatter"),)
    loops = [
        Loop(kernels=kernels + own * (rank == 2), collective=Collective(50)) for rank in range(4)
    ]
    for name, content in record(*loops).items():
        (tmp_path / f"{name}.xplane.pb").write_bytes(content)
    with stepscope.open(tmp_path) as session:
        suspect = next(session.pod(keep="no").suspects.records())
    assert suspect.cause == "unequal"
    assert np.isnan(suspect.since_step)  # late from the first recorded step on
    assert suspect.evidence == "it runs masked_scatter, which its peers do not"


def test_a_host_that_pauses_is_named_where_its_pauses_change_the_order_of_collectives() -> None:
    found = trial(LAYOUTS[3], "host_pause", 0.8, seed=261)
    assert found.found, found
    assert found.cause == "host"


def jittered(one: Summary, random: np.random.Generator) -> Summary:
    """Collectives begin up to 2 µs later: those that overlap come in any order."""
    met = dict(one.meetings)
    later = random.integers(0, 2_000_000, len(met["step"]))
    met["start_ps"], met["duration_ps"] = met["start_ps"] + later, met["duration_ps"] - later
    order = np.lexsort((met["start_ps"], met["device"]))
    return replace(one, meetings={name: column[order] for name, column in met.items()})


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS[2:], ids=IDS[2:])
def test_the_order_of_collectives_that_overlap_does_not_matter(layout: Layout) -> None:
    random = np.random.default_rng(8)
    many = pod_of(layout, "gpu_throttled", 0.4)
    other = [jittered(one, random) for one in many]
    roles = [roles_of(each) for each in (many, other)]
    assert roles[0].tolist() == roles[1].tolist()
    assert len(set(roles[0].tolist())) == layout.stages
    pods = [analyse(each) for each in (many, other)]
    first, second = (next(pod.suspects.rows()) for pod in pods)
    assert first["name"] == second["name"]
    assert second["cost_ms"] == pytest.approx(first["cost_ms"], rel=0.02)
    assert pods[1].typical_step_ms == pytest.approx(pods[0].typical_step_ms, rel=2e-3)


def roles_of(many: list[Summary]) -> np.ndarray:
    """By unit, which of them are its peers."""
    units, found = units_of([one.who for one in many]), join(gathered(many))
    return typical_of(found, stages_of(axes_of(found, units), len(units))).role


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
def test_nobody_is_named_in_a_clean_pod(layout: Layout) -> None:
    for seed in range(5):
        pod = analyse(pod_of(layout, seed=100 + seed))
        assert len(pod.suspects) == 0


def test_missing_hosts_are_said_and_the_others_still_analysed() -> None:
    layout = LAYOUTS[0]
    fault, _ = FAULTS["input_starved"](layout, 0.3, np.random.default_rng(3))
    run = Simulation(layout, fault, 3).simulate()
    host = int(np.flatnonzero(fault.input_ms.any(axis=-1).ravel())[0]) // layout.devices
    missing = tuple(one for one in (1, 5) if one != host)
    many = summaries(run, 3, Damage(missing=missing))
    pod = analyse(many, expected=layout.hosts, files=[("node1", "failed", "cut off")])
    assert next(pod.suspects.rows())["cause"] == "input"
    assert pod.recordings == layout.hosts - len(missing)
    said = " ".join(one.message for one in pod.diagnostics)
    assert f"{len(missing)} of {layout.hosts} recordings are missing" in said
    assert "node1" in said


def later(rows: Columns) -> Columns:
    """Rows of the steps after the first."""
    return {name: column[rows["step"] > 0] for name, column in rows.items()}


def test_a_step_that_some_did_not_record_is_left_out_and_said() -> None:
    many = pod_of(LAYOUTS[0])
    for place in range(4):  # a quarter of the hosts began one step later
        one = many[place]
        many[place] = replace(
            one,
            steps=later(one.steps),
            meetings=later(one.meetings),
        )
    pod = analyse(many)
    assert pod.counted_steps == LAYOUTS[0].steps - 1
    assert any("less than 95 %" in one.message for one in pod.diagnostics)


def test_costs_sum_to_the_recorded_step() -> None:
    pod = analyse(pod_of(LAYOUTS[0], "input_starved"))
    assert sum(row["time_ms"] for row in pod.costs.rows()) == pytest.approx(pod.step_ms)


def test_recordings_without_shared_collectives_have_nothing_to_show() -> None:
    one = pod_of(SMALL)[0]
    alone = replace(one, meetings=columns_of(MEETINGS))
    with pytest.raises(NothingToShow, match="share a collective"):
        analyse([alone])
    with pytest.raises(NothingToShow):
        analyse([])


def met_by_all(one: Summary) -> Summary:
    """The host's devices end each step with a short all-reduce of the whole job."""
    meetings = frame(one.meetings)
    last = meetings.group_by("device", "step").agg(
        (pl.col("start_ps") + pl.col("duration_ps")).max().alias("start_ps")
    )
    added = last.with_columns(
        communicator=pl.lit(len(one.communicators["key"])),
        number=pl.col("step"),
        duration_ps=pl.lit(20_000_000),
        exposed_ps=pl.lit(20_000_000),
    )
    said = {"key": "world", "label": "", "kind": "all_reduce", "size": one.who.world_size}
    world = {**said, "ranks": [], "is_guess": False, "numbered": True}
    every = pl.concat([meetings, added.select(list(MEETINGS))], how="vertical_relaxed")
    communicators = [*frame(one.communicators).to_dicts(), world]
    return replace(
        one,
        meetings=table(MEETINGS, every.sort("device", "start_ps")),
        communicators=table(COMMUNICATORS, pl.DataFrame(communicators)),
    )


def test_a_communicator_of_all_devices_does_not_clear_the_slow_link_it_goes_through() -> None:
    """Nearly every job has one, for its loss or the norm of its gradients."""
    layout = LAYOUTS[3]
    fault, truth = FAULTS["nic_slow"](layout, 0.4, np.random.default_rng(4))
    run = Simulation(layout, fault, 4).simulate()
    many = summaries(run, 4)
    named = [
        next(analyse(each).suspects.rows()) for each in (many, [met_by_all(one) for one in many])
    ]
    assert {row["cause"] for row in named} == {"network"}
    host = min(truth.units) // layout.devices
    assert [row["name"] for row in named] == [many[host].who.host] * 2
