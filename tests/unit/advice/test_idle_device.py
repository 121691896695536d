"""What the host does while a device is idle has a place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stepscope.analysis.step_account import StepAccount
from stepscope.result import Finding
from tests.labelled.synthetic import GOOD
from tests.unit.advice.asking import ask
from tests.unit.advice.made import finding, with_owners
from tests.unit.advice.test_largest_part import account, part

LOOP = ask(replace(GOOD, python_us=2_500))


def idle(of: StepAccount, idle_ms: float) -> Finding:
    """What the rule says of a device that idles so long in a step with this account."""
    device = replace(LOOP.result("device_idle"), idle_ms=idle_ms)
    page = LOOP.result("overview_page")
    return finding("idle-device", overview_page=page, device_idle=device, step_account=of)


PRODUCTS = part(kind="op", name="matmul", time_ms=5.0, is_launched=True)
NOISE = part(kind="op", name="normal", time_ms=3.0, file="train.py", line=8)


def test_the_hosts_largest_part_is_what_the_device_waits_for() -> None:
    found = idle(account(PRODUCTS, NOISE), 4.0)
    assert found.place is not None
    assert (found.place.family, found.place.file, found.place.line) == ("normal", "train.py", 8)


def test_where_much_else_fills_the_idle_time_nobody_is_named() -> None:
    found = idle(account(PRODUCTS, NOISE), 7.0)
    assert found.place is None and "Most of it is" not in found.message


def test_what_the_host_computes_for_the_device_is_named() -> None:
    """A rotary embedding's angles, on the host in each layer: "the device is idle", and no more."""

    def owner(name: str, time_ms: float, on_device: bool, **more: Any) -> dict[str, Any]:
        known = {"kind": "op", "name": name, "time_ms": time_ms, "on_device": on_device}
        return {"stretches": 2.0} | known | more

    at = {"function": "angles", "file": "train.py", "line": 27}
    listed = [
        owner("aten/cos", 0.8, False, **at),
        owner("aten/mul", 0.9, False, **at),
        owner("aten/mul and 1 other op", 0.5, True),
        owner("aten/mm", 0.3, False),  # what hands it over, on the thread of gradients
        owner("aten/mm and 2 other ops", 2.0, True),
        owner("aten/sum", 0.5, False, stretches=20.0),  # each as short as a launch
        owner("aten/sum", 0.1, True),
        owner("aten/empty", 0.5, False),
    ]
    found = idle(with_owners(account(), *listed, has_device=True), 4.0)
    assert found.place is not None and found.place.function == "angles"
    idle(with_owners(account(), *listed), 4.0)
