"""Numbers and names as printed."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.result import Column
from stepscope.surfaces import format as shown
from tests.profiles import HOSTILE_NAMES


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("self_time_us", 12.5, "12.50 µs"),
        ("step_time_ms", 0.25, "250.0 µs"),
        ("step_time_ms", 20.1, "20.10 ms"),
        ("step_time_ms", 12_345.0, "12.35 s"),
        ("busy_frac", 0.123, "12.3%"),
        ("busy_frac", None, "–"),
        ("peak_bytes", 1536, "1.5 KiB"),
        ("peak_bytes", 12, "12 B"),
        ("count", 1234, "1,234"),
        ("eager", True, "yes"),
        ("rate_gflops", math.nan, "–"),
        ("framework", "", "–"),
    ],
)
def test_scalars_carry_their_unit(name: str, value: object, text: str) -> None:
    assert shown.scalar(name, value) == text


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.123, Column("Share", unit="%", kind="ratio"), "12.3"),
        (None, Column("Share", unit="%", kind="ratio"), "–"),
        (math.nan, Column("Rate", kind="rate"), "–"),
        (1234, Column("Occurrences", kind="count"), "1,234"),
        (1234, Column("Step", kind="number"), "1234"),
        (2048, Column("Size", unit="B", kind="bytes"), "2.0 KiB"),
        (False, Column("Used", kind="flag"), "no"),
        ("a\nb", Column("Name", kind="name"), "a\\nb"),
    ],
)
def test_cells_leave_the_unit_to_the_heading(value: object, column: Column, text: str) -> None:
    assert shown.cell(value, column) == text


def test_headings_have_units() -> None:
    assert shown.heading(Column("Self time", unit="µs")) == "Self time (µs)"
    assert shown.heading(Column("Rank")) == "Rank"


@given(st.text())
def test_clean_text_cannot_command_a_terminal(text: str) -> None:
    safe = shown.clean(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in safe)
    assert not set(safe) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")
    safe.encode()
    as_json = shown.json_of({text: [text]}, indent=2)
    assert shown.clean(as_json.replace("\n", "")) == as_json.replace("\n", "")
    assert json.loads(as_json) == {text: [text]}


def test_clean_shows_what_was_there() -> None:
    assert [shown.clean(name) for name in HOSTILE_NAMES if "\x1b" in name] == [
        "\\x1b[31mred\\x1b[0m"
    ]
    assert shown.clean("plain ünïcode 日本") == "plain ünïcode 日本"


@given(st.text(max_size=60), st.integers(1, 50))
def test_shortened_text_fits(text: str, limit: int) -> None:
    safe = shown.clean(text)
    cut = shown.shorten(safe, limit)
    assert shown.width(cut) <= limit
    assert cut == safe or "…" in cut


def test_shortening_keeps_both_ends() -> None:
    assert shown.shorten("replica_0/layer_1/MatMul", 11) == "repli…atMul"
    assert shown.shorten("日本語の名前", 7) == "日…名前"
