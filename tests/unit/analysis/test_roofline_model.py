"""The roofline on a compiled program whose answers can be worked out by hand."""

from __future__ import annotations

import math

import pytest

from stepscope.analysis import roofline_model
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.model import Event, gpu, host, line, space, stream
from tests.unit.analysis.compiled import PLANE, check_contract, kernel, on_cpu, on_gpu


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


def test_the_types_that_are_computed_in_have_roofs_of_their_own() -> None:
    found = roofline_model.roofline_model(on_gpu())
    (only,) = found.flop_peaks.rows()
    # The program computes in f32; an A100 does 128 of 2048 FLOPs a cycle in that.
    assert (only["data_type"], only["compute_time_frac"]) == ("fp32", 1)
    assert only["flop_rate_gflops"] == pytest.approx(found.device.peak_gflops / 16)
    given = roofline_model.Options(peak_gflops=1000.0)
    assert len(roofline_model.roofline_model(on_gpu(), given).flop_peaks) == 0


def test_the_headline_names_the_nearest_limit_and_its_use() -> None:
    def headline(gflops: float) -> str:
        given = roofline_model.Options(peak_gflops=gflops, peak_hbm_gbps=1e6)
        return roofline_model.roofline_model(on_gpu(), given).headline

    # (2 · 64³ + 64²) FLOPs in 40 µs are 13.2 GFLOP/s.
    far = "The program is far from every limit: the nearest is the FLOP rate, of which it uses "
    assert headline(132.096) == far + "10.0 %."
    near = "The program is limited by the FLOP rate, of which it uses 60.0 %."
    assert headline(22.016) == near
    unknown = roofline_model.roofline_model(on_cpu()).headline
    assert unknown == "The program runs at 13.2 GFLOP/s; the limits of CPU are not known."


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


def steps_of(*devices: int, on: str = "gpu", step_us: float = 50) -> bytes:
    """Three steps of one host, each with one op on each of its devices, or on its CPU."""
    marks = [Event("train", step_us * i, step_us, {"step_num": i, "_r": 1}) for i in range(3)]
    ops = [kernel("dot.1", step_us * i + 5, 10) for i in range(3)]
    if on == "cpu":
        return space(PLANE, host(line("python", *marks), line("tf_XLAEigen", *ops)))
    gpus = (gpu(number, stream(1, *ops)) for number in devices)
    return space(PLANE, host(line("python", *marks)), *gpus)


def programs(*data: bytes) -> list[tuple[str, float, float]]:
    hosts = tuple(Host(f"h{i}", decode(one)) for i, one in enumerate(data))
    found = roofline_model.roofline_model(Profile("s", hosts)).programs.rows()
    return [(row["step"], row["total_time_us"], row["time_per_device_us"]) for row in found]


def test_the_average_step_is_over_the_devices_of_all_hosts_in_any_order() -> None:
    two, one = steps_of(0, 1), steps_of(0)
    assert programs(two, one)[1] == programs(one, two)[1] == ("Average", 75, 50)


def test_ops_of_a_host_without_devices_are_no_part_of_the_steps_on_devices() -> None:
    gpus, cpu = steps_of(0), steps_of(on="cpu", step_us=80)
    assert programs(gpus, cpu) == programs(gpus)
    assert [name for name, *_times in programs(cpu)] == ["Total", "Average", "0", "1", "2"]
