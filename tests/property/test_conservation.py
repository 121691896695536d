"""Conservation laws on random profiles: nothing is counted twice, nothing is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.host.ops import host_ops
from stepscope.tables.ops.framework_totals import device_busy, device_op_totals, host_op_totals
from stepscope.tables.steps.attribution import PARTS, steps
from tests.kernels import examples
from tests.profiles.model import Event, Line, gpu, host, line, plane, space, stream

NAMES = (
    "a/MatMul:MatMul",
    "b/Add:AddV2",
    "IteratorGetNext",
    "ExecutorState::Process",
    "FunctionRun",
    "cuLaunchKernel",
    "backend_compile",
    "Iterator::Root::Map",
    "python function",
)
KERNELS = ("sgemm", "h884gemm", "MemcpyH2D", "MemcpyD2H", "MemcpyD2D", "ncclAllReduce")
THREADS = ("python", "tf_Compute/1", "tf_data_private/2", "tf_data_iterator_get_next/3", "logger")

times = st.integers(0, 400)
durations = st.integers(0, 120)


@st.composite
def threads(draw: st.DrawFn, name: str) -> Line:
    events = draw(st.lists(st.tuples(st.sampled_from(NAMES), times, durations), max_size=15))
    made = [Event(*one) for one in events]
    if name == "python":
        starts = sorted(draw(st.sets(st.integers(0, 40), max_size=9)))
        made += [
            Event("train", 10 * at, draw(st.integers(0, 15)), {"step_num": number, "_r": 1})
            for number, at in enumerate(starts)
        ]
    return line(name, *made)


@st.composite
def streams(draw: st.DrawFn, number: int) -> Line:
    events = draw(st.lists(st.tuples(st.sampled_from(KERNELS), times, durations), max_size=12))
    stats = [{"correlation_id": draw(st.integers(0, 30))} for _one in events]
    made = [Event(*one, extra) for one, extra in zip(events, stats, strict=True)]
    return stream(number, *made)


@st.composite
def spaces(draw: st.DrawFn) -> bytes:
    planes = [host(*[draw(threads(name)) for name in THREADS])]
    planes += [
        gpu(index, *[draw(streams(7 + number)) for number in range(draw(st.integers(0, 3)))])
        for index in range(draw(st.integers(0, 2)))
    ]
    if draw(st.booleans()):
        ops = [Event("%while = () while()", 0, 100), Event("%a = f32[8] add()", 10, 20)]
        planes.append(plane("/device:TPU:0", line("XLA Ops", *ops)))
    return space(*planes)


@settings(max_examples=examples(150), deadline=None)
@given(spaces())
def test_the_parts_of_a_step_sum_to_it(data: bytes) -> None:
    found = steps(Host("h", decode(data)))
    if found is None:
        return
    parts = [found.parts_ps[part] for part in PARTS]
    assert all((part >= 0).all() for part in parts)
    assert np.array_equal(np.sum(parts, axis=0), found.duration_ps)
    assert (found.end_ps >= found.start_ps).all()
    assert (found.start_ps[1:] >= found.end_ps[:-1]).all()
    for busy in found.busy_ps.values():
        assert ((busy >= 0) & (busy <= found.duration_ps)).all()


def brute_busy(start: np.ndarray, end: np.ndarray, unit: int) -> int:
    """Busy time by painting a row of cells, one per µs."""
    cells = np.zeros(1000, dtype=bool)
    for first, last in zip(start // unit, end // unit, strict=True):
        cells[first:last] = True
    return int(cells.sum()) * unit


@settings(max_examples=examples(150), deadline=None)
@given(spaces())
def test_busy_and_idle_make_the_span_of_every_device(data: bytes) -> None:
    opened = Host("h", decode(data))
    found = device_events(opened)
    for device, (span, busy) in device_busy(opened).items():
        own = (found.device == device) & ~found.is_container & (found.duration_ps > 0)
        assert busy == brute_busy(found.start_ps[own], found.end_ps[own], 1_000_000)
        assert busy <= span
    idle = sum(span - busy for span, busy in device_busy(opened).values())
    assert device_op_totals(opened).idle_ps == idle


@settings(max_examples=examples(150), deadline=None)
@given(spaces())
def test_ops_are_counted_once_and_self_times_never_exceed_totals(data: bytes) -> None:
    opened = Host("h", decode(data))
    found, totals = host_ops(opened), host_op_totals(opened)
    assert int(totals.occurrences.sum()) == len(found.rows)
    assert int(totals.self_ps.sum()) == int(found.self_ps.sum())
    assert ((totals.self_ps >= 0) & (totals.self_ps <= totals.total_ps)).all()
    device = device_op_totals(opened)
    events = device_events(opened)
    assert int(device.total_ps.sum()) == int(events.duration_ps.sum())
    assert (device.executions >= device.occurrences).all()
