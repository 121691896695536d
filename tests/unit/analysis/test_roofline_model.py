"""The roofline on a compiled program whose answers can be worked out by hand."""

from __future__ import annotations

import math

import pytest

from stepscope.analysis import roofline_model
from stepscope.errors import UsageError
from tests.unit.analysis.compiled import check_contract, on_cpu, on_gpu


def test_it_answers_on_every_device_and_says_what_is_missing() -> None:
    check_contract(roofline_model.TOOL)


def test_the_roofline_of_a_program_counts_all_device_time() -> None:
    found = roofline_model.roofline_model(on_gpu())
    total = next(found.programs.rows())
    assert total["total_time_us"] == 40
    assert total["flop_rate_gflops"] == pytest.approx((2 * 64**3 + 64 * 64) / 40e-6 / 1e9)
    assert found.device.peak_gflops == pytest.approx(311_869.4, rel=1e-4)
    corners = [row for row in found.roofs.rows() if row["memory"] == "HBM"]
    assert corners[1]["flop_rate_gflops"] == pytest.approx(found.device.peak_gflops)
    assert corners[1]["operational_intensity"] == found.device.hbm_ridge_flop_per_byte


def test_a_cpu_has_no_peak_until_one_is_given() -> None:
    found = roofline_model.roofline_model(on_cpu())
    assert math.isnan(found.device.peak_gflops)
    assert {one.slug for one in found.diagnostics} == {"peak-unknown", "bandwidth-unknown"}
    assert all(row["flop_utilisation_frac"] is None for row in found.ops.rows())
    given = roofline_model.Options(peak_gflops=1000.0, peak_hbm_gbps=100.0)
    known = roofline_model.roofline_model(on_cpu(), given)
    dot = next(row for row in known.ops.rows() if row["operation"] == "dot.1")
    assert dot["flop_utilisation_frac"] == pytest.approx(2 * 64**3 / 10e-6 / 1e12)
    assert not known.diagnostics


@pytest.mark.parametrize("peak", [0.0, -1.0])
def test_a_peak_that_no_device_has_is_refused(peak: float) -> None:
    with pytest.raises(UsageError, match="peak_gflops"):
        roofline_model.roofline_model(on_cpu(), roofline_model.Options(peak_gflops=peak))
