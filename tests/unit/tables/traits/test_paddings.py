"""Tensors that padding makes much larger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.tables.core.profile import Host
from stepscope.tables.traits.shapes import Padding, padding_of, paddings
from tests.unit.formats.kineto.layout import profile, x


def recorded(folder: Path, *ops: tuple[str, list[Any], list[str]]) -> Host:
    """These ops one after the other: name, shapes of the operands, values of the others."""
    events = [
        x("cpu_op", name, 10.0 * at, 8.0, **{"Input Dims": dims, "Concrete Inputs": values})
        for at, (name, dims, values) in enumerate(ops)
    ]
    (host,) = profile(folder, events).hosts
    return host


def test_a_picture_that_is_padded_to_a_power_of_two(tmp_path: Path) -> None:
    host = recorded(
        tmp_path,
        ("aten::pad", [[1, 3, 136, 136], [], []], ["", "[0, 120, 0, 120]", ""]),
        ("aten::constant_pad_nd", [[1, 3, 136, 136], [], []], ["", "[0, 120, 0, 120]", "0."]),
        ("aten::conv2d", [[1, 3, 256, 256], [8, 3, 3, 3]], ["", ""]),
    )
    found, _inner = paddings(host)
    times = 256 * 256 / (136 * 136)
    assert found == Padding("aten/pad", (1, 3, 136, 136), (1, 3, 256, 256), 1, times)
    assert found.extents == "1×3×136×136 → 1×3×256×256"
    assert padding_of(host, [(8, 24, 256, 256)]) == found
    # One of the two is a width by chance.
    assert padding_of(host, [(8, 256, 3, 3), (64, 136, 136)]) is None


def test_sentences_that_are_padded_to_the_longest(tmp_path: Path) -> None:
    lengths = [[[100, 64], [10, 64], [10, 64], [40, 64], [40, 64]], [], []]
    host = recorded(tmp_path, ("aten::pad_sequence", lengths, ["", "True", "0.", ""]))
    (found,) = paddings(host)
    assert (found.result, found.times) == ((5, 100, 64), 2.5)
    assert found.extents == "100×64 → 5×100×64"
    assert padding_of(host, [(500, 64), (64, 64)]) is None
    assert padding_of(host, [(5, 100, 16)]) == found


@pytest.mark.parametrize(
    ("dims", "values"),
    [
        ([[8, 3, 64, 64], [], []], ["", "[1, 1, 1, 1]", ""]),  # what a convolution needs
        ([[1, 4, 4], [], []], ["", "[0, 60]", ""]),  # small
        ([[64, 1000], [], []], ["", "[-500, 0]", ""]),  # cut
        ([[64, 1000], [], []], ["", "[-2000, 0]", ""]),  # damage
        ([[64], [], []], ["", "[0, 9, 0, 9, 0, 9]", ""]),
        ([[64, 10**12], [], []], ["", "[0, 900000]", ""]),
        ([[0, 1000], [], []], ["", "[0, 9000]", ""]),
        ([], []),
    ],
)
def test_what_grows_little_or_is_damaged_is_none(
    tmp_path: Path, dims: list[Any], values: list[str]
) -> None:
    assert paddings(recorded(tmp_path, ("aten::pad", dims, values))) == ()
