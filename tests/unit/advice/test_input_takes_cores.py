"""input-takes-cores: batches in time that the step's own ops pay for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.formats.xspace import decode
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Finding, Place
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.environment import cores_seen, host_cores
from tests.profiles import draw, event, space
from tests.unit.advice.starved import results


def answer(
    op: str = "PyFunc",
    busy_ms: float = 620.0,
    *,
    cores: int = 2,
    devices: int = 0,
    wait_ms: float = 0.2,
    rivals: tuple[SimpleNamespace, ...] = (),
) -> Answer:
    """Of steps of 20 ms in a second that was recorded; a fifth of ``busy_ms`` is of Cast."""
    times = {op: 0.8 * busy_ms, "Cast": 0.2 * busy_ms, "MapDataset": 900.0}
    ops = [SimpleNamespace(type=name, self_time_ms=time) for name, time in times.items()]
    found = results(None, {}, wait_ms=wait_ms, step_ms=20.0, host_cores=cores)
    found["overview_page"].environment.device_count = devices
    found["tf_data_bottleneck_analysis"].function_ops.records = lambda: ops
    found["step_account"] = SimpleNamespace(rivals=SimpleNamespace(records=lambda: list(rivals)))
    (one,) = next(rule for rule in RULES if rule.id == "input-takes-cores").check(Results(found))
    return one


@pytest.mark.parametrize("op", ["PyFunc", "DecodeJpeg"])
def test_what_makes_batches_beside_the_step_is_told_with_its_share_of_the_cores(op: str) -> None:
    """0.62 of 2 cores is 31 % of a step of 20 ms: 6.2 ms."""
    rival = {"function": "rarity", "file": "faces.py", "line": 9, "busy_frac": 0.7, "count": 1}
    beside = SimpleNamespace(loop_waits=False, makes_input=False, call="", **rival)
    found = answer(op, rivals=(beside,))
    assert isinstance(found, Finding)
    assert (found.saving_low_ms, found.saving_high_ms) == pytest.approx((0.4 * 6.2, 1.6 * 6.2))
    assert found.place == Place("rarity", "faces.py", 9)


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        ({"busy_ms": 250.0}, Silence),  # 0.25 cores
        ({"cores": 16}, Silence),
        ({"devices": 1}, Silence),  # a device computes the steps
        ({"wait_ms": 5.0}, Silence),  # the step waits for input
        ({"cores": 0}, Unknown),
    ],
)
def test_it_is_silent_where_input_takes_nothing_from_the_step(
    known: dict[str, Any], kind: type
) -> None:
    assert isinstance(answer(**known), kind)


def test_threads_of_a_pool_tell_how_many_cores_there_are_at_least() -> None:
    data = draw(
        """
        /host:CPU
          tf_Compute/-17   A..
          tf_Compute/23    .A.
          tf_Compute/29    ..A
          tf_data_1/4      AAA
          tf_data_1/5      AAA
          tf_data_1/6      AAA
          tf_data_1/7      AAA
        """,
        unit_us=100,
        A=event("model/dense/MatMul:MatMul"),
    )
    host = Host("host", decode(space(*data)))
    assert (host_cores(host), cores_seen(host)) == (0, 3)
