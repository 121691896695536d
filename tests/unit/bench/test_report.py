"""The benchmark's table says the ratios of what was measured, and whether they are enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.measure import Run, middle
from bench.report import Case, Report

CASE = Case(
    tool="overview_page",
    size="base",
    megabytes=64.0,
    ours=Run(0.5, 0.4, 200.0),
    theirs=Run(10.0, 8.0, 2000.0),
    failure="",
    ours_runs=[],
    theirs_runs=[],
    wanted_faster=15.0,
    wanted_memory=1 / 3,
)
IDLE = {"python": "3.12", "system": "Linux", "cores": 2, "load": 0.1}


def report(*cases: Case, load: float = 0.1) -> Report:
    return Report("file", {**IDLE, "load": load}, 4, decode=(2_000_000, 0.2), cases=list(cases))


def test_ratios_and_verdicts() -> None:
    text = report(CASE).render(wanted_decode=8e6)
    row = next(line for line in text.splitlines() if line.startswith("overview_page"))
    for cell in ("20.0×", "≥ 15× ✓", "200 MB", "2000 MB", "0.10", "≤ 0.33 ✓"):
        assert cell in row
    assert "10.0 M events/s ≥ 8 M ✓" in text


def test_too_slow_is_said() -> None:
    slow = replace(CASE, ours=Run(1.0, 1.0, 1000.0))
    text = report(slow).render(wanted_decode=11e6)
    assert "≥ 15× ✗" in text
    assert "≤ 0.33 ✗" in text
    assert "≥ 11 M ✗" in text


def test_an_incumbent_that_failed_is_named_and_ours_still_shown() -> None:
    text = report(replace(CASE, theirs=None, failure="out of memory")).render(8e6)
    assert "out of memory" in text
    assert "0.50 s" in text


def test_growth_is_large_over_base() -> None:
    large = replace(CASE, size="large", ours=Run(2.5, 2.0, 500.0))
    text = report(CASE, large).render(8e6)
    assert "5.0 times the time, 5.0 times the processor and 2.5 times the memory" in text


@pytest.mark.parametrize(("load", "warned"), [(0.1, False), (3.0, True)])
def test_a_busy_machine_is_said(load: float, warned: bool) -> None:
    assert ("BUSY" in report(CASE, load=load).render(8e6)) is warned


def test_the_middle_of_runs_is_the_median() -> None:
    assert middle([Run(1, 9, 5), Run(100, 1, 7), Run(3, 2, 6)]) == Run(3, 2, 6)
