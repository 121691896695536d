"""Memory profiles whose answers can be worked out by hand."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.memory_profile import (
    TOOL,
    MemoryName,
    MemoryProfile,
    Options,
    batch_room,
    memory_profile,
)
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example
from tests.profiles.memory import Heap
from tests.profiles.model import Event, Kind, gpu, host, line, plane, space
from tests.unit.formats.kineto.layout import allocation, x
from tests.unit.formats.kineto.layout import profile as kineto_profile

GIB = 1 << 30


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def answer(*hosts: bytes, **options: Any) -> MemoryProfile:
    return memory_profile(profile(*hosts), Options(**options))


def training() -> bytes:
    """Weights from before, one weight in the first step, an activation in each of two steps."""
    heap = Heap("GPU_0_bfc", limit=1 << 20, in_use=4096, stack=512)
    heap.take(10, 0xA, 2000, tf_op="weight/Assign", region_type="persist", data_type=1)
    heap.take(20, 0xB, 1000, tf_op="act/Relu", region_type="output", data_type=19)
    heap.give(80, 0xB)
    heap.take(120, 0xC, 3000, tf_op="act/Relu", region_type="output", data_type=19)
    heap.give(180, 0xC)
    steps = [Event("train", 100 * i, 90, {"step_num": i, "_r": 1}) for i in range(2)]
    return space(host(line("python", *steps), line("tf_Compute/1", *heap.events)), gpu(0))


def test_summary_at_the_peak() -> None:
    (memory,) = answer(training()).memories
    assert (memory.id, memory.device, memory.source) == ("GPU_0_bfc", "GPU:0", "allocator events")
    assert (memory.allocations, memory.deallocations) == (3, 2)
    assert memory.peak_bytes == 512 + 4096 + 2048 + 3072
    assert (memory.peak_time_ms, memory.peak_step) == (0.12, 1)
    assert (memory.stack_bytes, memory.heap_bytes) == (512, 4096 + 2048 + 3072)
    assert memory.capacity_bytes == 1 << 20
    assert memory.free_bytes == (1 << 20) - memory.peak_bytes
    assert memory.fragmentation_frac == 0.25
    assert memory.lifetime_peak_bytes == memory.peak_bytes
    assert memory.before_recording_bytes == 4096


def test_long_lived_weights_are_attributed_across_steps() -> None:
    rows = {row["op_name"]: row for row in answer(training()).memories[0].breakdown.rows()}
    weight = rows["weight/Assign"]
    assert (weight["allocation_bytes"], weight["requested_bytes"]) == (2048, 2000)
    assert (weight["kept_bytes"], weight["first_ms"], weight["data_type"]) == (2048, 0.01, "float")
    assert weight["freed_ms"] is None
    assert rows["act/Relu"]["kept_bytes"] == 0
    assert rows["act/Relu"]["freed_ms"] > rows["act/Relu"]["first_ms"]
    assert rows["act/Relu"]["data_type"] == "half"
    before = rows["allocated before the recording, never freed in it"]
    assert (before["allocation_bytes"], before["origin"]) == (4096, "before recording")
    assert rows["stack"]["allocation_bytes"] == 512


def test_hover_fields_and_signs() -> None:
    rows = list(answer(training()).timeline.rows())
    assert [row["event"] for row in rows].count("deallocation") == 2
    freed = rows[2]
    assert (freed["requested_bytes"], freed["allocation_bytes"]) == (-1024, -1024)
    assert (freed["op_name"], freed["region_type"], freed["step"]) == ("act/Relu", "output", 0)
    assert freed["in_use_bytes"] == freed["stack_bytes"] + freed["heap_bytes"]


def test_allocators_that_say_neither_free_nor_fragmentation() -> None:
    heap = Heap("cpu", limit=None)
    heap.take(1, 0xA, 10)
    (memory,) = answer(space(host(line("python", *heap.events)))).memories
    assert (memory.capacity_bytes, memory.free_bytes, memory.fragmentation_frac) == (None,) * 3
    assert memory.device == ""


def test_the_lifetime_peak_may_be_before_the_recording() -> None:
    heap = Heap("GPU_0_bfc", peak=1 << 20)
    heap.take(1, 0xA, 10)
    assert (
        answer(space(host(line("python", *heap.events)))).memories[0].lifetime_peak_bytes == 1 << 20
    )


def test_names_of_allocators_are_explained() -> None:
    _, column = get_args(MemoryName)
    assert "bfc_cpu_allocator_for_gpu is host memory" in column.help


def test_hosts_keep_their_memories_apart() -> None:
    found = answer(training(), training())
    assert [memory.id for memory in found.memories] == ["h0: GPU_0_bfc", "h1: GPU_0_bfc"]
    one = answer(training(), training(), memory="h1: GPU_0_bfc")
    assert [memory.host for memory in one.memories] == ["h1"]


def test_a_memory_that_is_not_there_names_those_that_are() -> None:
    found = answer(training(), memory="GPU_7_bfc")
    assert not found.memories
    (note,) = found.diagnostics
    assert (note.slug, note.severity) == ("no-such-memory", "warning")
    assert "'GPU_7_bfc'" in note.message and "GPU_0_bfc" in note.message


def test_a_range_beyond_all_time_is_as_good_as_none() -> None:
    whole = answer(training())
    assert answer(training(), from_ms=-1e300, to_ms=1e300).timeline_events == whole.timeline_events
    assert answer(training(), from_ms=1e300).timeline_events == 0


def test_what_lived_at_a_moment_is_listed_instead_of_the_peak() -> None:
    # 0.05 ms: the weight and the first activation; the second comes at 0.12.
    (memory,) = answer(training(), at_ms=0.05).memories
    assert (memory.moment_ms, memory.moment_bytes) == (0.02, 512 + 4096 + 2048 + 1024)
    rows = {row["op_name"]: row["allocation_bytes"] for row in memory.breakdown.rows()}
    assert rows["act/Relu"] == 1024
    assert sum(rows.values()) == memory.moment_bytes
    assert memory.peak_bytes == 512 + 4096 + 2048 + 3072
    before = answer(training(), at_ms=-5.0).memories[0]
    assert before.moment_ms == 0.01  # before the first event nothing is known: it is the first
    assert answer(training()).memories[0].moment_ms == 0.12


def held_by(found: MemoryProfile, what: str = "held_bytes") -> dict[str, Any]:
    return {row["holder"]: row[what] for row in found.holders.rows()}


def test_holders_are_told_apart_as_asked() -> None:
    found = answer(training())
    assert found.memories[0].kinds == ("op", "region", "type", "module")
    assert held_by(found) == {
        "weight/Assign": 2048,
        "act/Relu": 3072,
        "from before the recording": 4096,
        "stack": 512,
    }
    assert held_by(answer(training(), by="region")) == {
        "persist": 2048,
        "output": 3072,
        "from before the recording": 4096,
        "stack": 512,
    }
    assert held_by(answer(training(), by="line"), "blocks") == {
        "not recorded": 2,
        "from before the recording": None,
        "stack": None,
    }


def test_ops_of_layers_that_repeat_are_one_and_scopes_stand_for_modules() -> None:
    heap = Heap("GPU_0_bfc")
    ops = [f"model_1/layer_{n}/mul_2" for n in range(500)] + ["model_1/head/conv2d_3/kernel"]
    for number, op in enumerate(ops):
        heap.take(number, number + 1, 256, tf_op=op)
    data = space(host(line("python", *heap.events)))
    assert held_by(answer(data)) == {
        "model_*/layer_*/mul_*": 500 * 256,
        "model_1/head/conv2d_3/kernel": 256,
    }
    # Five hundred layers are too many to tell apart: their model is named.
    assert held_by(answer(data, by="module")) == {"model_1": 501 * 256}
    few = space(host(line("python", *heap.events[:3])))
    assert set(held_by(answer(few, by="module"))) == {f"model_1/layer_{n}" for n in range(3)}


def at_each_moment(found: MemoryProfile) -> dict[float, dict[str, int]]:
    moments: dict[float, dict[str, int]] = {}
    for row in found.layers.rows():
        moments.setdefault(row["time_ms"], {})[row["holder"]] = row["held_bytes"]
    return moments


def test_layers_are_what_lives_at_each_moment() -> None:
    found = answer(training())
    use = {row["time_ms"]: row["in_use_bytes"] for row in found.timeline.rows()}
    moments = at_each_moment(found)
    assert {time: sum(held.values()) for time, held in moments.items()} == use
    for time, held in moments.items():
        live = held_by(answer(training(), at_ms=time))
        assert {name: size for name, size in held.items() if size} == live


def test_modules_and_lines_of_pytorch_hold_memory(tmp_path: Path) -> None:
    def call(name: str, ts: float, dur: float) -> dict[str, Any]:
        return x("python_function", name, ts, dur, Python_id=int(ts) + 1)

    found = kineto_profile(
        tmp_path,
        [
            call("work/train.py(7): step", 0, 100),
            call("nn.Module: Net_0", 5, 80),
            call("work/model.py(3): forward", 6, 70),
            call("nn.Module: Linear_0", 10, 20),
            x("cpu_op", "aten::addmm", 12, 8),
            allocation(13, 4096, 4096, addr=1),
            allocation(50, 256, 4352, addr=2),
            allocation(90, 1024, 5376, addr=3),
        ],
    )
    by_module = memory_profile(found, Options(by="module", at_ms=1e9))
    assert {"module", "line"} <= set(by_module.memories[0].kinds)
    assert held_by(by_module) == {"Linear_0": 4096, "not recorded": 1024, "Net_0": 256}
    by_line = held_by(memory_profile(found, Options(by="line", at_ms=1e9)))
    assert by_line == {"work/model.py:3 forward": 4352, "work/train.py:7 step": 1024}


def test_small_holders_are_one_layer() -> None:
    heap = Heap("GPU_0_bfc", in_use=1000)
    for number in range(40):
        heap.take(number, number + 1, 256 * (number + 1), tf_op=f"op{number:02}")
    heap.give(50, 40)
    moments = at_each_moment(answer(space(host(line("python", *heap.events)))))
    *_, (_, last) = moments.items()
    assert len(last) == 6 + 2
    assert last["op39"] == 0
    assert last["all others"] == sum(256 * (n + 1) for n in range(34))
    assert sum(last.values()) == heap.in_use


def test_missing_deallocations_are_told() -> None:
    heap = Heap("GPU_0_bfc")
    heap.take(1, 0xA, 256)
    heap.in_use = 0
    heap.take(2, 0xB, 256)
    found = answer(space(host(line("python", *heap.events))))
    assert found.diagnostics[0].slug == "memory-events-disagree"


def compiled_program() -> bytes:
    """A module whose buffers are a parameter, a result, a constant, temporaries, a thread's own."""

    def message(*fields: tuple[int, int | bytes]) -> bytes:
        out = b""
        for number, value in fields:
            if isinstance(value, int):
                out += varint(number << 3) + varint(value)
            else:
                out += varint(number << 3 | 2) + varint(len(value)) + value
        return out

    def varint(value: int) -> bytes:
        out = b""
        while value > 127:
            out, value = out + bytes([value & 127 | 128]), value >> 7
        return out + bytes([value])

    shape = message((2, 11), (3, 8))  # f32[8]
    weight = message(
        (1, b"p.1"), (2, b"parameter"), (3, shape), (7, message((2, b"w[0]"))), (35, 1)
    )
    dot = message((1, b"dot.2"), (2, b"dot"), (3, shape), (7, message((2, b"jit(f)/dot"))), (35, 2))
    body = message((1, b"main"), (2, weight), (2, dot), (5, 7))
    module = message((1, b"jit_f"), (2, b"main"), (3, body), (6, 7))
    logical = [message((1, i), (2, 32), (3, message((4, i)))) for i in (1, 2)]
    allocations = [
        message((2, 4096), (5, 1), (9, message((1, 1)))),
        message((1, 1), (2, 1024), (7, 1), (9, message((1, 2)))),
        message((1, 2), (2, 2048), (9, message((1, 1))), (9, message((1, 2)))),
        message((1, 3), (2, 64), (12, 1)),
        message((1, 4), (2, 999), (3, 1)),
        message((1, 5), (2, 512), (8, 1)),
    ]
    buffers = message(*((1, one) for one in logical), *((3, one) for one in allocations))
    proto = message((1, module), (3, buffers))
    kinds = {"jit_f(12)": Kind(stats={"Hlo Proto": proto})}
    return space(plane("/host:metadata", line("programs", ("jit_f(12)", 0, 0)), kinds=kinds))


def test_compiled_programs_stand_in_for_allocators() -> None:
    main, other = answer(compiled_program()).memories
    assert (main.id, main.source, main.peak_bytes) == ("jit_f(12)", "HLO buffer assignment", 7232)
    assert (other.id, other.peak_bytes) == ("jit_f(12), memory space 1", 512)
    rows = [(r["region_type"], r["op_name"], r["allocation_bytes"]) for r in main.breakdown.rows()]
    assert rows == [
        ("parameter", "w[0]", 4096),
        ("temp", "", 2048),
        ("output", "jit(f)/dot", 1024),
        ("constant", "", 64),
    ]
    assert (main.peak_time_ms, main.allocations) == (None, None)


def test_sampled_counters_stand_in_for_allocators() -> None:
    sampled = plane(
        "/device:GPU:0",
        line(
            "_counters_",
            *(
                Event("HBM bytes in use", 10 * i, 0, {"counter_value": v})
                for i, v in enumerate([5, 9, 7])
            ),
            Event("memory bandwidth", 0, 0, {"counter_value": 99}),
        ),
    )
    found = answer(space(sampled))
    (memory,) = found.memories
    assert (memory.source, memory.peak_bytes, memory.peak_time_ms) == ("sampled counter", 9, 0.01)
    assert (memory.device, memory.allocations, len(memory.breakdown)) == ("GPU:0", None, 0)
    assert list(found.timeline["in_use_bytes"]) == [5, 9, 7]


def test_what_an_allocation_does_not_say_is_not_made_up() -> None:
    sizes = {"allocation_bytes": 512, "bytes_allocated": 512, "allocator_name": "GPU_0_bfc"}
    found = answer(space(host(line("python", Event("MemoryAllocation", 1, 0, sizes)))))
    (event,) = found.timeline.rows()
    assert (event["address"], event["requested_bytes"]) == ("", None)
    (held,) = found.memories[0].breakdown.rows()
    assert (held["allocation_bytes"], held["requested_bytes"]) == (512, None)


def counted(name: str, unit: str, *values: float) -> Profile:
    samples = (Event(name, 10 * i, 0, {"counter_value": v}) for i, v in enumerate(values))
    kinds = {name: Kind(stats={"unit": unit})} if unit else {}
    return profile(space(plane("/device:GPU:0", line("_counters_", *samples), kinds=kinds)))


def test_a_sample_that_is_no_number_is_not_a_memory_without_bytes() -> None:
    (memory,) = memory_profile(counted("HBM used", "bytes", 5.0, 9.0, nan), Options()).memories
    assert (memory.begin_bytes, memory.peak_bytes, memory.end_bytes) == (5, 9, 9)
    assert TOOL.available(counted("HBM used", "bytes", nan, nan)) is not None


def test_counters_of_another_unit_than_bytes_are_not_taken_for_memory_in_use() -> None:
    assert TOOL.available(counted("GPU memory", "%", 40, 50)) is not None
    assert TOOL.available(counted("GPU memory", "B", 40, 50)) is None
    assert TOOL.available(counted("GPU memory", "", 40, 50)) is None


def test_without_any_source_it_says_what_to_record() -> None:
    why = TOOL.available(profile(worked_example()))
    assert why is not None and "allocator" in why.missing and "TF_CPU_ALLOCATOR" in why.record


_USES = st.lists(st.integers(1, 50), min_size=2, max_size=300)


@given(_USES, st.integers(0, 400))
def test_layers_and_holders_are_one_account(sizes: list[int], at: int) -> None:
    """Blocks at reused addresses, some never freed, some freed without having been allocated."""
    heap = Heap("GPU_0_bfc", in_use=1 << 30)
    for i, size in enumerate(sizes):
        if i % 5 == 3:
            heap.give(2 * i, 1000 + i, size=256)
        heap.take(2 * i, i % 7, size * 256, tf_op=f"op{size % 4}")
        if i % 3:
            heap.give(2 * i + 1, i % 7)
    data = space(host(line("python", *heap.events)))
    found = answer(data, at_ms=at / 1000)
    (memory,) = found.memories
    assert sum(held_by(found).values()) == memory.moment_bytes
    moments = at_each_moment(answer(data, to_ms=at / 1000))
    if moments:
        *_, (time, last) = moments.items()
        here = answer(data, at_ms=time)
        assert {name: held for name, held in last.items() if held} == held_by(here)


@given(_USES, st.integers(1, 40))
def test_thinning_keeps_the_highest_use_of_each_interval_and_the_last(
    sizes: list[int], points: int
) -> None:
    heap = Heap("GPU_0_bfc")
    for i, size in enumerate(sizes):
        heap.take(2 * i, i, size * 256)
        if i % 3:
            heap.give(2 * i + 1, i)
    data = space(host(line("python", *heap.events)))
    whole, few = answer(data, points=0), answer(data, points=points)
    assert len(few.timeline) <= max(points, 1)
    assert few.timeline_events == len(whole.timeline) == len(heap.events)
    assert max(few.timeline["in_use_bytes"]) == max(whole.timeline["in_use_bytes"])
    known = list(zip(whole.timeline["time_ms"], whole.timeline["in_use_bytes"], strict=True))
    shown = list(zip(few.timeline["time_ms"], few.timeline["in_use_bytes"], strict=True))
    assert set(shown) <= set(known)
    assert points == 1 or shown[-1] == known[-1]
    first, last = known[0][0], known[-1][0]
    intervals = max(points // 2, 1)
    for low in range(intervals):
        begin, end = (first + (last - first) * edge / intervals for edge in (low, low + 1))
        inside = [(at, use) for at, use in known if begin + 1e-9 < at < end - 1e-9]
        near = [(at, use) for at, use in shown if begin - 1e-9 <= at <= end + 1e-9]
        if inside:
            assert near and max(use for _, use in near) >= max(use for _, use in inside)
            assert points == 1 or inside[-1] in near or near[-1][0] > inside[-1][0]


def test_a_peak_of_a_moment_does_not_last_through_the_quiet_time_behind_it() -> None:
    heap = Heap("GPU_0_bfc")
    for turn, begin in enumerate((0, 900_000)):
        for block in range(400):
            heap.take(begin + 2 * block, 1000 * turn + block, 1 << 20)
        for block in range(400):
            heap.give(begin + 1000 + block, 1000 * turn + block)
    found = answer(space(host(line("python", *heap.events))), points=10)
    shown = list(zip(found.timeline["time_ms"], found.timeline["in_use_bytes"], strict=True))
    assert max(use for _, use in shown) == 400 << 20
    assert [use for at, use in shown if at < 800][-1] == 0
    # What the layers hold then has 320 moments for 1,600 events: the last before the gap is one.
    quiet = [held for at, held in at_each_moment(found).items() if at < 800][-1]
    assert sum(quiet.values()) == 0


def test_a_range_gives_its_events_in_full() -> None:
    found = answer(training(), from_ms=0.02, to_ms=0.12)
    assert list(found.timeline["time_ms"]) == pytest.approx([0.02, 0.08, 0.12])
    assert answer(training(), from_ms=5.0, to_ms=4.0).timeline_events == 0


def test_sizes_are_added_up_where_neither_addresses_nor_sums_were_recorded(tmp_path: Path) -> None:
    """PyTorch before 1.10; of 30 bytes the second is given back, then what was taken before."""
    told = [
        (0, "ProfilerStep#1", None),
        (10, "aten::mm", 100),
        (20, "aten::add", 30),
        (30, "aten::mul", 30),
        (40, "aten::relu", -30),
        (50, "aten::mm", -100),
        (60, "aten::sub", -7),
    ]
    events = [x("user_annotation", "ProfilerStep#1", 0, 100)]
    for ts, op, size in told[1:]:
        one = allocation(ts, size or 0, 0)
        one["args"] = {key: one["args"][key] for key in ("Device Type", "Device Id", "Bytes")}
        events += [x("cpu_op", op, ts - 1, 3), one]
    found = memory_profile(kineto_profile(tmp_path, events))
    (memory,) = found.memories
    assert memory.peak_bytes == 167
    assert memory.peak_time_ms == pytest.approx(0.03)
    assert (memory.begin_bytes, memory.end_bytes) == (107, 30)
    rows = {row["op_name"]: row for row in memory.breakdown.rows()}
    own = ("aten/mm:mm", "aten/add:add", "aten/mul:mul")
    assert [rows[op]["allocation_bytes"] for op in own] == [100, 30, 30]
    # The latest of its size was given back, the first of them never.
    assert [rows[op]["kept_bytes"] for op in own] == [0, 30, 0]
    (note,) = found.diagnostics
    assert note.slug == "memory-added-up"


def test_the_room_lies_between_all_of_it_growing_and_only_what_comes_and_goes() -> None:
    # 4 of 16 GiB at the peak, 1 GiB of it weights: 14.4 / 4 and (14.4 - 1) / 3.
    found = batch_room(4 * GIB, 1 * GIB, 16 * GIB)
    assert found is not None
    assert found.at_least == pytest.approx(3.6)
    assert found.at_most == pytest.approx(13.4 / 3)


def test_a_full_memory_holds_less_than_the_batch_it_held() -> None:
    found = batch_room(95, 80, 100)
    assert found is not None
    assert found.at_least == pytest.approx(90 / 95)
    assert found.at_most == pytest.approx(10 / 15)


def test_what_is_not_known_has_no_room() -> None:
    assert batch_room(4, 1, None) is None
    assert batch_room(0, 0, 16) is None
    steady = batch_room(4, 4, 16)
    assert steady is not None and steady.at_most is None
