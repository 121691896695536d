"""What of a marked step comes after its optimizer's update."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest

from stepscope.tables.core.profile import Host
from stepscope.tables.in_steps.optimizer_updates import after_update_frac
from tests.unit.formats.kineto.layout import profile, x


def recorded(folder: Path, *, updates: int = 6, is_marked: bool = True) -> Host:
    """Six steps of 10 ms; those with an update end it after 4 ms, and run an op for 5 ms then."""
    events = []
    for step in range(6):
        at = 10_000.0 * step
        if is_marked:
            events.append(x("user_annotation", f"ProfilerStep#{step}", at, 10_000.0))
        events.append(x("cpu_op", "aten::mm", at + 10, 1000.0))
        if step < updates:
            events.append(x("user_annotation", "Optimizer.step#Adam.step", at + 2000, 2000.0))
        events.append(x("cpu_op", "aten::sort", at + 5000, 5000.0))
    (host,) = profile(folder, events).hosts
    return host


def test_the_share_is_what_follows_the_last_update(tmp_path: Path) -> None:
    assert after_update_frac(recorded(tmp_path)) == pytest.approx(0.6)


def test_a_loop_that_seldom_updates_says_nothing(tmp_path: Path) -> None:
    assert isnan(after_update_frac(recorded(tmp_path, updates=2)))


def test_steps_that_updates_mark_end_with_them(tmp_path: Path) -> None:
    assert isnan(after_update_frac(recorded(tmp_path, is_marked=False)))
