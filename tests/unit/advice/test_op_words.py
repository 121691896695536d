"""Ops: where they come from, once, and only what would help."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.result import Finding
from stepscope.tables.parts.part_traits import ON_EACH_DEVICE
from tests.unit.advice.test_largest_part import account, first, op, part

FILE = "/home/me/project/model.py"


def said(family: str = "matmul", **changes: Any) -> Finding:
    return first(account(op(family, 6.0) | changes))


def test_a_title_says_which_line_has_most_of_it() -> None:
    found = said(mostly="64% of it in Decoder.forward (model.py:44)", is_source=True)
    assert found.title == (
        "matmul takes 60% of the step, 64% of it in Decoder.forward (model.py:44)"
    )
    assert said().title == "matmul takes 60% of the step"


def test_a_sentence_has_no_folders_the_place_does() -> None:
    found = said(file=FILE, line=44, is_source=True, caller="/home/me/project/train.py:9 main")
    assert "It comes from model.py:44, called from train.py:9 main." in found.message
    assert found.place is not None
    assert found.place.file == FILE


def test_places_that_are_listed_are_not_said_again() -> None:
    where: dict[str, Any] = {
        "file": FILE,
        "line": 44,
        "is_source": True,
        "caller": "train.py:9 main",
    }
    listed = said(made_of="mm 100%; at model.py:44 forward 70%, model.py:50 forward 30%", **where)
    assert "comes from" not in listed.message
    called = said(made_of="mm 100%; called from train.py:9 main 70%, train.py:12 main 30%", **where)
    assert "It comes from model.py:44." in called.message


def test_only_of_what_a_device_ran_is_a_peak_known() -> None:
    assert not any("roofline_model" in one for one in said().actions)
    assert any("roofline_model" in one for one in said(on_device=True).actions)


@pytest.mark.parametrize("op_name", ["jit(step)/jvp()/jit(relu)/max", "model/leaky_relu/max"])
def test_an_activation_is_not_taken_for_pairs_by_broadcasting(op_name: str) -> None:
    found = said("max", op=op_name)
    assert "all pairs" not in found.actions[0]
    assert "the same for next to nothing" not in found.assumption
    assert "all pairs" in said("max", op="model/max").actions[0]


def test_an_op_that_has_most_of_a_loop_is_named_in_its_place() -> None:
    found = said("while", first="while/body/_1/while/concat_1", first_frac=0.99)
    assert found.title == "concat in a loop of the compiled program takes 60% of the step"
    assert found.actions[0].startswith("Write what each iteration makes into an array")
    mixed = said("while", first="while/body/_1/while/MatMul", first_frac=0.4)
    assert mixed.title == "A loop of the compiled program (while) takes 60% of the step"


def test_bursts_of_the_ops_alone_are_not_said_of_what_is_mostly_the_runtimes() -> None:
    bursts = op("dot", 1.0, every=0.0, burst_ms=4.0)
    runtime = part(kind="runtime", name="runtime", function="", time_ms=7.0)
    assert "few steps" not in first(account(bursts, runtime)).message
    assert "Most of it is in few steps, 4 ms in each of them." in first(account(bursts)).message


def test_nothing_is_said_of_ops_that_were_not_recorded() -> None:
    """A runtime that names no op of its programs has all of the time: it is not "around" any."""
    runtime = part(kind="runtime", name="runtime", function="", time_ms=7.0)
    found = first(account(op("step", 1.0) | {"is_program": True, "first": "step"}, runtime))
    assert found.title == "step takes 80% of the step"
    assert "the ops themselves" not in found.message


def test_short_steps_are_told_in_microseconds() -> None:
    short = replace(account(op("matmul", 0.3, step_frac=0.6)), step_time_ms=0.5)
    assert "take 300 of each 500 µs step (60%)" in first(short).message


@pytest.mark.parametrize(
    ("family", "says"),
    [
        ("log_softmax_backward_data", "log_softmax's gradient (log_softmax_backward_data) takes"),
        ("native_layer_norm_backward", "layer_norm's gradient (native_layer_norm_backward) takes"),
        ("weight_norm_interface", "weight_norm (weight_norm_interface) takes"),
        ("clamp_min", "clamp_min (as in relu) takes"),
        ("matmul", "matmul takes"),
    ],
)
def test_a_title_has_the_name_that_programs_call_an_op_by(family: str, says: str) -> None:
    assert said(family).title.startswith(says)


def test_what_each_device_does_whole_is_to_be_divided() -> None:
    found = said("dot_general", traits=ON_EACH_DEVICE)
    assert "Divide the batch" in found.actions[0]
    assert found.severity == "high"


def test_ops_on_text_leave_the_step_together() -> None:
    found = said("text", made_of="AsString 56%, StringToHashBucketStrong 44%")
    assert found.title == "Ops on text take 60% of the step"
    assert "Turn text into numbers once" in found.actions[0]


@pytest.mark.parametrize(
    ("first_", "made_of", "title", "says"),
    [
        ("aten/copy_", "aten/copy_ 74%, cudaMemcpyAsync 26%", "between host and device",
         "(60%): aten/copy_ 74%, cudaMemcpyAsync 26%."),
        ("copy.22", "copy.22 13%, copy.20 13%", "within a device", ": copy.22 13%, copy.20 13%."),
        ("Memcpy DtoD (Device -> Device)", "", "within a device", "(60%)."),
        ("copy", "copy 100%", "between host and device", "(60%)."),
    ],
)  # fmt: skip
def test_copies_are_told_by_what_makes_them(
    first_: str, made_of: str, title: str, says: str
) -> None:
    copies = part(
        kind="copy", name="copy", function="", file="", line=0, caller="", time_ms=6.0,
        first=first_, first_kind="copy", first_frac=0.98 if first_ == "copy" else 0.7,
        made_of=made_of,
    )  # fmt: skip
    found = first(account(copies))
    assert found.title == f"Copying {title} takes 60% of the step"
    assert says in found.message
