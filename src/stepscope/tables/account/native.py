"""The frameworks' own events on the loop's thread: ops, calls of functions, waits."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

import numpy as np

from stepscope.columns import among, distinct_keys, look_up, union_spans
from stepscope.columns.nesting import Nesting
from stepscope.columns.space import I32, I64, U8, Line
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.op_name import OpCategory, is_collective_call
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import region_name
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.thresholds import LONG_OP_PS
from stepscope.tables.core.waits import is_system_call, is_system_wait, wait_of
from stepscope.tables.device.driver_calls import is_device_allocation
from stepscope.tables.host.events import Work, host_names, timed_events
from stepscope.tables.host.ops import host_ops
from stepscope.tables.python.moments import levels, one_line
from stepscope.tables.steps.attribution import host_work
from stepscope.tables.steps.found import Markers
from stepscope.tables.torch.autograd import numbered_ops
from stepscope.tables.traits.updates import marked_updates

# What an event on the loop's thread is. FRAME: a call that runs or waits for what it contains;
# DISPATCH: the runtime hands an op or a program over; PART: a part that the program named.
NOTHING, OP, INPUT, COMPILE, COPY, LAUNCH, WAIT, FRAME, DISPATCH, PART, ALLOCATE = range(11)
_OF_PROGRAM = (OP, INPUT, COMPILE, FRAME, DISPATCH, PART)

_FRAME = re.compile(
    r"^(?:FunctionRun|EagerKernelExecute|KernelAndDeviceFunc::Run|TFE_Py_Execute\w*|EagerExecute|"
    r"EagerLocalExecute: __(?:inference|forward)|ExecutorState::Process|SessionRun|"
    r"ThunkExecutor::Execute|\w{0,60}(?:PjRt|Executable)\w{0,60}::Execute)"
)
# PjRt hands a program over in less time; a call that takes longer runs it on the spot.
_PROGRAM = re.compile(r"(?:PjRt|Executable)\w{0,60}::Execute")
_DISPATCH = re.compile(
    r"^(?:EagerLocalExecute|EagerExecute|TFE_Py_FastPathExecute|PjitFunction|Pjit|"
    r"\w{0,60}PjRt\w{0,60}::|\w{0,60}Executable::|ParseArguments|DevicePut|ValidateInput|"
    r"EagerCopyToDevice|"
    r"convert_to_tensor|tf\.constant|TFE_|PythonRefManager|AllocateOutput|pjit)"
)
_DRIVER = re.compile(r"(?:cu|cuda|hip)[A-Z]")
# The driver's calls that copy. Where a device was recorded, they are launches of what it copies.
_COPY = re.compile(r"^(?:cu|cuda|hip)Memcpy")
# PyTorch's ops that compute nothing: what they copy, if they do, an op within them copies.
_VIEW = re.compile(
    r"aten/(?:t|T|mT|numpy_T|transpose|permute|movedim|swapaxes|view|_unsafe_view|view_as|reshape|"
    r"_reshape_alias|flatten|unflatten|ravel|expand|expand_as|broadcast_to|unsqueeze|squeeze|select|"
    r"slice|narrow|unbind|split|split_with_sizes|chunk|as_strided|alias|detach|diagonal|real|"
    r"view_as_real|view_as_complex|lift_fresh|resolve_conj|resolve_neg|result_type|"
    r"empty|empty_like|empty_strided|new_empty|set)_?$"
)
_EAGER = re.compile(r"^Eager(?:Local)?Execute: (?!__)(.+)$")
# A graph that Inductor compiled: on a processor its parts are not recorded.
_GRAPH_TYPE = "CompiledFxGraph"
_COMPILED_GRAPH = re.compile(rf"## Call {_GRAPH_TYPE} (\w+)")
_FUNCTION = re.compile(r"^PjitFunction\((.*)\)$|^Eager\w*Execute: (__(?:inference|forward)\w*)$")


class Around(NamedTuple):
    """Return the names that events lie in; "" for none.

    Attributes:
        mark: Name of the innermost range that the program marks.
        op: The outermost op: what the program called.
        gradient_of: The op that the program called, of what computes its gradient.
    """

    mark: str
    op: str
    gradient_of: str = ""

    @property
    def path(self) -> str:
        """Return the calls of the program from the outside in: "loss › aten/item"."""
        return " › ".join(filter(None, (self.mark, self.gradient_of or self.op)))


@dataclass(frozen=True, eq=False, slots=True)
class NativeLabels:
    """Meaning of the labels of events.

    Attributes:
        labels: (name, type) of each.
        around: What events lie in, by the code ``Native.within``.
        longest: Event row of the longest op of each, -1 none.
        are_ranges: Whether what has no other meaning are ranges that the program names.
        has_ops: Whether there is more than calls of a device's runtime or of the system.
    """

    labels: tuple[tuple[str, str], ...]
    around: tuple[Around, ...]
    longest: I64
    are_ranges: bool
    has_ops: bool


@dataclass(frozen=True, eq=False, slots=True)
class Native:
    """The events of the loop's thread that are not Python calls.

    Attributes:
        start_ps: When each begins.
        length_ps: How long it takes.
        kind: What each is, an inner wrapper being what the event around it is.
        label: Which of the labels: the op, function or call that names it; -1 none.
        within: What it lies in: a code of ``NativeLabels.around``; -1 for nothing.
        named: The labels.
        waits: Waits of other threads that work for the step: begin, end and label of each.
    """

    start_ps: I64
    length_ps: I64
    kind: U8
    label: I32
    within: I32
    named: NativeLabels
    waits: tuple[I64, I64, I64]


def op_spans(said: Native | None) -> tuple[I64, I64]:
    """When ops ran on the thread: begins and ends, disjoint and ascending."""
    if said is None:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    rows = np.flatnonzero(said.kind == OP)
    return union_spans(said.start_ps[rows], said.start_ps[rows] + said.length_ps[rows])


def native(host: Host, line: int, markers: Markers) -> Native | None:
    """Return the frameworks' own events on a thread; None where there are none."""
    if line < 0:
        return None
    space = host.space
    one = space.lines[line]
    rows = np.arange(one.begin, one.end, dtype=np.int64)
    is_call = np.asarray(
        [name.startswith(names.PYTHON_CALL_MARK) for name in space.event_metadata.name] or [False]
    )
    kept = ~is_call[space.events.metadata[rows]] & (space.events.duration_ps[rows] > 0)
    kept &= timed_events(host)[rows]
    rows = rows[kept]
    if len(rows) == 0:
        return None
    start, length = space.events.start_ps[rows], space.length_ps[rows]
    kind, label, labels = _classified(host, rows, markers)
    programs = entries_shaped(host, lambda name: _PROGRAM.search(name) is not None)
    starts_program = programs[space.events.metadata[rows]]
    by_system = entries_shaped(host, _is_of_system)[space.events.metadata[rows]]
    nesting = one_line(start, length)
    parent = nesting.parent.astype(np.int64)
    # A wrapper is named by the call around it; what is done to compile is compiling.
    unnamed = (label < 0) & (kind != NOTHING)
    within, around = _within(nesting, kind, label, labels)
    # Where XLA's ops were recorded, they tell when the program ran.
    is_short = (length < LONG_OP_PS) | (len(event_stats(host).rows(names.HLO_OP)) > 0)
    for inner in islice(levels(nesting), 1, None):
        outer, own = kind[parent[inner]], kind[inner]
        # What the runtime does to make a batch, on the thread that asks for it, is input; what a
        # driver asks the operating system for is its own call's.
        taken = (outer == COMPILE) & (own != NOTHING)
        taken |= (outer == INPUT) & np.isin(own, (PART, FRAME, DISPATCH))
        taken |= by_system[inner] & np.isin(outer, (ALLOCATE, LAUNCH, WAIT, COPY))
        label[inner] = np.where(taken, label[parent[inner]], label[inner])
        kind[inner] = np.where(taken, outer, own)
        here = inner[unnamed[inner]]
        label[here] = label[parent[here]]
        outer = kind[parent[here]]
        # Inside of the dispatch of an op its kernel runs; inside of that of a function, ops do.
        runs = (kind[here] == FRAME) & ((outer == DISPATCH) | (outer == OP)) & (label[here] >= 0)
        runs &= ~(is_short[here] & starts_program[here])
        kind[here] = np.where(runs, OP, kind[here])
    _hand_over(nesting, kind)
    within, around = _of_gradients(host, one, start, within, around)
    label = _in_updates(host, rows, kind, label, labels)
    longest = _longest_ops(rows, length, kind, label, len(labels))
    are_ranges = names.PROGRAM_RANGES in space.stat_metadata.name
    has_ops = _has_ops(kind, label, labels, are_ranges=are_ranges)
    waits = _waits_elsewhere(host, one, labels)
    longest = np.append(longest, np.full(len(labels) - len(longest), -1, dtype=np.int64))
    named = NativeLabels(tuple(labels), around, longest, are_ranges, has_ops)
    codes = label.astype(np.int32)
    return Native(start, length, kind, codes, within, named, waits)


def _waits_elsewhere(host: Host, own: Line, labels: list[tuple[str, str]]) -> tuple[I64, I64, I64]:
    """Begin, end and label of the waits on other threads of the step; adds the labels."""
    told = host_work(host)
    elsewhere = (told.work == Work.WAIT) & ((told.rows < own.begin) | (told.rows >= own.end))
    meta = host.space.events.metadata[told.rows[elsewhere]].astype(np.int64)
    first, place = distinct_keys(meta)
    label = len(labels) + place
    labels += [(host.space.event_metadata.name[at], "") for at in meta[first].tolist()]
    return told.start_ps[elsewhere], told.end_ps[elsewhere], label


def _is_of_system(name: str) -> bool:
    return is_system_call(name) or is_system_wait(name)


def _has_ops(kind: U8, label: I64, labels: list[tuple[str, str]], *, are_ranges: bool) -> bool:
    """Whether there is more than calls of a device's runtime or of the operating system."""
    if are_ranges:
        return True
    own = np.asarray(
        [_DRIVER.match(name) is None and not _is_of_system(name) for name, _ in labels] or [True]
    )
    return bool((np.isin(kind, _OF_PROGRAM) & ((label < 0) | own[label])).any())


def _hand_over(nesting: Nesting, kind: U8) -> None:
    """Ops that launch what a device computes: what they take of the thread is the hand-over's."""
    parent = nesting.parent.astype(np.int64)
    launches = kind == LAUNCH
    for rows in reversed([*levels(nesting)][1:]):
        launches[parent[rows[launches[rows]]]] = True
    kind[launches & (kind == OP)] = DISPATCH


def _within(
    nesting: Nesting, kind: U8, label: I64, labels: list[tuple[str, str]]
) -> tuple[I32, tuple[Around, ...]]:
    """Return codes of what each event lies in, -1 for nothing, and what they stand for."""
    named = np.isin(kind, (OP, DISPATCH)) & (label >= 0)
    # A compiled graph is as large as the program: what it calls says more.
    named &= ~np.asarray([type_ == _GRAPH_TYPE for _, type_ in labels] or [False])[label]
    own = np.asarray([bool(region_name(name)) for name, _ in labels] or [False])
    marked = (kind == PART) & (label >= 0) & own[label]
    outer = np.where(named & (nesting.depth == 0), label, -1)
    region = np.where(marked, label, -1)
    found = np.full((2, len(label)), -1, dtype=np.int64)
    for inner in islice(levels(nesting), 1, None):
        parent = nesting.parent[inner].astype(np.int64)
        found[:, inner] = around, marks = outer[parent], region[parent]
        outer[inner] = np.where((around < 0) & named[inner], label[inner], around)
        region[inner] = np.where(marked[inner], label[inner], marks)
    op, mark = found
    inside = np.flatnonzero((op >= 0) | (mark >= 0))
    codes = np.full(len(label), -1, dtype=np.int32)
    first, codes[inside] = distinct_rows([mark[inside], op[inside]])
    texts = [*(name for name, _type in labels), ""]  # -1 is the last one
    return codes, tuple(
        Around(region_name(texts[mark[at]]), texts[op[at]]) for at in inside[first].tolist()
    )


def _of_gradients(
    host: Host, line: Line, start: I64, within: I32, around: tuple[Around, ...]
) -> tuple[I32, tuple[Around, ...]]:
    """Add the op that each gradient is of to what events lie in."""
    inside = np.flatnonzero(within >= 0)
    called = numbered_ops(host).called_for(line.id, start[inside])
    inside, called = inside[called >= 0], called[called >= 0]
    if len(inside) == 0:
        return within, around
    op = host.space.events.metadata[called].astype(np.int64)
    first, code = distinct_rows([within[inside], op])
    texts, found = host.space.event_metadata.name, within.copy()
    found[inside] = len(around) + code
    return found, (*around, *(
        around[within[inside[at]]]._replace(gradient_of=texts[op[at]].partition(":")[0])
        for at in first.tolist()
    ))  # fmt: skip


def _in_updates(host: Host, rows: I64, kind: U8, label: I64, labels: list[tuple[str, str]]) -> I64:
    """Labels whose type is the optimizer's update for the ops within it, added to the others."""
    family, names_of = marked_updates(host, rows)
    inside = np.flatnonzero((family >= 0) & (kind == OP) & (label >= 0))
    if len(inside) == 0:
        return label
    first, code = distinct_rows([label[inside], family[inside]])
    found = label.copy()
    found[inside] = len(labels) + code
    labels += [(labels[label[at]][0], names_of[family[at]]) for at in inside[first].tolist()]
    return found


def _longest_ops(rows: I64, length: I64, kind: U8, label: I64, count: int) -> I64:
    found = np.full(count, -1, dtype=np.int64)
    ops = np.flatnonzero((kind == OP) & (label >= 0))
    ops = ops[np.argsort(length[ops], kind="stable")]
    found[label[ops]] = rows[ops]
    return found


def _classified(host: Host, rows: I64, markers: Markers) -> tuple[U8, I64, list[tuple[str, str]]]:
    """Kind and label of each event: by its name, and by what the tables of ops know of it."""
    space, by_name = host.space, host_names(host)
    meta = space.events.metadata[rows].astype(np.int64)
    first, place = distinct_keys(meta)
    text = space.event_metadata.name
    labels: list[tuple[str, str]] = []
    index: dict[tuple[str, str], int] = {}

    def code(name: str, type_: str = "") -> int:
        key = (name, type_)
        if key not in index:
            index[key] = len(labels)
            labels.append(key)
        return index[key]

    kinds, codes = [], []
    for row in meta[first].tolist():
        said, name = _of_name(text[row], Work(int(by_name.work[row])))
        kinds.append(said)
        graph = _COMPILED_GRAPH.match(text[row])
        type_ = _GRAPH_TYPE if graph else name if _EAGER.match(text[row]) else ""
        codes.append(code(name, type_) if name else -1)
    kind = np.asarray(kinds, dtype=np.uint8)[place]
    label = np.asarray(codes, dtype=np.int64)[place]
    ops = host_ops(host)
    if len(ops.rows):
        at = look_up(ops.rows, np.arange(len(ops.rows)), rows, -1)
        is_op = (at >= 0) & ops.is_execution[at]
        codes_of_ops = np.asarray([code(op.name, op.type) for op in ops.ops] or [0])
        # On the loop's thread an iterator of tf.data is what the loop waits for.
        fetches = np.asarray([op.category is OpCategory.TF_DATA for op in ops.ops] or [False])
        waits = (kind == INPUT) | (is_op & fetches[ops.op[at]])
        views = np.asarray([is_view(op.name) for op in ops.ops] or [False])
        # What only looks at a tensor otherwise computes nothing: its time is the hand-over's.
        done = np.where(views[ops.op[at]], DISPATCH, OP)
        if PlaneKind.GPU not in planes(host).plane_kind:  # else it hands the collective over
            meets = np.asarray([is_collective_call(op.name) for op in ops.ops] or [False])
            done[meets[ops.op[at]]] = WAIT
        kind = np.where(waits, INPUT, np.where(is_op, done, kind)).astype(np.uint8)
        label = np.where(is_op, codes_of_ops[ops.op[at]], label)
    _by_stats(host, rows, kind, markers)
    label = np.where(kind == NOTHING, -1, label)
    return kind, label, labels


def is_view(op: str) -> bool:
    """Whether an op of PyTorch's only looks at a tensor otherwise."""
    return _VIEW.match(op) is not None


def _by_stats(host: Host, rows: I64, kind: U8, markers: Markers) -> None:
    """Kinds that stats tell: marks are not work, launches and stages of input are."""
    stats = event_stats(host)
    told = host_work(host)
    found = look_up(told.rows, told.work.astype(np.int64), rows, Work.NOTHING)
    kind[(found == Work.LAUNCH) & ~np.isin(kind, (OP, WAIT, ALLOCATE))] = LAUNCH
    kind[found == Work.INPUT_WAIT] = INPUT
    marks = among(stats.rows(names.ROOT_LEVEL), rows) | among(stats.rows(names.STEP_NUM), rows)
    start, end = host.space.events.start_ps[rows], host.space.events.start_ps[rows]
    end = end + host.space.length_ps[rows]
    if len(markers):
        step = np.searchsorted(markers.start_ps, start, side="right") - 1
        inside = np.maximum(step, 0)
        marks |= (step >= 0) & (start == markers.start_ps[inside]) & (end >= markers.end_ps[inside])
        marks |= (start <= markers.start_ps[0]) & (end >= markers.end_ps[-1])
    # A call of a runtime that the steps were found by is work, too.
    kind[marks & ~np.isin(kind, (OP, INPUT, DISPATCH, FRAME))] = NOTHING


def _of_name(name: str, work: Work) -> tuple[int, str]:
    eager = _EAGER.match(name)
    if eager is not None:
        return DISPATCH, eager.group(1)
    graph = _COMPILED_GRAPH.match(name)
    if graph is not None:
        return OP, f"{_GRAPH_TYPE} {graph[1][:8]}"
    function = _FUNCTION.match(name)
    if function is not None:
        is_frame = function.group(1) is None
        return FRAME if is_frame else DISPATCH, function.group(1) or function.group(2)
    if wait_of(name) is not None:
        return WAIT, name
    if is_device_allocation(name):
        return ALLOCATE, name
    if _COPY.search(name):
        return COPY, name
    if work == Work.COMPILE:
        return COMPILE, name
    if _FRAME.search(name):
        return FRAME, ""
    if _DISPATCH.search(name):
        return DISPATCH, "" if work == Work.NOTHING else name
    if name.endswith(names.LOADED_BY_CUDA):
        return LAUNCH, name
    by_work = {
        Work.INPUT_WAIT: INPUT,
        Work.LAUNCH: LAUNCH,
        Work.HOST_TO_DEVICE: COPY,
        Work.DEVICE_TO_HOST: COPY,
    }
    marks = (names.PYTORCH_STEP, names.KERAS_BATCH, "ThreadpoolListener", "end: ")
    if name.startswith((names.RECORDER_OVERHEAD, *marks)):
        return NOTHING, ""
    return by_work.get(work, PART), name
