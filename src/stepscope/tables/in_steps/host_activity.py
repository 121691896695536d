"""What a host's threads do in a step beside computing: building functions, printing, Python.

All times are within the kept steps of the host. *Computing* is the time in which an op runs on
any thread of the step, or a device runs anything; what a thread does meanwhile costs nothing.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns import distinct, nest, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.presence import entries_shaped, entries_starting
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import (
    Work,
    host_names,
    host_thread_rows,
    is_tf_data_thread,
    on_host_threads,
    timed_rows,
)
from stepscope.tables.host.ops import host_ops
from stepscope.tables.steps.attribution import HostSteps, steps
from stepscope.tables.steps.calls import is_single_op
from stepscope.tables.steps.program_runs import program_runs

# Work that a program does for its operator, not for its result; by the name of the op or call.
SIDE_WORK: dict[str, re.Pattern[str]] = {
    "printing": re.compile(r"(?:^|[: ])(?:PrintV2|Print|StringFormat)$|debug_print|debug_callback"),
    "summaries": re.compile(
        # Ops that prepare a summary (a histogram's buckets) lie in its scope.
        r"(?:^|[: ])(?:Write\w*Summary|FlushSummaryWriter|ImportEvent|\w*Summary(?:V2)?)$|"
        r"(?:^|/)write_summary(?:_\d+)?/"
    ),
    "checkpoint": re.compile(
        r"(?:^|[: ])(?:SaveV2|SaveSlices|MergeV2Checkpoints|ShardedFilename|RestoreV2)$"
    ),
    "callback": re.compile(
        rf"(?:^|[: ])(?:{'|'.join(names.PYTHON_OPS)})$|pure_callback|io_callback|"
        r"xla_(?:ffi_)?python_\w{0,40}callback"
    ),
}
_SUMMARY_SCOPE = re.compile(r".*?write_summary(?=(?:_\d+)?/)")
_KERNEL_RUN = re.compile(re.escape(names.EAGER_KERNEL_RUN))
_JIT_CALL = re.compile(rf"^{re.escape(names.PJIT_FUNCTION)}(.*)\)$")
# Kind of side work that is Python's own; events of the recorder of it, whose threads are not the
# program's.
GARBAGE = "garbage collection"
_OUR_THREADS = "stepscope-"
# Ops of PyTorch, and what runs a compiled graph of them.
_TORCH_OPS = ("aten/", "aten::")
_COMPILED_REGION = re.compile(r"Torch-Compiled Region|CompiledFxGraph|CompiledFunction|inductor")
# Of a call of a tf.function; its value begins with "traced" where it was retraced.
_TRACED, _EAGERLY = "traced", "eager"


@dataclass(frozen=True, eq=False, slots=True)
class HostTime:
    """The kept steps of a host, or some of its steps, and when something computed in them.

    Attributes:
        found: All its steps.
        start_ps, end_ps: These steps.
        busy_start_ps, busy_end_ps: When an op ran or a device was busy; disjoint, ascending.
        free_start_ps, free_end_ps: The rest of these steps; disjoint, ascending.
    """

    found: HostSteps
    start_ps: I64
    end_ps: I64
    busy_start_ps: I64
    busy_end_ps: I64
    free_start_ps: I64
    free_end_ps: I64


@derived
def host_time(host: Host) -> HostTime | None:
    """None without kept steps."""
    found = steps(host)
    return None if found is None or not found.kept.any() else _time_in(host, found, found.kept)


def _time_in(host: Host, found: HostSteps, chosen: Bool) -> HostTime:
    start, end = found.start_ps[chosen], found.end_ps[chosen]
    rows = np.concatenate([_op_rows(host), _eager_kernels(host)])
    begin = host.space.events.start_ps[rows]
    devices = device_events(host)
    busy = union_spans(
        np.concatenate([begin, devices.start_ps]),
        np.concatenate([begin + host.space.length_ps[rows], devices.end_ps]),
    )
    return HostTime(found, start, end, *busy, *_between(*busy, start, end))


def _between(busy_start: I64, busy_end: I64, start: I64, end: I64) -> tuple[I64, I64]:
    """What of the (disjoint, ascending) intervals no busy span covers."""
    # Everything outside of the intervals counts as busy; the gaps of the union are the answer.
    edges_end = np.concatenate([start, [np.iinfo(np.int64).max]])
    edges_start = np.concatenate([[np.iinfo(np.int64).min], end])
    outer = edges_end > edges_start
    order_start = np.concatenate([busy_start, edges_start[outer]])
    order_end = np.concatenate([busy_end, edges_end[outer]])
    order = np.argsort(order_start, kind="stable")
    reach = np.maximum.accumulate(order_end[order])
    following = order_start[order][1:]
    gap = following > reach[:-1]
    return reach[:-1][gap], following[gap]


def _op_rows(host: Host) -> I64:
    """Ops that ran for the step: not those of tf.data's threads."""
    found = host_ops(host)
    rows = found.rows[found.is_execution]
    own: I64 = rows[~_is_tf_data_line(host)[host.space.lines_of(rows)]]
    return own


def _is_tf_data_line(host: Host) -> Bool:
    """Per line of the space."""
    flags = [is_tf_data_thread(line.name) for line in host.space.lines] or [False]
    return np.asarray(flags, dtype=bool)


def _eager_kernels(host: Host) -> I64:
    """Runs of single kernels by the eager runtime, which names no op in them."""
    runs = _rows_matching(host, _KERNEL_RUN)
    start = host.space.events.start_ps[runs]
    functions = _eager_calls(host, of_functions=True)
    begin = host.space.events.start_ps[functions]
    inside = union_spans(begin, begin + host.space.length_ps[functions])
    alone: I64 = runs[covered(*inside, start, start + 1) == 0]
    return alone


def _eager_calls(host: Host, *, of_functions: bool) -> I64:
    is_func = event_stats(host).ints(names.IS_FUNC)
    rows: I64 = is_func.rows[(is_func.values > 0) == of_functions]
    return rows


def _rows_matching(host: Host, pattern: re.Pattern[str]) -> I64:
    """Events of host threads whose whole name matches, that have a place in time."""
    space = host.space
    named = entries_shaped(host, lambda name: pattern.search(name) is not None)
    rows = timed_rows(host, named)
    own: I64 = rows[np.isin(space.lines_of(rows), host_thread_rows(host))]
    return own


def _called_for_steps(time: HostTime, at: I64) -> Bool:
    """Whether what is called at each moment is work of a kept step.

    Steps that a device tells of begin with its work, which the host called for before: since the
    end of the step before.
    """
    found = time.found
    if found.markers.line >= 0 or found.markers.is_window:
        return _is_in_step(time, at)
    step = np.searchsorted(found.end_ps, at, side="right")
    kept = np.concatenate([found.kept, [False]])
    called: Bool = kept[step]
    return called


def _is_in_step(time: HostTime, at: I64) -> Bool:
    """Whether each moment is in a kept step."""
    place = np.searchsorted(time.start_ps, at, side="right") - 1
    inside: Bool = (place >= 0) & (at < time.end_ps[np.maximum(place, 0)])
    return inside


@dataclass(frozen=True, slots=True)
class FunctionCalls:
    """The calls of one compiled function in the kept steps.

    Attributes:
        function: Its name.
        calls: How often it was called.
        built: How often it was traced or compiled in the call.
        eager: How often it ran op by op although it is a function.
        traces: Concrete functions there were at the last call; 0 where it is not recorded.
        time_ps: Σ duration of the calls.
        build_ps: Σ time of the calls that built, in which nothing was computed.
    """

    function: str
    calls: int
    built: int
    eager: int
    traces: int
    time_ps: int
    build_ps: int


def function_calls(host: Host) -> tuple[FunctionCalls, ...]:
    """The outermost calls of tf.function and jit in the kept steps, by the time to build them."""
    time = host_time(host)
    if time is None:
        return ()
    stats, events = event_stats(host), host.space.events
    how = stats.texts(names.TF_FUNCTION_CALL)
    kind = np.zeros(len(events), dtype=np.uint8)  # 1 traced, 2 eager
    kinds = [1 if one.startswith(_TRACED) else 2 * (one == _EAGERLY) for one in how.texts]
    kind[how.rows] = np.asarray(kinds or [0], dtype=np.uint8)[how.codes]
    mask = np.zeros(len(events), dtype=bool)
    mask[how.rows] = True
    mask[_rows_matching(host, _JIT_CALL)] = True
    depth = nest(events.start_ps, events.duration_ps, host.space.line_begin, select=mask).depth
    rows = np.flatnonzero(mask & (depth == 0))
    rows = rows[_called_for_steps(time, events.start_ps[rows])]
    start, length = events.start_ps[rows], host.space.length_ps[rows]
    compiling = _compiling(host)
    built = (kind[rows] == 1) | (covered(*compiling, start, start + length) > 0)
    idle = covered(time.free_start_ps, time.free_end_ps, start, start + length)
    traces = stats.ints(names.TRACING_COUNT).at(rows, 0)
    found = []
    for name in distinct(events.metadata[rows]).tolist():
        own = events.metadata[rows] == name
        found.append(
            FunctionCalls(
                function=_JIT_CALL.sub(r"\1", host.space.event_metadata.name[name]),
                calls=int(own.sum()),
                built=int(built[own].sum()),
                eager=int((kind[rows][own] == 2).sum()),
                traces=int(traces[own].max()),
                time_ps=int(length[own].sum()),
                build_ps=int(idle[own & built].sum()),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.build_ps, -one.time_ps, one.function)))


def _compiling(host: Host) -> tuple[I64, I64]:
    """When the host compiled; disjoint, ascending."""
    space = host.space
    is_compile = host_names(host).work == Work.COMPILE
    rows = timed_rows(host, is_compile)
    start = space.events.start_ps[rows]
    return union_spans(start, start + space.length_ps[rows])


def eager_ops(host: Host) -> I64:
    """Ops dispatched one by one in each kept step; of JAX's those that are programs of one op."""
    time = host_time(host)
    if time is None:
        return np.zeros(0, dtype=np.int64)
    rows = _eager_calls(host, of_functions=False)
    rows = rows[~_is_tf_data_line(host)[host.space.lines_of(rows)]]
    start = host.space.events.start_ps[rows]
    dispatched = host.space.events.start_ps[torch_dispatches(host)]
    runs = program_runs(host)
    is_op = np.asarray([is_single_op(name) for name in runs.names] or [False])
    at = np.concatenate([start, dispatched, runs.start_ps[is_op[runs.name]]])
    step = np.searchsorted(time.start_ps, at[_is_in_step(time, at)], side="right") - 1
    return np.bincount(step, minlength=len(time.start_ps)).astype(np.int64)


@derived
def torch_dispatches(host: Host) -> I64:
    """Rows of ops that PyTorch dispatched from Python or from its backward pass, outermost only.

    What a compiled graph runs was dispatched with it.
    """
    is_op = entries_shaped(host, lambda name: name.startswith(_TORCH_OPS))
    if not is_op.any():
        return np.zeros(0, dtype=np.int64)
    space = host.space
    compiled = entries_shaped(host, lambda name: bool(_COMPILED_REGION.search(name)))
    mask = (is_op | compiled)[space.events.metadata]
    mask &= on_host_threads(host)
    depth = nest(space.events.start_ps, space.length_ps, space.line_begin, select=mask).depth
    rows: I64 = np.flatnonzero(mask & (depth == 0) & is_op[space.events.metadata])
    return rows


@dataclass(frozen=True, eq=False, slots=True)
class SideWork:
    """Work of one kind that serves the operator: printing, summaries, checkpoints, callbacks.

    Attributes:
        kind: A key of ``SIDE_WORK``, or ``GARBAGE``.
        calls: The names of its ops, most frequent first.
        count: How often they ran.
        length_ps: Length of each kept step and outlier: such work makes some steps long.
        step_ps: Per such step, the time in which it ran and no other op did.
        whole_ps: The same, whatever else ran.
    """

    kind: str
    calls: tuple[str, ...]
    count: int
    length_ps: I64
    step_ps: I64
    whole_ps: I64


def side_work(host: Host) -> tuple[SideWork, ...]:
    """Each kind that occurs in the kept steps and the outliers."""
    kept = host_time(host)
    if kept is None:
        return ()
    time = _time_in(host, kept.found, kept.found.timed)
    length = time.end_ps - time.start_ps
    events = host.space.events
    text = host.space.event_metadata.name
    found = []
    of_tf_data = _is_tf_data_line(host)
    for kind, pattern in SIDE_WORK.items():
        rows = _rows_matching(host, pattern)
        rows = rows[~of_tf_data[host.space.lines_of(rows)]]
        start = events.start_ps[rows]
        touches = _is_in_step(time, start)
        if not touches.any():
            continue
        rest = np.setdiff1d(_op_rows(host), rows, assume_unique=True)
        rest_start = events.start_ps[rest]
        rest_end = rest_start + host.space.length_ps[rest]
        end = start + host.space.length_ps[rows]
        both = union_spans(np.concatenate([rest_start, start]), np.concatenate([rest_end, end]))
        whole = covered(*union_spans(start, end), time.start_ps, time.end_ps)
        alone = covered(*both, time.start_ps, time.end_ps) - covered(
            *union_spans(rest_start, rest_end), time.start_ps, time.end_ps
        )
        names_in, counts = np.unique(events.metadata[rows[touches]], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        calls = dict.fromkeys(_op_type(text[name]) for name in names_in[order].tolist())
        found.append(SideWork(kind, tuple(calls), int(touches.sum()), length, alone, whole))
    return (*found, *_garbage(host, time))


def _garbage(host: Host, time: HostTime) -> tuple[SideWork, ...]:
    """Python's collections of garbage, on any thread of the program: all of them wait."""
    space = host.space
    wanted = entries_starting(host, names.COLLECTION)
    rows = timed_rows(host, wanted)
    ours = np.asarray([line.name.startswith(_OUR_THREADS) for line in space.lines] or [False])
    rows = rows[~ours[space.lines_of(rows)]]
    start = space.events.start_ps[rows]
    inside = _is_in_step(time, start)
    if not inside.any():
        return ()
    spans = union_spans(start, start + space.length_ps[rows])
    names_in = distinct(space.events.metadata[rows[inside]]).tolist()
    calls = tuple(
        space.event_metadata.name[name].removeprefix(names.COLLECTION) for name in names_in
    )
    step_ps = covered(*spans, time.start_ps, time.end_ps)
    said = "generation " + " and ".join(sorted({one.strip() for one in calls}))
    length = time.end_ps - time.start_ps
    return (SideWork(GARBAGE, (said,), int(inside.sum()), length, step_ps, step_ps),)


def _op_type(name: str) -> str:
    """Of "loss/Print:PrintV2", "EagerLocalExecute: PrintV2" and "debug_callback.40" the type."""
    if name.startswith(names.PYTHON_CALL_MARK):
        return name.rpartition(" ")[2]
    scope = _SUMMARY_SCOPE.match(name)
    return scope.group() if scope else re.sub(r"\.\d+$", "", re.split(r": ?", name)[-1])
