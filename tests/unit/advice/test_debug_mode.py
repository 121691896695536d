"""debug-mode: switches that were noted, and checks that were recorded; worked out by hand."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.registry import Silence
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import Plane, draw, event, nth, space
from tests.unit.advice.asking import Asked

STEP = event("train", step_num=nth, _r=1)
LETTERS = {
    "S": STEP,
    "M": event("aten/mm:mm"),
    "B": event("autograd/MmBackward0:MmBackward0"),
    "N": event("aten/isnan:isnan"),
    "I": event("aten/item:item"),
    "C": event("a/CheckNumericsV2:CheckNumericsV2"),
}


def asked(thread: str, **settings: str) -> Asked:
    picture = f"""
        /host:CPU
          python   S---------S---------S---------S---------
          "        {thread * 4}
    """
    planes = draw(picture, unit_us=100, **LETTERS)
    noted = {f"setting_{name}": value for name, value in settings.items()}
    data = space(*planes, Plane("Task Environment", (), stats=noted))
    return Asked(Profile("s", (Host("host", decode(data)),)))


def test_a_check_of_every_gradient_is_anomaly_mode() -> None:
    found = asked("MMBNIBNI..").finding("debug-mode")
    # At least the checks; at most all but the two products.
    assert found.saving_low_ms == pytest.approx(0.4)
    assert found.saving_high_ms == pytest.approx(0.8)
    assert found.severity == "high"


def test_one_look_at_the_loss_is_no_mode() -> None:
    assert "no op checks every tensor" in asked("MMBBBBNI..").reason("debug-mode", Silence)


def test_a_switch_that_was_noted_is_enough() -> None:
    found = asked("MM........", jax_debug_nans="on").finding("debug-mode")
    assert found.saving_high_ms == pytest.approx(0.8)


def test_other_settings_are_not_for_debugging() -> None:
    asked("MM........", parameters="float64").reason("debug-mode", Silence)


def test_products_are_of_the_type_of_the_parameters() -> None:
    for noted, said in (("float64", "f64"), ("bfloat16", "")):
        account = asked("MMB.......", parameters=noted).result("step_account")
        types = {one.name: one.text("data_type") for one in account.part_list() if one.kind == "op"}
        assert types["matmul"] == said
        assert types["MmBackward0"] == ""
