"""What communication costs the mean worker: waited for, hidden, and for whom."""

from dataclasses import replace

import pytest

from stepscope.advice.evidence.collective_time import CollectiveTime, collective_time
from tests.labelled.synthetic import GOOD, RING
from tests.profiles.loops import Collective, Loop
from tests.unit.advice.asking import ask

# Two devices work 1.5 ms; then they send for 0.4 ms, 0.3 of them beside the work.
SENDS = replace(GOOD, devices=2, collective=Collective(400, overlap_us=300, name=RING))


def of(*loops: Loop) -> CollectiveTime:
    return collective_time(ask(*loops).result("pod_viewer"))


def test_transfers_are_split_into_what_is_waited_for_and_what_is_hidden() -> None:
    time = of(SENDS, SENDS)
    assert time.exposed_ms == pytest.approx(0.1)
    assert time.hidden_ms == pytest.approx(0.3)
    assert time.transfer_ms == pytest.approx(0.4)
    assert time.work_ms == pytest.approx(1.5)
    assert time.waited_ms == pytest.approx(0.0)
    assert time.transfer_us == pytest.approx(400.0)
    assert time.per_step == pytest.approx(1.0)
    assert RING.startswith(time.longest.partition("(")[0])
    assert time.longest


def test_a_late_worker_is_waited_for_and_sends_no_longer() -> None:
    bare = replace(SENDS, collective=Collective(400, name=RING))
    # A fifth longer: 0.3 ms, which the three others of four wait for with nothing to do.
    time = of(bare, replace(bare, slower={1: 1.2}))
    assert time.waited_ms == pytest.approx(0.3 * 3 / 4)
    assert time.exposed_ms == pytest.approx(0.4)


def test_one_recorded_worker_cannot_tell_waits_from_transfers() -> None:
    both, alone = of(SENDS), of(replace(SENDS, devices=1))
    assert (both.is_matched, both.confidence) == (True, 1.0)
    assert (alone.is_matched, alone.confidence) == (False, 0.5)
    assert alone.longest == ""
