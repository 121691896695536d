"""Hardware counters on recordings whose samples are known one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stepscope.analysis.kernel_stats import kernel_stats
from stepscope.analysis.perf_counters import TOOL, Options, PerfCounters, perf_counters
from stepscope.formats.xspace import decode
from stepscope.surfaces.export.tables import csv_text, parquet_bytes
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example
from tests.profiles.model import Event, Kind, Plane, gpu, host, line, plane, ref, space, stream, u

BIG = 2**63 + 5


def counted(value: Any, name: str = "cycles", at: float = 0.0, **stats: Any) -> Event:
    return Event(name, at, 0, {"counter_value": value, **stats})


def chip(number: int, *events: Event, **stats: Any) -> Plane:
    return plane(f"/device:TPU:{number}", line("jit_step", *events, id=100), stats=stats)


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def answer(*hosts: bytes, **options: Any) -> PerfCounters:
    return perf_counters(profile(*hosts), Options(**options))


def slugs(result: PerfCounters) -> list[str]:
    return [one.slug for one in result.diagnostics]


def every_form() -> bytes:
    """One sample of every form that recorders write, and counters that are not a device's."""
    said = {"performance_counter_description": "Cycles", "performance_counter_sets": ref("tc")}
    return space(
        host(line("python", counted(1, "of the host"))),
        plane(
            "/device:TPU:0",
            line(
                "KernelA",
                Event("CYCLES", 0, 0, {"counter_value": u(BIG), **said}),
                Event("Bytes", 0, 0, {"counter_value": -3}),
                Event("Ratio", 0, 0, {"counter_value": 1.5}),
                Event("Text", 0, 0, {"counter_value": "12"}),
                id=10,
            ),
            line("XLA Ops", Event("%a.1 = f32[8] add()", 10, 20)),
            stats={"global_chip_id": 4, "device_id": 9},
            kinds={"Bytes": Kind(stats={"performance_counter_description": "shared"})},
        ),
        plane("/device:TPU:1", line("KernelA", counted(u(7), at=5)), stats={"device_id": 5}),
        plane(
            "/device:TPU:0 SparseCore 0",
            line("tile", counted(u(70), at=5)),
            stats={"device_id": u(6)},
        ),
        gpu(
            0,
            stream(7, Event("sm__cycles_active.sum", 5, 10, {"counter_value": u(8)})),
            line("_counters_", Event("SM active", 3, 0, {"sm__cycles_active.avg": 40.5}), id=8),
        ),
        plane("/device:CUSTOM:Telemetry", line("_counters_", counted(40.5, "gpu_power"))),
    )


# What xprof 2.24.2 answers to ``every_form``: Chip, Kernel, Sample, Counter, the 64 bits of Value,
# Description and Set.
XPROF = [
    (4, "KernelA", 10, "cycles", 0x8000000000000005, "Cycles", "tc"),
    (4, "KernelA", 10, "bytes", 0xFFFFFFFFFFFFFFFD, "shared", ""),
    (4, "KernelA", 10, "ratio", 0, "", ""),
    (4, "KernelA", 10, "text", 0, "", ""),
    (5, "KernelA", 1, "cycles", 7, "", ""),
    (6, "tile", 1, "cycles", 70, "", ""),
]
# * It reads integers only; ours keeps fractions, and numbers that were written as text.
NO_INTEGERS = {"ratio": 1.5, "text": 12.0}
# * It leaves out planes without an id, which is what CUPTI writes of every GPU, and counters whose
#   value is under the counter's own name, which is how CUPTI's periodic sampling writes.
NOT_THERE = [
    ("GPU:0", "_counters_", 8, "SM active", 40.5, "sm__cycles_active.avg", ""),
    ("GPU:0", "Stream #7(Compute)", 7, "sm__cycles_active.sum", 8, "", ""),
]
# * Names: it writes them in lower case; ours are as recorded. A value below 0 is the uint64 of its
#   bits there.


def test_xprof_and_ours_say_the_same() -> None:
    rows = [
        (
            r["chip"],
            r["kernel"],
            r["sample"],
            r["counter"],
            r["value"],
            r["description"],
            r["counter_set"],
        )
        for r in answer(every_form()).samples.rows()
    ]
    theirs = []
    for chip_, kernel, sample, name, bits, description, set_ in XPROF:
        value = NO_INTEGERS.get(name, bits)
        theirs.append((str(chip_), kernel, sample, name, value, description, set_))
    ours = [
        (chip_, kernel, sample, name.lower(), value % 2**64 if value < 0 else value, *rest)
        for chip_, kernel, sample, name, value, *rest in rows
        if chip_ != "GPU:0"
    ]
    assert sorted(ours, key=str) == sorted(theirs, key=str)
    assert [row for row in rows if row[0] == "GPU:0"] == NOT_THERE


def test_a_chip_is_its_number_and_else_its_plane() -> None:
    found = answer(every_form()).samples
    assert dict(zip(found["device"], found["chip"], strict=True)) == {
        "TPU:0": "4",
        "TPU:1": "5",
        "TPU:0 SparseCore 0": "6",
        "GPU:0": "GPU:0",
    }


def test_values_are_exact_in_json_csv_and_frames() -> None:
    data = space(chip(0, counted(u(BIG)), counted(u(2**64 - 1), at=1)))
    result = answer(data)
    assert result.samples["value"].dtype == np.uint64
    rows = json.loads(json.dumps(result.to_dict()))["samples"]
    assert [row["value"] for row in rows] == [BIG, 2**64 - 1]
    assert [row["digits"] for row in rows] == [str(BIG), str(2**64 - 1)]
    assert str(BIG) in csv_text(result.samples)
    assert result.samples.to_polars()["value"].to_list() == [BIG, 2**64 - 1]
    (total,) = result.counters.rows()
    assert total["total"] == BIG + 2**64 - 1 and total["least"] == BIG


def test_integers_and_fractions_of_one_recording_each_stay_what_they_are() -> None:
    result = answer(space(chip(0, counted(u(BIG)), counted(0.5, "ratio", 1))))
    assert list(result.samples["value"]) == [BIG, 0.5]
    # A column of a frame has one type, and doubles are what holds both.
    assert result.samples.to_polars()["value"].to_list() == [float(BIG), 0.5]
    assert parquet_bytes(result.samples) and parquet_bytes(result.counters)


def test_a_counter_is_summed_up_over_chips_and_hosts() -> None:
    first = space(chip(0, counted(4, at=1), counted(6, at=9), global_chip_id=0))
    other = space(
        chip(0, counted(20, at=5), global_chip_id=0), chip(1, counted(1, at=2), global_chip_id=1)
    )
    (row,) = answer(first, other).counters.rows()
    assert (row["samples"], row["chips"]) == (4, 2)
    assert (row["least"], row["mean"], row["most"], row["total"]) == (1, 7.75, 20, 31)
    assert row["last"] == 6


def test_equal_numbers_of_devices_on_two_hosts_are_two_chips() -> None:
    one = space(chip(0, counted(4), device_id=0))
    assert answer(one, one).counters["chips"] == [2]


def test_two_cores_of_a_chip_are_one_chip() -> None:
    cores = [chip(core, counted(4), global_chip_id=3) for core in (0, 1)]
    result = answer(space(*cores))
    assert result.counters["chips"] == [1] and result.samples["device"] == ["TPU:0", "TPU:1"]


def test_equal_names_in_two_sets_are_two_counters() -> None:
    events = (counted(1, performance_counter_sets="b"), counted(2, performance_counter_sets="a"))
    found = answer(space(chip(0, *events))).counters
    assert found["counter_set"] == ["a", "b"] and list(found["total"]) == [2, 1]


def test_samples_are_in_order_of_time_and_aggregated_ones_have_none() -> None:
    whole = Event("cycles", 0, 0, {"counter_value": 9}, occurrences=3)
    result = answer(space(chip(0, whole, counted(1, at=5), counted(2, at=3))))
    assert list(result.samples["value"]) == [2, 1, 9]
    assert result.to_dict()["samples"][2]["start_ms"] is None
    # The one without a time is not the latest.
    assert list(result.counters["last"]) == [1]


def test_of_two_values_of_one_event_the_first_counts() -> None:
    found = decode(space(chip(0, counted(4, again=5))))
    names = ["counter_value" if name == "again" else name for name in found.stat_metadata.name]
    twice = replace(found, stat_metadata=replace(found.stat_metadata, name=names))
    result = perf_counters(Profile("s", (Host("h", twice),)))
    assert list(result.samples["value"]) == [4]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"chip": "4"}, {"CYCLES", "Bytes", "Ratio", "Text"}),
        ({"chip": "TPU:1"}, {"cycles"}),
        ({"chip": "GPU:0"}, {"SM active", "sm__cycles_active.sum"}),
        ({"counter_set": "tc"}, {"CYCLES"}),
        ({"counter": "cYCles"}, {"CYCLES", "cycles", "sm__cycles_active.sum"}),
        ({"counter": "cycles", "chip": "6"}, {"cycles"}),
    ],
)
def test_options_choose(options: dict[str, str], wanted: set[str]) -> None:
    result = answer(every_form(), **options)
    assert set(result.samples["counter"]) == set(result.counters["counter"]) == wanted


def test_a_choice_that_nothing_meets_says_what_there_is() -> None:
    result = answer(every_form(), chip="17")
    assert len(result.counters) == len(result.samples) == 0
    assert result.headline == "No sample of a hardware counter is left to show."
    (note,) = result.diagnostics
    assert note.slug == "no-such-counter"
    assert "chips 4, 5, 6, GPU:0;" in note.message and "Bytes, CYCLES" in note.message


def test_the_list_is_cut_but_totals_are_not() -> None:
    data = space(chip(0, *(counted(n, at=n) for n in range(10))))
    cut = answer(data, max_samples=3)
    assert list(cut.samples["value"]) == [0, 1, 2] and list(cut.counters["total"]) == [45]
    assert slugs(cut) == ["samples-cut"] and "3 earliest of 10" in cut.diagnostics[0].message
    whole = answer(data, max_samples=0)
    assert len(whole.samples) == 10 and slugs(whole) == []


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ([counted(1)], "1 hardware counter on 1 chip, 1 sample."),
        ([counted(0)], "1 hardware counter on 1 chip, 1 sample, all 0."),
        (
            [counted(0, "a"), counted(0.0, "b", 500), counted(3, "c", 1500)],
            "3 hardware counters on 1 chip, 3 samples over 1.5 ms; 2 of the counters never left 0.",
        ),
    ],
)
def test_the_headline(events: list[Event], sentence: str) -> None:
    assert answer(space(chip(0, *events))).headline == sentence


def test_the_headline_counts_the_rows_of_the_table() -> None:
    result = answer(every_form())
    assert len(result.counters) == 7 and result.headline.startswith("7 hardware counters on 4 ")


def test_samples_that_were_no_number_are_mentioned() -> None:
    stats = {"nan_counter_events": "Skipped 3 NaN counter events for SM active: "}
    counters = line("_counters_", Event("SM active", 3, 0, {"sm__cycles_active.avg": 40.5}))
    (note,) = answer(space(plane("/device:GPU:0", counters, stats=stats))).diagnostics
    assert (note.slug, note.where) == ("samples-left-out", "h0")
    assert note.message.endswith("Skipped 3 NaN counter events for SM active.")


def test_without_counters_the_tool_says_how_to_record_them() -> None:
    missing = TOOL.available(profile(worked_example(gpu=True)))
    assert missing is not None and "advanced_configuration" in missing.record
    assert len(perf_counters(profile(worked_example())).samples) == 0
    assert TOOL.available(profile(worked_example(), every_form())) is None


def test_counters_over_a_range_of_a_gpu_are_no_kernels() -> None:
    data = space(
        gpu(
            0,
            line("sgemm", Event("cycles", 0, 50, {"counter_value": u(8)})),
            stream(7, Event("sgemm", 0, 30, {"kernel_details": "regs:1"})),
        )
    )
    assert kernel_stats(profile(data)).kernels["name"] == ["sgemm"]
    assert answer(data).samples["kernel"] == ["sgemm"]
