"""Quantities in words: one unit for one value, wherever it is printed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.quantities import (
    milliseconds,
    number,
    parse_size,
    roughly,
    signed,
    size_words,
    time_change,
    time_words,
    written_out,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.00012, "1.2e-04"),
        (0.5, "0.500"),
        (1.234, "1.23"),
        (123.45, "123.5"),
        (1234.5, "1,234"),
        (-2.5, "-2.50"),
        (2_000_000, "2,000,000"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(12_345.6, "+12,346"), (0.5, "+0.500"), (0.0, "0"), (-2.5, "−2.50")]
)
def test_changes(value: float, text: str) -> None:
    assert signed(value) == text


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0.367, "367 µs"),
        (8.803, "8.8 ms"),
        (0.9996, "1 ms"),
        (1510.0, "1,510 ms"),
        (9996.0, "10 s"),
        (15_100.0, "15.1 s"),
        (-0.25, "-250 µs"),
        (0.0002, "0.2 µs"),
        (0.0, "0 ms"),
    ],
)
def test_a_time_is_given_in_the_unit_that_fits_it(ms: float, said: str) -> None:
    assert time_words(ms) == said


def test_a_change_of_a_time_has_its_sign() -> None:
    listed = [0.25, -8.8, 0.0, 12_000.0]
    assert [time_change(value) for value in listed] == ["+250 µs", "−8.8 ms", "0 ms", "+12 s"]


def test_an_estimate_has_two_digits() -> None:
    listed = [0.0, 0.0123, 0.999, 1.234, 123.4, 12_340.0]
    assert [roughly(value) for value in listed] == [
        "0 ms",
        "12 µs",
        "1 ms",
        "1.2 ms",
        "120 ms",
        "12 s",
    ]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (12, "12 B"),
        (1536, "1.5 KiB"),
        (3 * 2**30, "3.0 GiB"),
        (2**60, "1024.0 PiB"),
        (-1, "–"),
        (float("nan"), "–"),
    ],
)
def test_sizes_have_binary_prefixes(count: float, said: str) -> None:
    assert size_words(count) == said


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_no_time_is_in_powers_of_ten(value_ms: float) -> None:
    for said in (milliseconds(value_ms), time_words(value_ms), roughly(value_ms)):
        assert not re.search(r"e\+?\d", said)


@given(st.floats(min_value=1e-3, max_value=1e9))
def test_pages_sentences_and_estimates_use_one_unit(value_ms: float) -> None:
    # They round differently, so that only values that stay within a unit are compared.
    if float(f"{value_ms:.2g}") in (1.0, 10_000.0):
        return
    units = {said(value_ms).split()[-1] for said in (milliseconds, time_words, roughly)}
    assert len(units) == 1


def test_large_numbers_in_a_sentence_are_written_out() -> None:
    assert written_out("takes 1.51e+04 ms of 2e+06 ms") == "takes 15,100 ms of 2,000,000 ms"


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 500_000_000), (" 1.5 GiB", 3 << 29), (".5kB", 500), ("7B", 7)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["500", "+10%", "10%", "-1MB", "5 mb", "1e3MB", "MB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_size(text)


def test_an_estimate_is_not_rounded_above_what_it_cannot_exceed() -> None:
    assert roughly(147.0, most_ms=148.0) == "147 ms"
    assert roughly(147.0, most_ms=200.0) == "150 ms"
    assert roughly(105.6, most_ms=105.0) == "105 ms"
    assert roughly(66.0, 105.0, 105.0) == "66 ms"
