"""Which parts are one collective: communicator and number say it, not names, order or clocks."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analysis.pod_viewer import pod_viewer
from stepscope.tables.collectives.operations import CollectiveEvents, collectives
from stepscope.tables.core.profile import Profile
from tests.unit.summary.traces import STEPS, host_of, trace

LATE_US = 700.0


def profile_of(*, grouped: bool = True, clock_us: float = 0.0, late: bool = False) -> Profile:
    """Four ranks, two by two; of the pair 2, 3 the first may come late to their all-reduce."""
    hosts = []
    for rank in range(4):
        found = trace(rank, grouped=grouped)
        for event in found["traceEvents"]:
            if late and rank == 2 and "AllReduce" in event["name"]:
                event["ts"] += LATE_US
            if late and rank == 3 and "AllReduce" in event["name"]:
                event["dur"] += LATE_US
            event["ts"] += clock_us * rank
        hosts.append(host_of(found, f"rank{rank}"))
    return Profile("job", tuple(hosts))


def members(found: CollectiveEvents) -> set[tuple[int, ...]]:
    groups = range(int(found.group.max()) + 1)
    return {tuple(sorted(found.host[found.group == one].tolist())) for one in groups}


def test_pairs_that_do_the_same_at_the_same_time_are_two_collectives() -> None:
    assert members(collectives(profile_of())) == {(0, 1), (2, 3), (0, 1, 2, 3)}
    # Without groups in the recording, name and order are all there is.
    assert members(collectives(profile_of(grouped=False))) == {(0, 1, 2, 3)}


def test_only_the_partner_waits_for_who_is_late() -> None:
    found = collectives(profile_of(late=True))
    waited = np.bincount(found.host, found.wait_ps, 4) / 1e6
    assert waited.tolist() == pytest.approx([0, 0, 0, STEPS * LATE_US])


@pytest.mark.parametrize("clock_us", [-3000.0, 250.0, 40_000.0])
def test_clocks_do_not_change_who_waits(clock_us: float) -> None:
    found = collectives(profile_of(late=True, clock_us=clock_us))
    assert found.mismatched == 0
    assert members(found) == {(0, 1), (2, 3), (0, 1, 2, 3)}
    waited = np.bincount(found.host, found.wait_ps, 4) / 1e6
    assert waited.tolist() == pytest.approx([0, 0, 0, STEPS * LATE_US])


def test_the_workers_page_says_so_too() -> None:
    rows = list(pod_viewer(profile_of(late=True)).workers.rows())
    waited = {row["host"]: row["waited_ms"] for row in rows}
    assert waited == pytest.approx({"rank0": 0, "rank1": 0, "rank2": 0, "rank3": LATE_US / 1e3})
