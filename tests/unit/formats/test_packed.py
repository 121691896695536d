"""Columns that keep their values in few bytes give back what they were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.formats.packed import NULL, CodedTexts, PackedIntegers, compact, narrow

NUMBERS = st.one_of(st.just(NULL), st.integers(-3, 3), st.integers(-(2**63) + 1, 2**63 - 1))


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=6), max_size=4))
def test_packed_integers_are_the_integers(blocks: list[list[int]]) -> None:
    packed = PackedIntegers()
    for block in blocks:
        packed.add(np.asarray(block, np.int64))
    assert packed.array().tolist() == [one for block in blocks for one in block]


EDGES = [-(2**63), -(2**31) - 1, -(2**15), -129, -128, -1, 0, 127, 128, 2**15, 2**31, 2**63 - 1]


@pytest.mark.parametrize("packs", [narrow, compact])
@given(values=st.lists(st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1)))
def test_few_bytes_hold_every_number(
    packs: Callable[[NDArray[Any]], NDArray[Any]], values: list[int]
) -> None:
    assert packs(np.asarray(values, np.int64)).tolist() == values


@pytest.mark.parametrize(
    ("values", "kind"),
    [([-128, 127], np.int8), ([128, 0], np.int16), ([-(2**15) - 1, 0], np.int32)],
)
def test_integers_take_as_few_bytes_as_hold_them(values: list[int], kind: Any) -> None:
    assert narrow(np.asarray(values, np.int64)).dtype == kind
    assert compact(np.asarray(values, np.int64)).dtype == kind
    assert narrow(np.asarray([2**31])).dtype == np.int64


def test_equal_values_are_one_for_all_rows() -> None:
    assert compact(np.full(1000, 5)).strides == (0,)
    assert compact(np.full(1000, fill_value=True)).strides == (0,)


def test_what_is_narrow_is_a_copy_and_what_is_no_integer_stays() -> None:
    small = np.asarray([1, 2], np.int8)
    assert not np.shares_memory(narrow(small), small)
    assert compact(np.asarray([True, False])).tolist() == [True, False]
    assert compact(np.asarray([0.5])).tolist() == [0.5]


def test_coded_texts_read_like_a_list() -> None:
    texts = CodedTexts(["a", None], np.asarray([0, 1, 0], np.int32))
    assert list(texts) == ["a", None, "a"]
    assert (texts[2], len(texts), list(texts[1:])) == ("a", 3, [None, "a"])
