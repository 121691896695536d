"""Rules about copies: between host and device, and on and between devices."""

from dataclasses import replace

import pytest

from tests.labelled.synthetic import GOOD, GOOD_TPU, WAIT, layers, tpu_ops
from tests.profiles.loops import Kernel, copy_to_device
from tests.unit.advice.asking import ask

PAGEABLE = copy_to_device(800, 8 << 20, memory="pageable", blocking=True)
OFFLOAD = Kernel(
    "%copy-done.1 = f32[5,8]{1,0} copy-done((f32[5,8]{1,0}, f32[5,8]{1,0:S(5)}, u32[]) %c)",
    2_000,
    stats={"hlo_category": "copy-done"},
)


def test_a_copy_that_nothing_hides_costs_its_time_and_says_why() -> None:
    found = ask(replace(GOOD, kernels=[PAGEABLE, *layers()], wait=WAIT)).finding("host-copies")
    assert found.saving_ms == pytest.approx(0.8)


def test_copies_are_not_taken_for_input() -> None:
    asked = ask(replace(GOOD, kernels=[PAGEABLE, *layers()], wait=WAIT))
    assert asked.advice()[0].rule == "host-copies"


def test_offloaded_tensors_are_recognised_in_the_program() -> None:
    found = ask(replace(GOOD_TPU, kernels=[OFFLOAD, *tpu_ops()])).finding("host-copies")
    # 2 ms, of which 1.2 ms of compute could hide as much as it lasts.
    assert found.saving_ms == pytest.approx(1.2)
    assert found.saving_high_ms == pytest.approx(2.0)
    assert found.evidence[1].rows == ("copy-done.1",)


def test_copies_within_the_device_are_named() -> None:
    moves = Kernel("MemcpyD2D", 120)
    found = ask(replace(GOOD, kernels=layers(between=(moves,)))).finding("device-copies")
    assert found.measured["device_to_device_ms"] == pytest.approx(0.72)
    assert found.saving_ms == pytest.approx(0.36)
