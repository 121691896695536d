"""Messages among many end on each member when its own have come: arrivals tell who waits."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.pod.analyse import add_exchange_waits, analyse
from stepscope.pod.clocks import clocks_of
from stepscope.pod.intake import gathered
from stepscope.pod.meetings import Meetings, join, units_of
from stepscope.summary.build import summarise
from stepscope.summary.summary import Summary
from stepscope.tables.core.profile import Host
from tests.profiles import gpu, line, space, stream
from tests.profiles import host as host_plane
from tests.profiles.model import EventLike

_EXCHANGE = "ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)"
_REDUCE = "ncclDevKernel_AllReduce_Sum_f32"


def ranks(
    arrives: list[float], leaves: list[float], clock: float = 0.0, steps: int = 6
) -> list[Summary]:
    """One device each; in every step of 1000 µs an exchange, and an all-reduce at 800 for all.

    Args:
        arrives: In µs from the begin of each step, by rank.
        leaves: The same.
        clock: What the last rank's clock shows more.
        steps: How many.
    """
    found = []
    for rank, (come, go) in enumerate(zip(arrives, leaves, strict=True)):
        shift = clock if rank == len(arrives) - 1 else 0.0
        main: list[EventLike] = []
        exchanges: list[EventLike] = []
        for step in range(steps):
            base = 1000.0 * step + shift
            main.append(("train", base, 950.0, {"step_num": step, "_r": 1}))
            exchanges += [(_EXCHANGE, base + come, go - come), (_REDUCE, base + 800.0, 100.0)]
        data = space(host_plane(line("python", *main)), gpu(0, stream(7, *exchanges)))
        found.append(summarise(Host(f"rank{rank}", decode(data))))
    return found


def told(many: list[Summary]) -> Meetings:
    who = [one.who for one in many]
    units = units_of(who)
    found = join(gathered(many))
    return add_exchange_waits(found, units, who, clocks_of(found, units, who))


def waits_us(found: Meetings, unit: int) -> list[float]:
    mine = found.unit == unit
    untold = ~found.tells[found.node]
    waits: list[float] = (found.wait_ps(mine & untold) / 1e6).tolist()
    return waits


@pytest.mark.parametrize("clock", [0.0, 3_456.0])
def test_members_wait_for_the_last_to_arrive_whatever_their_clocks(clock: float) -> None:
    found = told(ranks([100, 150, 400], [600, 620, 610], clock))
    # Of six steps the first and the last may be cut off.
    assert found.met[~found.tells].all()
    for unit, wait in enumerate((300.0, 250.0, 0.0)):
        assert waits_us(found, unit) == pytest.approx([wait] * 4, abs=0.01)
    rows = found.unit == 1
    stood = found.stood_ps[rows & ~found.tells[found.node]] / 1e6
    assert stood.tolist() == pytest.approx([250.0] * 4, abs=0.01)


def test_who_leaves_before_the_last_arrives_met_nobody() -> None:
    """Members of other groups that happen to do the same in the same order."""
    found = told(ranks([100, 150, 400], [300, 620, 610]))
    assert not found.met.any()
    assert waits_us(found, 1) == [0.0] * 4


def test_the_late_rank_is_named_with_what_the_others_stand_still_for_it() -> None:
    many = ranks([100, 100, 100, 400], [600, 600, 600, 600])
    pod = analyse(many)
    (suspect,) = pod.suspects.rows()
    assert suspect["name"] in ("rank3", "GPU:0 of rank3")
    assert suspect["saving_ms"] == pytest.approx(0.3, abs=0.03)
    waits = list(pod.devices["waits_ms"])
    assert waits == [pytest.approx(0.3, abs=0.01)] * 3 + [pytest.approx(0, abs=0.01)]
    assert list(pod.devices["last_frac"])[3] >= 0.5
