"""What the host does while a device is idle has a place."""

from types import SimpleNamespace
from typing import Any, cast

from stepscope.advice.evidence.host_ops import host_ops
from stepscope.advice.results import Results
from stepscope.advice.rules.device.idle_device import _meanwhile
from tests.unit.advice.test_largest_part import account, part


def results(*parts: dict[str, Any]) -> Results:
    return cast(Results, SimpleNamespace(optional=SimpleNamespace(step_account=account(*parts))))


PRODUCTS = part(kind="op", name="matmul", time_ms=5.0, launched="main (train.py:3) 100%")
NOISE = part(kind="op", name="normal", time_ms=3.0, file="train.py", line=8)


def test_the_hosts_largest_part_is_what_the_device_waits_for() -> None:
    found = _meanwhile(results(PRODUCTS, NOISE), idle_ms=4.0)
    assert found is not None
    assert (found.name, found.file, found.line) == ("normal", "train.py", 8)


def test_where_much_else_fills_the_idle_time_nobody_is_named() -> None:
    assert _meanwhile(results(PRODUCTS, NOISE), idle_ms=7.0) is None


def test_ops_are_the_devices_where_no_launch_says_otherwise() -> None:
    assert _meanwhile(results(NOISE), idle_ms=4.0) is None
    python = part(kind="python", name="augment", time_ms=3.0)
    found = _meanwhile(results(NOISE, python), idle_ms=4.0)
    assert found is not None
    assert found.name == "augment"


def test_a_wait_for_the_idle_device_has_a_place() -> None:
    waits = part(kind="wait", name="hipMemcpyWithStream", time_ms=3.5, file="runner.py", line=276)
    found = _meanwhile(results(PRODUCTS, waits), idle_ms=4.0)
    assert found is not None
    assert (found.name, found.file, found.line) == ("hipMemcpyWithStream", "runner.py", 276)


def test_what_the_host_computes_for_the_device_is_named() -> None:
    """A rotary embedding's angles, on the host in each layer: "the device is idle", and no more."""

    def owner(name: str, time_ms: float, on_device: bool, **more: Any) -> SimpleNamespace:
        known = {"function": "", "file": "", "line": None, "caller": "", "stretches": 2.0} | more
        return SimpleNamespace(kind="op", name=name, time_ms=time_ms, on_device=on_device, **known)

    at = {"function": "angles", "file": "train.py", "line": 27}
    listed = [
        owner("aten/cos", 0.8, False, **at),
        owner("aten/mul", 0.9, False, **at),
        owner("aten/mul and 1 other op", 0.5, True),
        owner("aten/mm", 0.3, False),  # what hands it over, on the thread of gradients
        owner("aten/mm and 2 other ops", 2.0, True),
        owner("aten/sum", 0.5, False, stretches=20),  # each as short as a launch
        owner("aten/sum", 0.1, True),
        owner("aten/empty", 0.5, False),
    ]
    told = SimpleNamespace(
        has_device=True, step_time_ms=10.0, owners=SimpleNamespace(records=lambda: listed)
    )
    found = host_ops(cast(Any, told))
    assert found is not None
    assert found.said() == (
        " aten/mul, aten/cos compute on the host meanwhile, most in angles (train.py:27): 1.7 ms."
    )
    told.has_device = False
    assert host_ops(cast(Any, told)) is None
