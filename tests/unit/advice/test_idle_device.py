"""What the host does while a device is idle has a place."""

from types import SimpleNamespace
from typing import Any, cast

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
