"""Ranges that the program marks are known by their names."""

from __future__ import annotations

import pytest

from stepscope.tables.core.regions import prepares_backward, region_name

LIGHTNING = "[pl][profile]"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"{LIGHTNING}[Strategy]SingleDeviceStrategy.training_step", "training_step"),
        (f"{LIGHTNING}[Strategy]SingleDeviceStrategy.batch_to_device", ""),
        ("tokenise", "tokenise"),
        (f"{LIGHTNING}[LightningModule]Tagger.on_train_batch_end", "Tagger.on_train_batch_end"),
        (f"{LIGHTNING}[Callback]Logs.on_train_batch_end", "Logs.on_train_batch_end"),
        (f"{LIGHTNING}[Strategy]SingleDeviceStrategy.backward", ""),
        ("Optimizer.step#Adam.step", ""),
        ("ProfilerStep#3", ""),
    ],
)
def test_the_programs_ranges_are_known_by_their_names(text: str, name: str) -> None:
    assert region_name(text) == name


@pytest.mark.parametrize(
    ("text", "prepares"),
    [
        ("_DDPSink", True),
        ("RegisterPostBackwardFunction", True),
        ("autograd::engine::evaluate_function: _DDPSinkBackward", False),
        # A look at Python that fell into the import of the class.
        ("$torch/nn/parallel/distributed.py:378 _DDPSink", False),
    ],
)
def test_what_prepares_a_backward_pass_is_an_op(text: str, prepares: bool) -> None:
    assert prepares_backward(text) == prepares
