"""Fields in words, the same for the terminal, documents and pages."""

from __future__ import annotations

import pytest

from stepscope.field_names import adds_up, is_cumulative, is_share, label_of, unit_of


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("self_time_us", "Self time"),
        ("host_tf_op_frac", "Host TF op"),
        ("peak_hbm_bw_gbps", "Peak HBM bandwidth"),
        ("p95", "95th percentile"),
        ("collective_table", "Collective"),
        ("step_table", "Steps"),
        ("_ms", "Ms"),
    ],
)
def test_the_unit_is_no_part_of_the_label(name: str, label: str) -> None:
    assert label_of(name) == label


def test_units_are_read_from_the_longest_suffix() -> None:
    assert (unit_of("rate_gflops"), unit_of("time_ms"), unit_of("name")) == ("GFLOP/s", "ms", "")


@pytest.mark.parametrize(
    ("name", "kind", "adds"),
    [
        ("self_time_us", "time", True),
        ("device_launch_ms", "time", True),
        ("host_wait_ms", "time", True),
        # It holds the time of the ops within.
        ("total_time_us", "time", False),
        ("total_duration_us", "time", True),
        ("median_duration_us", "time", False),
        ("total_time_p95_us", "time", False),
        ("occurrences", "count", True),
        ("devices", "count", False),
        ("op_self_time_frac", "ratio", True),
        ("cumulative_time_frac", "ratio", False),
        ("allocation_bytes", "bytes", True),
        ("peak_bytes", "bytes", False),
        ("self_time_us", "name", False),
    ],
)
def test_amounts_add_up_and_levels_do_not(name: str, kind: str, adds: bool) -> None:
    assert adds_up(name, kind) is adds


def test_shares_are_ratios_of_one_whole() -> None:
    assert is_share("Share of time", "ratio")
    assert not is_share("Share of time", "number") and not is_share("Occupancy", "ratio")
    assert is_cumulative("Cumulative share") and not is_share("Cumulative share", "ratio")
