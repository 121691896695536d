"""Real rank sets: a clock that is moved is found where it was moved to, and moves no wait."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stepscope
from stepscope.analysis.pod_viewer import pod_viewer
from stepscope.pod.analyse import analyse
from stepscope.pod.clocks import Clocks, clocks_of
from stepscope.pod.intake import gathered
from stepscope.pod.meetings import join, units_of
from stepscope.summary.build import summarise
from stepscope.summary.summary import Summary
from tests.profiles.summaries import frame

DATA = Path(__file__).parents[3] / "shared" / "data" / "kineto"
SETS = ["v100-dlrm-8rank", "v100-torchrec-4rank/before_qcomm", "v100-torchrec-4rank/after_qcomm"]
SHIFT_NS = 5_123_456

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data/kineto")


def ranks(name: str) -> list[Summary]:
    with stepscope.open(DATA / name) as session:
        return [summarise(host) for host in session.profile.hosts]


def clocks(many: list[Summary]) -> Clocks:
    who = [one.who for one in many]
    return clocks_of(join(gathered(many)), units_of(who), who)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("moved", [0, 2])
def test_a_moved_clock_is_found_within_ten_microseconds(name: str, moved: int) -> None:
    many = ranks(name)
    before = clocks(many)
    who = replace(many[moved].who, origin_ns=many[moved].who.origin_ns + SHIFT_NS)
    many[moved] = replace(many[moved], who=who)
    after = clocks(many)
    change_ns = (after.offset_ps - before.offset_ps) / 1e3
    others = np.delete(change_ns, moved)
    assert change_ns[moved] - np.median(others) == pytest.approx(SHIFT_NS, abs=10_000)
    assert np.ptp(others) < 10_000


@pytest.mark.parametrize("name", SETS)
def test_waits_do_not_move_with_a_clock(name: str) -> None:
    many = ranks(name)
    before = join(gathered(many))
    moved, steps = dict(many[1].meetings), dict(many[1].steps)
    moved["start_ps"] = moved["start_ps"] + SHIFT_NS * 1000
    steps["begin_ps"] = steps["begin_ps"] + SHIFT_NS * 1000
    many[1] = replace(many[1], meetings=moved, steps=steps)
    after = join(gathered(many))
    assert before.wait_ps(slice(None)).tolist() == after.wait_ps(slice(None)).tolist()
    assert before.transfer_ps.tolist() == after.transfer_ps.tolist()


def test_the_last_to_come_is_whom_clocks_name_where_it_leads_clearly() -> None:
    """On one host clocks agree to some µs: the shortest part is that of the last arrival."""
    many = ranks("v100-dlrm-8rank")
    found, units = join(gathered(many)), units_of([one.who for one in many])
    offset_ps = clocks(many).offset_ps[units.recording][found.unit]
    origin = np.asarray([one.who.origin_ns for one in many])[units.recording][found.unit]
    arrival = found.start_ps + (origin - origin.min()) * 1000 - offset_ps
    checked = 0
    for node in range(len(found.size)):
        mine = np.flatnonzero(found.node == node)
        ordered = np.sort(arrival[mine])
        if not found.tells[node] or ordered[-1] - ordered[-2] < 100e6:
            continue
        checked += 1
        assert arrival[mine].argmax() == found.wait_ps(mine).argmin()
    assert checked > 0 or found.tells.any()


def test_pod_and_workers_name_the_same_rank_at_the_same_cost() -> None:
    """Without names of collectives, most of what ranks wait in are exchanges of many."""
    with stepscope.open(DATA / "v100-torchrec-4rank/before_qcomm") as session:
        late = pod_viewer(session.profile).straggler
    assert late is not None
    pod = analyse(ranks("v100-torchrec-4rank/before_qcomm"))
    (suspect,) = pod.suspects.rows()
    assert (late.host, suspect["name"]) == ("rank2", "rank2")
    # A pod replays what would come after; neither is more than what the others wait with nothing
    # beside it in the steps after the warm-up, but for transfers that compute would hide then.
    assert suspect["cost_ms"] == pytest.approx(late.caused_wait_ms, rel=0.35)
    assert late.caused_wait_ms < 23
    charged = list(pod.devices["charged_ms"])
    # What a pod charges is the sum over the others, Workers says their mean.
    assert charged[2] / 3 == pytest.approx(late.caused_wait_ms, rel=0.25)


@pytest.mark.parametrize("name", SETS)
def test_a_step_of_the_pod_lasts_as_long_as_it_was_recorded(name: str) -> None:
    """Collectives in the background begin within one stretch of work, which counts once."""
    many = ranks(name)
    pod = analyse(many)
    recorded = pl.concat([frame(one.steps) for one in many]).group_by("step")
    longest = dict(recorded.agg(pl.col("duration_ps").max() / 1e9).iter_rows())
    for row in pod.steps.rows():
        assert row["time_ms"] == pytest.approx(longest[row["step_num"]], rel=0.1)
        assert row["slowest_ms"] <= row["time_ms"]
