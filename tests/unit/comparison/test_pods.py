"""A pod against an earlier one: places are compared, whatever their hosts are called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bench.pods.faults import FAULTS
from bench.pods.job import Layout, Simulation, no_fault
from bench.pods.recorded import summaries
from stepscope.comparison import compare, side_of
from stepscope.comparison.pods import compare_pods
from stepscope.comparison.workers import worker_times
from stepscope.pod.analyse import analyse
from stepscope.pod.report import Pod
from stepscope.surfaces.cli.commands.pod import COMMAND
from stepscope.tables.core.profile import Host, Profile
from tests.unit.session.test_pod_session import job
from tests.unit.summary.traces import host_of, trace

LAYOUT = Layout(2, 4, 2, devices=2)
LATE_US = 1500.0


def pod_of(size: float = 0.0, rename: str = "", layout: Layout = LAYOUT) -> Pod:
    fault = no_fault(layout)
    if size:
        fault, _ = FAULTS["gpu_throttled"](layout, size, np.random.default_rng(1))
    found = summaries(Simulation(layout, fault, 1).simulate(), 1)
    renamed = [
        replace(
            one, who=replace(one.who, host=rename + one.who.host, machine=rename + one.who.machine)
        )
        for one in found
    ]
    return analyse(renamed, f"run {size}")


def test_the_place_that_became_slow_is_first_though_hosts_have_other_names() -> None:
    before, after = pod_of(), pod_of(0.4, "other-")
    found = compare_pods(before, after)
    assert (found.matched_by, found.unmatched) == ("coordinates", 0)
    slow = int(np.argmax(after.devices["charged_ms"]))
    first = next(found.places.rows())
    assert first["place"] == after.devices["place"][slow]
    assert first["host_before"] == before.devices["host"][slow]
    assert first["host_after"] == "other-" + first["host_before"]
    (suspect,) = found.suspects.rows()
    assert (suspect["change"], suspect["before_ms"]) == ("new", 0)
    assert f"{suspect['name']} makes the others wait now" in found.headline


def test_what_changed_is_in_the_typical_step_or_in_waiting() -> None:
    found = compare_pods(pod_of(), pod_of(0.4))
    change = found.step_after_ms - found.step_before_ms
    typical = found.typical_after_ms - found.typical_before_ms
    assert change > 0
    assert abs(typical) < change / 10
    back = compare_pods(pod_of(0.4), pod_of())
    assert [row["change"] for row in back.suspects.rows()] == ["gone"]
    assert "no longer makes the others wait" in back.headline


def test_the_same_pod_has_not_changed() -> None:
    found = compare_pods(pod_of(0.4), pod_of(0.4))
    assert "as before" in found.headline
    assert not np.asarray(found.places["charged_change_ms"]).any()
    assert [row["change"] for row in found.suspects.rows()] == ["both"]


def test_jobs_without_axes_are_matched_by_rank_and_devices_of_one_alone_are_counted() -> None:
    flat = [pod_of(layout=Layout(1, size, 1, devices=4)) for size in (16, 12)]
    found = compare_pods(*flat)
    assert (found.matched_by, found.unmatched) == ("rank", 4)
    assert len(found.places) == 12


@pytest.mark.parametrize("format", ["table", "json"])
def test_the_command_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = str(job(tmp_path / "run"))
    answer = CliRunner().invoke(COMMAND, [folder, "--baseline", folder, "--format", format])
    assert answer.exit_code == 0, answer.output
    assert "as before" in answer.stdout


def test_a_suspect_in_the_same_place_is_the_same_under_another_name() -> None:
    (suspect,) = compare_pods(pod_of(0.4), pod_of(0.4, "other-")).suspects.rows()
    assert suspect["change"] == "both"
    assert "of other-" in suspect["name"]
    assert suspect["before_ms"] == suspect["after_ms"] > 0


def ranks(order: tuple[int, ...], *, is_late: bool = True) -> Profile:
    """Four ranks on machines a to d; who is rank 3 makes all wait, wherever it runs."""
    late = trace_late if is_late else trace
    found = [host_of(late(rank), f"rank{rank}") for rank in order]
    return Profile("run", tuple(found))


def trace_late(rank: int) -> dict[str, Any]:
    """Rank 3 works longer before what all do."""
    found = trace(rank)
    for event in found["traceEvents"]:
        if "AllGather" in event["name"]:
            event["ts" if rank == 3 else "dur"] += LATE_US
        elif rank == 3 and event["name"] == "gemm" and event["dur"] == 3000:
            event["dur"] += LATE_US
    return found


def test_comparing_runs_of_several_hosts_says_who_makes_the_others_wait_now() -> None:
    before, after = ranks((0, 1, 2, 3), is_late=False), ranks((0, 1, 2, 3))
    found = compare([side_of("before", before), side_of("after", after)])
    (suspect,) = found.suspects.rows()
    assert (suspect["name"], suspect["change"], suspect["cause"]) == ("rank3", "new", "compute")
    assert suspect["after_ms"] == pytest.approx(LATE_US / 1e3, rel=0.01)


def test_workers_are_held_against_those_in_their_places() -> None:
    """Rank 3 ran on another machine before: names of machines are not places."""
    before, after = ranks((0, 1, 2, 3)), ranks((0, 1, 2, 3))
    moved = tuple(
        Host(machine, host.space) for machine, host in zip("badc", before.hosts, strict=True)
    )
    renamed = tuple(
        Host(machine, host.space) for machine, host in zip("abcd", after.hosts, strict=True)
    )
    found = worker_times(Profile("before", moved), Profile("after", renamed))
    # Nothing says which rank a machine is: names are all there is, and d was rank 2 before.
    assert list(found["worker"]) == ["a", "b", "c", "d"]
    assert found["own_delta_ms"][3] == pytest.approx(LATE_US / 1e3, abs=0.1)
    told = worker_times(before, Profile("after", after.hosts[::-1]))
    assert list(told["worker"]) == ["rank3", "rank2", "rank1", "rank0"]
    assert np.abs(told["own_delta_ms"]).max() < 1e-9
