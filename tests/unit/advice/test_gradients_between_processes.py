"""Gradients that processors exchange one by one: no device, and no size of any message."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.registry import Silence
from tests.unit.advice.asking import Asked
from tests.unit.formats.kineto.layout import profile, x


def exchanging(folder: Path, count: int, each_us: float) -> Asked:
    """Six steps of 10 ms; in each a product of 1 ms and so many exchanges, one after the other."""
    events = []
    for step in range(6):
        at = 10_000.0 * step
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, 10_000.0))
        events.append(x("cpu_op", "aten::mm", at + 10, 1000.0))
        for nth in range(count):
            begin = at + 1100 + nth * (each_us + 5)
            events.append(x("cpu_op", "c10d::allreduce_", begin, 2.0))
            events.append(x("user_annotation", "gloo:all_reduce", begin + 3, each_us, tid=101))
    return Asked(profile(folder, events))


def test_many_short_exchanges_are_told_to_be_joined(tmp_path: Path) -> None:
    found = exchanging(tmp_path, 40, 100.0).finding("gradient-buckets")
    assert found.measured["reductions_per_step"] == 40
    assert found.saving_high_ms == pytest.approx(40 * 0.102, rel=0.03)


def test_a_few_exchanges_are_in_buckets_already(tmp_path: Path) -> None:
    exchanging(tmp_path, 2, 2000.0).reason("gradient-buckets", Silence)


def test_exchanges_that_take_long_carry_much(tmp_path: Path) -> None:
    assert exchanging(tmp_path, 1, 6000.0).reason("gradient-buckets", Silence)
