"""Units of TPU chips whose counters were chosen so that every share can be worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest

from stepscope.analysis.utilization_viewer import (
    TOOL,
    Options,
    UtilizationViewer,
    utilization_viewer,
)
from stepscope.formats.xspace import decode
from stepscope.result import Table
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.tpu.counters import GENERATIONS, V6E, V7X, Generation
from stepscope.tables.tpu.units import core_cycles
from tests.profiles import environment, line, plane, space, u
from tests.profiles.counters import chip, counters, reading_by, sample
from tests.profiles.model import Event, Kind, Line, Plane


def profile(*planes: Plane) -> Profile:
    return Profile("p", (Host("h", decode(space(*planes))),))


def read(
    generation: Generation,
    number: int = 1,
    *,
    cycles: int = 1000,
    absent: str = "nothing",
    **values: int,
) -> Line:
    """A sample: ``values`` by the end of the counters' names, 0 for the others."""

    def value(name: str) -> int | None:
        if absent in name:
            return None
        if name.endswith(("count_cycles", "cycle_count")):
            return cycles
        return next((v for end, v in values.items() if name.endswith(end.lower())), 0)

    return sample(number, reading_by(generation, lambda counter: value(counter.name)))


def v6e(*samples: Line, device: int = 0) -> Plane:
    return chip(device, V6E.type, samples)


def by_unit(table: Table[Any]) -> dict[str, dict[str, Any]]:
    return {row["unit"]: row for row in table.rows()}


def of(*planes: Plane, **options: Any) -> UtilizationViewer:
    return utilization_viewer(profile(*planes), Options(**options))


def test_every_counter_has_a_number_and_a_name_of_its_own() -> None:
    for generation in GENERATIONS:
        found = counters(generation)
        assert len({one.name for one in found}) == len(found) > 600


def test_a_unit_is_compared_with_what_its_cycles_allow() -> None:
    found = by_unit(
        of(
            v6e(
                read(
                    V6E,
                    count_mxu_busy_1=200,
                    count_mxu_busy_2=300,
                    scalar_alu_instruction_0=500,
                    matmul_lmr_bf16_mxu_0=25,
                    transpose_xlu_1=50,
                    count_vector_issue=100,
                )
            )
        ).readings
    )
    # One unit busy counts half: 200 / 2 + 300 of 1,000 cycles.
    assert (found["MXU"]["achieved"], found["MXU"]["utilization_frac"]) == (400, 0.4)
    # Two ALUs, one of which started 500.
    assert (found["Scalar unit"]["peak"], found["Scalar unit"]["utilization_frac"]) == (2000, 0.25)
    # A product from the matrix unit's own memory takes 4 cycles.
    assert found["MXU 0, products"]["utilization_frac"] == 0.1
    assert found["MXU, BF16 and F32 products"]["utilization_frac"] == 0.05
    # An instruction of v6e's cross-lane unit takes 4.
    assert found["XLU 1"]["utilization_frac"] == 0.2
    assert found["XLU 0"]["utilization_frac"] == 0
    # 16 tiles, each of which issued in 100 of the cycles.
    assert found["SC tiles, vector"]["achieved"] == 1600
    assert found["SC tiles, vector"]["utilization_frac"] == 0.1


def test_bytes_are_compared_with_what_the_time_of_the_cycles_allows() -> None:
    # 1.75 GHz: 1.75 M cycles are a millisecond, in which 1.638 GB could be moved.
    found = by_unit(
        of(
            v6e(
                read(
                    V6E,
                    cycles=1_750_000,
                    rd_resp_ps0=1000,
                    wr_req_ps1=250,
                    partial_write_req_ps0=250,
                    bn_rd_req_1_insertion_count=3125,
                )
            )
        ).readings
    )
    # 32 channels, of which one of two pseudo-channels each read; 32 bytes a beat.
    assert found["HBM, read"]["achieved"] == 32 * 1000 * 32
    # Whole and partial writes have counters of their own.
    assert found["HBM, written"]["achieved"] == 2 * 32 * 250 * 32
    assert found["HBM"]["achieved"] == found["HBM, read"]["achieved"] * 1.5
    assert found["HBM"]["peak"] == pytest.approx(1.638e9)
    # 400 GB/s in each direction, 128 bytes a flit.
    assert found["ICI, read"]["utilization_frac"] == pytest.approx(3125 * 128 / 400e6)


def test_a_profiles_own_bandwidth_goes_before_the_tables() -> None:
    stats = {"device_type_string": V6E.type, "peak_hbm_bw_gigabytes_per_second": 1000.0}
    own = plane("/device:TPU:0", read(V6E, cycles=1_750_000), stats=stats)
    assert by_unit(of(own).readings)["HBM"]["peak"] == pytest.approx(1e9)


def test_a_counter_that_was_not_recorded_is_not_0() -> None:
    lacking = v6e(read(V6E, absent="vld_instruction_1", count_vld_instruction_0=300))
    found = of(lacking)
    loads = by_unit(found.readings)["Vmem loads"]
    assert (loads["achieved"], loads["utilization_frac"], loads["absent_counters"]) == (
        None,
        None,
        1,
    )
    (row,) = found.absent.rows()
    assert (row["unit"], row["absent"], row["needed"], row["samples"]) == ("Vmem loads", 1, 3, 1)
    assert row["counters"].endswith("_unprivileged_count_vld_instruction_1")
    assert [one.slug for one in found.diagnostics] == ["counters-absent"]
    as_zero = by_unit(of(lacking, absent_is_zero=True).readings)["Vmem loads"]
    assert as_zero["utilization_frac"] == 0.15


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, -1, "no number"])
def test_what_no_counter_can_read_was_not_recorded(value: float | str) -> None:
    stores, cycles = V6E.tensor_core.counters("VST_INSTRUCTION", 0)[0], core_cycles(V6E, 0)
    ports = V6E.tensor_core.counters("VLD_INSTRUCTION_0", 0)[0]
    found = by_unit(of(v6e(sample(1, {stores: 10, cycles: 100, ports: value}))).readings)
    assert found["Vmem stores"]["utilization_frac"] == 0.1
    assert "Vmem loads" not in found


def test_a_unit_of_which_nothing_was_recorded_is_only_named() -> None:
    found = of(v6e(read(V6E, absent="_hbm_")))
    assert {"MXU"} == {"MXU", "HBM"} & set(by_unit(found.units))
    absent = by_unit(found.absent)
    assert absent.keys() == {"HBM", "HBM, read", "HBM, written"}
    assert (absent["HBM"]["absent"], absent["HBM"]["needed"]) == (192, 193)
    assert absent["HBM"]["counters"].endswith(" and 188 more")


def test_without_cycles_there_is_no_peak() -> None:
    found = of(v6e(read(V6E, absent="_cycles", count_mxu_busy_2=300)))
    row = by_unit(found.readings)["MXU"]
    assert (row["achieved"], row["peak"], row["utilization_frac"]) == (300, None, None)
    assert found.headline.startswith("No unit can be compared with its peak")
    assert "count_cycles" in by_unit(found.absent)["MXU"]["counters"]


def test_a_core_whose_clock_stood_still_is_compared_with_nothing() -> None:
    found = of(v6e(read(V6E, cycles=0)))
    assert all(row["utilization_frac"] is None for row in found.readings.rows())


def test_long_samples_weigh_more_in_the_mean() -> None:
    samples = read(V6E, 1, count_mxu_busy_2=1000), read(V6E, 2, cycles=3000)
    found = of(v6e(*samples))
    mxu = by_unit(found.units)["MXU"]
    assert (mxu["utilization_frac"], mxu["least_frac"], mxu["most_frac"]) == (0.25, 0, 1)
    assert (mxu["most_at"], mxu["readings"]) == ("h, chip 0, core 0, sample 1", 2)
    assert (mxu["achieved"], mxu["peak"]) == (500, 2000)
    (row,) = found.chips.rows()
    assert (row["samples"], row["busiest"], row["mxu_frac"]) == (2, "MXU", 0.25)


def test_the_headline_names_the_busiest_unit() -> None:
    one = v6e(read(V6E, count_mxu_busy_2=400, count_vst_instruction=300))
    assert of(one).headline.startswith(
        "MXU is the busiest unit, at 40.0 % of its peak; next are Vmem stores 30.0 % and "
    )
    other = v6e(read(V6E, count_mxu_busy_2=100, count_vst_instruction=350), device=1)
    both = of(one, other)
    # (300 + 350) / 2,000 is more than (400 + 100) / 2,000.
    assert both.headline == (
        "Vmem stores is the busiest unit, at 32.5 % of its peak over 2 chips (readings from 30.0 % "
        "to 35.0 %); it is the busiest of 1 of them."
    )
    assert [row["busiest"] for row in both.chips.rows()] == ["MXU", "Vmem stores"]
    assert [row["unit"] for row in both.units.rows()][:2] == ["Vmem stores", "MXU"]


def test_cycles_in_which_nothing_was_busy_are_no_busy_unit() -> None:
    found = of(v6e(read(V6E, count_mxu_busy_0=1000)))
    assert by_unit(found.details)["MXUs busy: none"]["utilization_frac"] == 1
    assert set(by_unit(found.units)) & set(by_unit(found.details)) == set()


def test_each_core_of_a_chip_has_its_own_counters() -> None:
    reading = reading_by(
        V7X,
        lambda one: (
            1000
            if one.name.endswith(("count_cycles", "cycle_count"))
            else 600 * ("die1" in one.name and one.name.endswith("count_mxu_busy_2"))
        ),
    )
    rows = of(chip(0, V7X.type, [sample(1, reading)])).readings.rows()
    found = {row["core"]: row["utilization_frac"] for row in rows if row["unit"] == "MXU"}
    assert found == {0: 0, 1: 0.6}


def test_a_clock_that_was_throttled_is_said() -> None:
    throttled = chip(0, V7X.type, [read(V7X, unprivileged_clocks_skipped=200)])
    (said,) = of(throttled).diagnostics
    assert said.slug == "clock-throttled"
    assert "20.0 %" in said.message
    calm = chip(0, V7X.type, [read(V7X, unprivileged_clocks_skipped=5)])
    assert of(calm).diagnostics == ()


def test_a_counter_is_known_by_its_names_number_or_id_and_its_last_reading_counts() -> None:
    cycles = V6E.tensor_core.counters("CYCLES", 0)[0]
    busy = V6E.tensor_core.counters("MXU_BUSY_2", 0)[0]
    other = V6E.tensor_core.counters("MXU_BUSY_1", 0)[0]
    events = line(
        "",
        Event("cycles", 0, 0, {"counter_value": u(1000)}),
        Event("busy", 0, 0, {"performance_counter_id": u(busy.id), "counter_value": u(100)}),
        Event("busy", 0, 0, {"performance_counter_id": u(busy.id), "counter_value": 250.0}),
        Event("one busy", 0, 0, {"performance_counter_id": other.id, "counter_value": 0}),
    )
    kinds = {"cycles": Kind(stats={"performance_counter_id": u(cycles.id)})}
    stats = {"device_type_string": V6E.type}
    found = of(plane("/device:TPU:0", events, stats=stats, kinds=kinds))
    assert by_unit(found.units)["MXU"]["utilization_frac"] == 0.25


def test_a_line_of_counters_over_time_is_no_sample() -> None:
    busy = V6E.tensor_core.counters("MXU_BUSY_2", 0)[0]
    drawn = line("_counters_", Event("busy", 0, 0, {"performance_counter_id": u(busy.id)}))
    # The same counter is a sample elsewhere, so that the file names the stat.
    named = chip(1, "TPU v9", [read(V6E)])
    made = profile(v6e(drawn), named)
    assert TOOL.available(made) is not None
    assert len(utilization_viewer(made).readings) == 0


def missing(*planes: Plane) -> str:
    reason = TOOL.available(profile(*planes))
    assert reason is not None
    assert "tpu_perf_counters" in reason.record
    return reason.missing


def test_it_says_what_is_missing() -> None:
    assert missing(environment(profile_start_time=1)).startswith("No hardware counter of a TPU")
    assert "TPU v6e or v7x" in missing(chip(0, "TPU v5p", [read(V6E)]))
    only_cycles = sample(1, reading_by(V6E, lambda c: 9 if c.name.endswith("cycles") else None))
    assert missing(v6e(only_cycles)).startswith("No recorded TPU counter")
    assert TOOL.available(profile(v6e(read(V6E)))) is None


def test_chips_whose_counters_are_unknown_are_named() -> None:
    found = of(v6e(read(V6E)), chip(1, "TPU <b>v9</b>", [read(V6E)]))
    (said,) = found.diagnostics
    assert (said.slug, "TPU <b>v9</b>" in said.message) == ("chip-unknown", True)
    assert len(found.chips) == 1


def test_the_answer_is_plain_json() -> None:
    made: Mapping[str, Any] = of(v6e(read(V6E, absent="_cycles"))).to_dict()
    assert json.loads(json.dumps(made, allow_nan=False))["tool"] == TOOL.id
    assert math.isnan(of(v6e(read(V6E, absent="_cycles"))).chips["utilization_frac"][0])
