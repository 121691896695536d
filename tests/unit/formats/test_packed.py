"""Columns that keep their values in few bytes give back what they were given."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.packed import NULL, CodedTexts, PackedIntegers, narrow

NUMBERS = st.one_of(st.just(NULL), st.integers(-3, 3), st.integers(-(2**63) + 1, 2**63 - 1))


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=6), max_size=4))
def test_packed_integers_are_the_integers(blocks: list[list[int]]) -> None:
    packed = PackedIntegers()
    for block in blocks:
        packed.add(np.asarray(block, np.int64))
    assert packed.array().tolist() == [one for block in blocks for one in block]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6))
def test_narrow_integers_are_equal(values: list[int]) -> None:
    assert narrow(np.asarray(values, np.int64)).tolist() == values


def test_narrow_integers_take_few_bytes() -> None:
    assert narrow(np.asarray([0, 127])).dtype == np.int8
    assert narrow(np.asarray([0, 128])).dtype == np.int16
    assert narrow(np.asarray([0, -(2**31)])).dtype == np.int32
    assert narrow(np.full(1000, 5)).base is not None  # one value for all rows
    assert narrow(np.asarray([True, False])).tolist() == [True, False]
    assert narrow(np.asarray([0.5])).tolist() == [0.5]


def test_coded_texts_read_like_a_list() -> None:
    texts = CodedTexts(["a", None], np.asarray([0, 1, 0], np.int32))
    assert list(texts) == ["a", None, "a"]
    assert (texts[2], len(texts), list(texts[1:])) == ("a", 3, [None, "a"])
