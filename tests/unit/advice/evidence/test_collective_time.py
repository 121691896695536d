"""What communication costs the mean worker: waited for, hidden, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.advice.evidence.collective_time import CollectiveTime, collective_time
from tests.labelled.synthetic import GOOD, RING
from tests.profiles.loops import Collective, Loop
from tests.unit.advice.asking import ask


def of(*loops: Loop) -> CollectiveTime:
    return collective_time(ask(*loops).result("pod_viewer"))


# Two devices work 1.5 ms; then they send for 0.4 ms, 0.3 of them beside the work.
SENDS = replace(GOOD, devices=2, collective=Collective(400, overlap_us=300, name=RING))


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
