"""Which compiled functions are JAX's own, by their names, and which the program's."""

from __future__ import annotations

import pytest

from stepscope.tables.steps.calls import is_single_op


@pytest.mark.parametrize(
    ("function", "is_op"),
    [
        ("add", True),
        ("_normal", True),
        ("_where", True),
        ("_threefry_split", True),
        ("_reduce_max", True),
        # Methods that people compile: a training step, however it is called.
        ("_update", False),
        ("_step", False),
        ("_act_impl", False),
        ("__call__", False),
        ("train_step", False),
    ],
)
def test_what_begins_with_an_underscore_may_be_the_programs(function: str, is_op: bool) -> None:
    assert is_single_op(function) == is_op
