"""Steps of several hosts as one session."""

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.result import Diagnostic
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.steps.attribution import PARTS
from stepscope.tables.steps.session import aligned_steps, session_steps
from tests.profiles import async_gpu, host, line, no_events, space, worked_example
from tests.profiles.model import EventLike


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def trained(numbers: list[int], lengths: list[float], clock: float = 0.0) -> bytes:
    events: list[EventLike] = []
    base = clock
    for number, length in zip(numbers, lengths, strict=True):
        events += [
            ("train", base, length, {"step_num": number, "_r": 1}),
            ("IteratorGetNext", base, length / 2),
        ]
        base += length
    return space(host(line("python", *events)))


def test_a_step_is_as_long_as_on_its_slowest_host() -> None:
    one = trained([0, 1, 2], [500, 800, 500])
    two = trained([0, 1, 2], [600, 300, 600], clock=123_456)
    found = session_steps(profile(one, two))
    assert found is not None
    assert (found.duration_ps // 1_000_000).tolist() == [600, 800, 600]
    assert found.host.tolist() == [1, 0, 1]
    total = np.sum([found.parts_ps[part] for part in PARTS], axis=0)
    assert (total == found.duration_ps).all()


def test_unequal_counts_meet_where_the_numbers_agree() -> None:
    found = session_steps(
        profile(trained([4, 5, 6, 7], [100, 200, 300, 400]), trained([6, 7, 8], [10, 20, 30]))
    )
    assert found is not None
    assert found.num.tolist() == [6, 7]
    assert (found.duration_ps // 1_000_000).tolist() == [300, 400]


def test_numbers_that_never_agree_are_aligned_by_order() -> None:
    found = session_steps(profile(trained([0, 1, 2], [100] * 3), trained([90, 91], [50, 500])))
    assert found is not None
    assert found.num.tolist() == [0, 1]
    assert (found.duration_ps // 1_000_000).tolist() == [100, 500]


def test_numbers_in_another_order_still_meet() -> None:
    found = session_steps(
        profile(trained([1, 2, 3], [100, 200, 300]), trained([3, 1, 2], [900, 10, 20]))
    )
    assert found is not None
    assert found.num.tolist() == [1, 2, 3]
    assert (found.duration_ps // 1_000_000).tolist() == [100, 200, 900]


def test_a_coordinator_without_devices_is_left_out() -> None:
    aligned = aligned_steps(profile(worked_example(), worked_example(gpu=True)))
    assert [one.host for one in aligned] == [1]


def test_a_host_without_steps_hides_no_other() -> None:
    aligned = aligned_steps(profile(no_events(), async_gpu()))
    assert [one.host for one in aligned] == [1]
    assert session_steps(profile(no_events())) is None


def test_a_step_counts_if_it_counts_on_every_host() -> None:
    long, short = trained(list(range(8)), [100.0] * 8), trained(list(range(3, 7)), [100.0] * 4)
    found = session_steps(profile(long, short))
    assert found is not None
    assert found.num.tolist() == [3, 4, 5, 6]
    assert found.kept.all()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_unreadable_host_leaves_the_others(order: tuple[int, int]) -> None:
    """The store reports it; the profile holds the hosts that opened."""
    hosts = [Host("a", decode(worked_example())), Host("b", decode(worked_example(steps=6)))]
    opened = Profile(
        "s",
        tuple(hosts[place] for place in order),
        (Diagnostic("unreadable-host", "error", "c.xplane.pb is not readable.", "c"),),
    )
    found = session_steps(opened)
    assert found is not None
    assert len(found) == 6
