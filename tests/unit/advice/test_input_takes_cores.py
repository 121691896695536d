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
    run = SimpleNamespace(profile_duration_ms=1000.0, host_cores=cores, device_count=devices)
    ops = [
        SimpleNamespace(type=op, self_time_ms=0.8 * busy_ms),
        SimpleNamespace(type="Cast", self_time_ms=0.2 * busy_ms),
        SimpleNamespace(type="MapDataset", self_time_ms=900.0),
    ]
    found: dict[str, Any] = {
        "overview_page": SimpleNamespace(
            steps=SimpleNamespace(time_ms=SimpleNamespace(mean=20.0), confidence=1.0),
            breakdown_ms={"input": wait_ms},
            environment=run,
        ),
        "tf_data_bottleneck_analysis": SimpleNamespace(
            function_ops=SimpleNamespace(records=lambda: ops)
        ),
        "step_account": SimpleNamespace(rivals=SimpleNamespace(records=lambda: list(rivals))),
    }
    (one,) = next(rule for rule in RULES if rule.id == "input-takes-cores").check(Results(found))
    return one


def test_what_makes_batches_beside_the_step_is_told_with_its_share_of_the_cores() -> None:
    """0.62 of 2 cores is 31 % of a step of 20 ms: 6.2 ms."""
    found = answer()
    assert isinstance(found, Finding)
    assert found.saving_low_ms == pytest.approx(0.4 * 6.2)
    assert found.saving_high_ms == pytest.approx(1.6 * 6.2)
    in_ops = answer("DecodeJpeg")
    assert isinstance(in_ops, Finding)


def test_where_the_programs_own_thread_makes_them_its_line_is_the_place() -> None:
    rival = {
        "function": "rarity",
        "file": "faces.py",
        "line": 9,
        "busy_frac": 0.7,
        "count": 1,
        "call": "",
    }
    found = answer(rivals=(SimpleNamespace(loop_waits=False, makes_input=False, **rival),))
    assert isinstance(found, Finding)
    assert found.place == Place("rarity", "faces.py", 9)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"busy_ms": 250.0}, "0.25 cores"),
        ({"cores": 16}, "0.62 of 16 cores"),
        ({"devices": 1}, "A device computes the steps"),
        ({"wait_ms": 5.0}, "waits for input for 25% of its time"),
    ],
)
def test_it_is_silent_where_input_takes_nothing_from_the_step(
    known: dict[str, Any], said: str
) -> None:
    found = answer(**known)
    assert isinstance(found, Silence)


def test_without_the_number_of_cores_nobody_can_tell() -> None:
    assert isinstance(answer(cores=0), Unknown)


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
