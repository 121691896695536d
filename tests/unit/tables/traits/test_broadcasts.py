"""Ops that make a tensor of all pairs from small ones."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.core.profile import Host
from stepscope.tables.traits.shapes import Broadcast, _broadcast, broadcasts, operands_of
from tests.unit.formats.kineto.layout import profile, x

Dims = list[list[int]]


def recorded(folder: Path, *ops: tuple[str, Dims]) -> Host:
    """These ops one after the other, with the shapes of their operands."""
    events = [
        x("cpu_op", name, 10.0 * at, 8.0, **({"Input_Dims": dims} if dims else {}))
        for at, (name, dims) in enumerate(ops)
    ]
    (host,) = profile(folder, events).hosts
    return host


def test_the_first_op_that_makes_all_pairs_is_known_by_their_number(tmp_path: Path) -> None:
    host = recorded(
        tmp_path,
        ("aten::linear", [[1024, 64], [1, 64], [1]]),
        ("aten::sub", [[1024, 1], [1024], []]),
        ("aten::abs", [[1024, 1024]]),
        ("aten::mul", [[1024, 1024], []]),
    )
    found = broadcasts(host)
    assert found == {1 << 20: Broadcast("aten/sub", ((1024, 1), (1024,)), (1024, 1024))}
    assert found[1 << 20].extents == "1024×1, 1024 → 1024×1024"


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("aten::add", [[4096, 512], [512], []]),  # a bias
        ("aten::mul", [[64, 128, 128], [64, 1, 128]]),  # a mask
        ("aten::sub", [[16, 1], [16], []]),  # small
        ("aten::mm", [[1024, 1], [1, 1024]]),  # a product is what it is for
        ("aten::sub", [[1024, 3], [1024, 4], []]),  # no shapes that go together
        ("aten::sub", []),
    ],
    ids=["bias", "mask", "small", "product", "not alike", "no shapes"],
)
def test_what_is_no_larger_than_an_operand_is_none(tmp_path: Path, name: str, dims: Dims) -> None:
    assert broadcasts(recorded(tmp_path, (name, dims))) == {}


SHAPES = st.lists(st.integers(1, 60), min_size=1, max_size=4).map(tuple)


@given(SHAPES, SHAPES)
def test_results_are_those_of_numpy(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    found = _broadcast("aten/sub", [left, right])
    try:
        result = np.broadcast_shapes(left, right)
    except ValueError:
        assert found is None
        return
    is_large = prod(result) >= max(1 << 14, 8 * max(prod(left), prod(right)))
    assert (found is not None) == is_large
    if found is not None:
        assert found.result == result


def test_extents_of_a_strangers_text_are_read_or_left() -> None:
    assert operands_of("[[512, 6], [], [10]]") == [(512, 6), (10,)]
    assert operands_of("[[[4, 4], [4, 4]], []]") == [(4, 4), (4, 4)]
    assert operands_of("not a shape [x]") == []
