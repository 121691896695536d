"""Kernel stats, memory, inference, counters on anything: wrong types, missing stats, odd names."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepscope.analysis import inference_profile, kernel_stats, memory_profile, perf_counters
from stepscope.formats.xspace import decode
from stepscope.registry import Tool
from stepscope.schema import names
from stepscope.tables.core.profile import Host, Profile
from tests.kernels import examples
from tests.profiles.model import Event, Line, gpu, host, line, plane, ref, space, u

TOOLS: tuple[Tool, ...] = (
    kernel_stats.TOOL,
    memory_profile.TOOL,
    inference_profile.TOOL,
    perf_counters.TOOL,
)

_NAMES = st.sampled_from(
    [
        *names.MEMORY_EVENTS,
        *names.REQUEST_EVENTS,
        *names.BATCH_EVENTS,
        "PjitFunction(f)",
        "volta_sgemm",
        "MemcpyH2D",
        "Memory used",
        "a/MatMul:MatMul",
        "",
        "\x00<script>",
    ]
)
_STATS = st.sampled_from(
    [
        names.ALLOCATOR_NAME,
        names.INDEX_ON_HOST,
        names.BYTES_RESERVED,
        names.BYTES_ALLOCATED,
        names.BYTES_AVAILABLE,
        names.FRAGMENTATION,
        names.PEAK_BYTES_IN_USE,
        names.REQUESTED_BYTES,
        names.ALLOCATION_BYTES,
        names.ADDRESS,
        names.TF_OP,
        names.REGION_TYPE,
        names.DATA_TYPE,
        names.SHAPE,
        names.KERNEL_DETAILS,
        names.MEMCPY_DETAILS,
        names.MODEL_ID,
        names.PRODUCER_TYPE,
        names.PRODUCER_ID,
        names.CONSUMER_TYPE,
        names.CONSUMER_ID,
        names.BATCH_SIZE_AFTER_PADDING,
        names.PADDING_AMOUNT,
        names.BATCHING_INPUT_TASK_SIZE,
        names.COUNTER_VALUE,
        names.COUNTER_DESCRIPTION,
        names.COUNTER_SETS,
        names.CORRELATION_ID,
    ]
)
_INTS = st.one_of(st.integers(-2, 8), st.sampled_from([4, 6, 16, 2**40, -(2**63), 2**63 - 1]))
_VALUES = st.one_of(
    _INTS,
    st.integers(0, 2**64 - 1).map(u),
    st.floats(width=64),
    st.sampled_from(["", "(null)", "regs:1 grid:1", "regs:x", "12", "é", "\ud7ff"]),
    st.sampled_from(["GPU_0_bfc", "kernel"]).map(ref),
    st.binary(max_size=4),
)
_EVENTS = st.builds(
    Event,
    _NAMES,
    st.integers(0, 50),
    st.sampled_from([0, 0, 1, 5, 40]),
    st.dictionaries(_STATS, _VALUES, max_size=7),
)
_LINES = st.lists(
    st.builds(
        lambda name, events: line(name, *events),
        st.sampled_from(["python", "worker/1", "_counters_", "Stream #7(Compute)", "Steps"]),
        st.lists(_EVENTS, max_size=8),
    ),
    max_size=4,
)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_LINES, _LINES, _LINES, st.integers(1, 5))
def test_every_answer_is_sound(
    threads: list[Line], streams: list[Line], others: list[Line], points: int
) -> None:
    data = space(host(*threads), gpu(0, *streams), plane("/device:TPU:0", *others))
    profile = Profile("s", tuple(Host(name, decode(data)) for name in ("a", "b")))
    for tool in TOOLS:
        missing = tool.available(profile)
        options: Any = tool.options(points=points) if tool.short == "memory" else tool.options()
        result = tool.run(profile, options)
        text = json.dumps(result.to_dict(), allow_nan=False)
        assert json.loads(text)["tool"] == tool.id
        if missing is not None:
            assert missing.missing and missing.record
            assert all(len(table) == 0 for table in result.tables().values())
        for table in result.tables().values():
            assert table.to_polars().height == len(table)
