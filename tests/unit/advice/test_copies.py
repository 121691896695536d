"""Rules about copies: between host and device, and on and between devices."""

from dataclasses import replace

import pytest

from tests.labelled.synthetic import GOOD, GOOD_TPU, WAIT, layers, tpu_ops
from tests.profiles.loops import Kernel, copy_to_device, copy_to_host
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


def test_copies_from_pinned_memory_are_not_told_to_be_pinned() -> None:
    pinned = copy_to_device(800, 8 << 20)
    found = ask(replace(GOOD, kernels=[pinned, *layers()], wait=WAIT)).finding("host-copies")
    assert "pin" not in " ".join((*found.actions, *found.code.values()))


def test_copies_that_have_most_of_the_step_come_first_whatever_hides_them() -> None:
    """Little compute can run beside them: it is still where the step goes."""
    loop = replace(GOOD, kernels=[copy_to_device(90_000, 64 << 20, memory="pageable"), *layers()])
    found = ask(loop).advice()
    assert found[0].rule == "host-copies"
    # How much more could be hidden behind other work is unknown.
    assert found[0].saving_ms is None
    assert found[0].no_saving.startswith("it may be anything between ")


def test_results_fetched_each_step_are_copies_to_the_host() -> None:
    found = ask(replace(GOOD, kernels=[*layers(), copy_to_host(600, 1 << 20)])).finding(
        "host-copies"
    )
    assert found.saving_ms == pytest.approx(0.6)


def test_compute_can_hide_no_more_than_it_lasts() -> None:
    long = copy_to_device(5_000, 8 << 20)
    found = ask(replace(GOOD, kernels=[long, *layers()])).finding("host-copies")
    assert found.saving_ms == pytest.approx(1.5)
    assert found.saving_high_ms == pytest.approx(5.0)


def test_copies_are_not_taken_for_input() -> None:
    asked = ask(replace(GOOD, kernels=[PAGEABLE, *layers()], wait=WAIT))
    assert asked.advice()[0].rule == "host-copies"


def test_copies_that_come_with_input_stand_before_it() -> None:
    loop = replace(GOOD, kernels=[PAGEABLE, *layers()], wait=WAIT, input_us=300)
    findings = ask(loop).advice()
    places = {one.rule: place for place, one in enumerate(findings)}
    assert places["host-copies"] < places["input-bound"]
    assert "host-copies" in findings[places["input-bound"]].explained_by


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
