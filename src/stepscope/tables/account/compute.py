"""Compute during the waits of the loop's thread: ops of the runtimes' pools and of devices."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from stepscope.columns import distinct_keys, rows_of, sum_labels, sweep_pieces, union_spans
from stepscope.columns.nesting import CLASSES
from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.records import dataclass, replace
from stepscope.tables.core.op_name import OpCategory, OpName, is_host_collective
from stepscope.tables.core.op_scopes import (
    layer_of,
    routine_of,
    scopes_of,
    shared_scope,
    time_by_scope,
)
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import BLOCK, HALF_FRAC, LINE_CHARS
from stepscope.tables.core.time_spans import span_at
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.device.kernel_classes import kernel_class
from stepscope.tables.host.events import (
    Work,
    host_names,
    host_thread_rows,
    is_nameless,
    is_pool_thread,
    is_tf_data_thread,
)
from stepscope.tables.host.ops import HostOps, host_ops
from stepscope.tables.python.moments import innermost
from stepscope.tables.traits.instructions import compiled_from
from stepscope.tables.traits.op_families import (
    UNUSUAL,
    family_of,
    family_of_op,
    is_eager_in_jax,
    scope_of,
)

# What is too little to be listed.
_REST = OpName(OpCategory.UNKNOWN, "other ops", "")
_RANK = {"input": 0, "runtime": 1, "compile": 2, "copy": 3, "collective": 3, "op": 4}
# A program of XLA's runs although none of its ops does: its runtime waits for them.
_PROGRAM = re.compile(r"^ThunkExecutor::Execute")
_KINDS = {
    Work.COLLECTIVE: "collective",
    Work.HOST_TO_DEVICE: "copy",
    Work.DEVICE_TO_HOST: "copy",
    Work.DEVICE_TO_DEVICE: "copy",
    Work.INPUT_WAIT: "input",
}


# Start, end, code and event row of spans; there may be as many of them as events.
_Spans = tuple[I64, I64, I32, I32]
_NO_TIMES, _NO_ROWS = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Computed:
    """One thing that computes: an op, a kind of copy.

    Attributes:
        kind: "op", "runtime" (around ops, on its own threads), "compile", "copy", "collective" or
            "input".
        op: Which op.
        row: Event row of its longest run; -1 unknown.
        on_device: Whether a device ran it.
        opcode: What it computes, where XLA's program says more than the op's name; "" else.
        others: How many other ops of its family it stands for besides itself,
        layer: and the scopes of the model that nearly all of their time lies in.
    """

    kind: str
    op: OpName
    row: int = -1
    on_device: bool = False
    opcode: str = ""
    others: int = 0
    layer: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Compute:
    """Spans of work beside the loop's thread.

    Attributes:
        start_ps, end_ps: By start; they overlap as they like.
        label: Of each, from 1: which of ``things``. Where they overlap the larger has the time.
        row: Event row of each; empty unless asked for.
        things: What the labels stand for, from 1 on; the last is the rest.
        busy_start_ps, busy_end_ps: When any of them ran; disjoint, ascending.
        has_device: Whether any ran on a device.
    """

    start_ps: I64
    end_ps: I64
    label: U8
    row: I32
    things: tuple[Computed, ...]
    busy_start_ps: I64
    busy_end_ps: I64
    has_device: bool


def compute(
    host: Host, line: int, begin_ps: int, end_ps: int, *, with_rows: bool = False
) -> Compute:
    """The work of pools and devices between two times, less that of the loop's own thread."""
    parts, facts = _spans(host, line)
    start, end, code, row = _joined(parts, begin_ps, end_ps)
    label, things = _labelled(start, end, code, row, facts)
    things = tuple(_with_opcode(host, one) for one in things)
    makes_input = np.asarray([False, *(one.kind == "input" for one in things)])[label]
    busy = union_spans(start[~makes_input], end[~makes_input])
    has_device = any(one.on_device for one in things)
    of_event = row if with_rows and has_device else _NO_ROWS
    return Compute(start, end, label, of_event, things, *busy, has_device)


def only_exchanges(work: Compute, at_ps: I64) -> Bool | None:
    """Whether nothing but exchanges of processes on the host runs then; None: there are none.

    What a thread does meanwhile hides them.
    """
    kinds = [one.kind == "collective" and not one.on_device for one in work.things]
    if not any(kinds):
        return None
    others = ~np.asarray([False, *kinds])[work.label]
    start, end = union_spans(work.start_ps[others], work.end_ps[others])
    return span_at(start, end, at_ps) < 0


def spent_in(work: Compute, start_ps: I64, end_ps: I64) -> tuple[I32, U8, I64]:
    """Which of the disjoint ascending stretches, label and time of all that computes in them."""
    found = []
    reach = np.maximum.accumulate(work.end_ps)  # what begins before a block may reach into it
    for begin in range(0, len(start_ps), BLOCK):
        start, end = start_ps[begin : begin + BLOCK], end_ps[begin : begin + BLOCK]
        first = int(np.searchsorted(reach, start[0], side="right"))
        near = slice(first, int(np.searchsorted(work.start_ps, end[-1], side="left")))
        spans = work.start_ps[near], work.end_ps[near], work.label[near]
        at, label, spent = sweep_pieces(*spans, start, end)
        found.append((begin + at.astype(np.int32), label, spent))
    if not found:
        return np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.int64)
    stretches, labels, times = zip(*found, strict=True)
    return np.concatenate(stretches), np.concatenate(labels), np.concatenate(times)


# The optimizer names a product by the transposition it took in, for one: its own code is what runs.
_TELLING = ("dot", "convolution", "sort", "fft", "cholesky", "triangular-solve", "reduce-window")


def _with_opcode(host: Host, one: Computed) -> Computed:
    if one.kind != "op":
        return one
    known = compiled_from(host, one.row)
    opcode = known.inside or (known.opcode if known.opcode in _TELLING else "")
    return replace(one, opcode=opcode) if opcode else one


def _labelled(
    start: I64, end: I64, code: I32, row: I32, facts: list[Computed]
) -> tuple[U8, tuple[Computed, ...]]:
    """Labels of the spans: of ops, or of families of ops where there are more than labels."""
    if np.count_nonzero(np.bincount(code)) > CLASSES - 2:
        code, facts = _by_family(code, facts, end - start)
    length = end - start
    sums = sum_labels(code, length, length, len(facts))
    total = sums.total_ps
    used = np.flatnonzero(total > 0)
    # Where spans overlap, devices come before hosts, ops before the runtime around them, and the
    # op that has the most time in all before the others: unless one that is seldom what a model is
    # for takes nearly as long, which is what a person can change.
    rank = np.asarray([_RANK[one.kind] + 8 * one.on_device for one in facts] or [0])
    least = used[np.argsort(total[used], kind="stable")]
    rest = least[: max(len(used) - (CLASSES - 2), 0)]
    kept = np.sort(least[len(rest) :])
    kept = kept[np.lexsort((total[kept], _competes(facts, total)[kept], rank[kept]))]
    label = np.zeros(len(facts), dtype=np.uint8)
    label[rest] = 1
    first = 2 if len(rest) else 1
    label[kept] = np.arange(first, first + len(kept))
    longest = np.append(row, -1)[sums.longest]
    things = [Computed("op", _REST)] if len(rest) else []
    things += [replace(facts[at], row=int(longest[at])) for at in kept.tolist()]
    return label[code], tuple(things)


def _competes(facts: list[Computed], total: I64) -> Bool:
    """Which are unusual ops that take a good part of the time of the longest op."""
    ops = np.asarray([one.kind == "op" for one in facts] or [False])
    unusual = [family_of(one.op.type or one.op.name) in UNUSUAL for one in facts]
    longest = int(total[ops].max(initial=0)) if len(total) else 0
    found: Bool = ops & np.asarray(unusual or [False]) & (total >= HALF_FRAC * longest)
    return found


def _by_family(code: I32, facts: list[Computed], length: I64) -> tuple[I32, list[Computed]]:
    """The same with fewer codes: the longest ops keep theirs, others share them.

    The longest groups of one family in one layer of the model have one each, the rest one for each
    family. A group is named by the one of its ops that takes longest in all, and knows how many
    others it stands for, and where they lie.
    """
    total = np.bincount(code, weights=length, minlength=len(facts)).astype(np.int64)
    order = np.argsort(-total, kind="stable").tolist()
    families = [_family_key(one) for one in facts]
    room = max(CLASSES - 2 - len(set(families)), 0)
    alone = HALF_FRAC * room if any(scopes_of(one.op.name) for one in facts) else room
    rest = [at for at in order[int(alone) :] if total[at]]
    keys: list[tuple[object, ...]] = [(at,) for at in range(len(facts))]
    layers = {at: (*families[at], layer_of(facts[at].op.name)) for at in rest}
    time: Counter[tuple[object, ...]] = Counter()
    for at, layer in layers.items():
        time[layer] += int(total[at])
    chosen = dict(time.most_common(room - int(alone)))
    for at, layer in layers.items():
        keys[at] = layer if layer in chosen else families[at]
    groups: dict[tuple[object, ...], list[int]] = {}
    for at in order:  # the longest of a group comes first
        if total[at]:
            groups.setdefault(keys[at], []).append(at)
    merged: list[Computed] = []
    place = np.zeros(len(facts), dtype=np.int32)
    for number, group in enumerate(groups.values()):
        timed = ((layer_of(facts[at].op.name), int(total[at])) for at in group)
        common = shared_scope(time_by_scope(timed))
        merged.append(replace(facts[group[0]], others=len(group) - 1, layer=common))
        place[group] = number
    return place[code], merged


def _family_key(one: Computed) -> tuple[object, ...]:
    # A product that is dispatched by itself is none of the compiled model's.
    is_alone = is_eager_in_jax(one.op.name)
    scope = scope_of(one.op.name), routine_of(one.op.name)
    return one.kind, family_of_op(one.op), one.on_device, scope, is_alone


def _joined(parts: list[_Spans], begin_ps: int, end_ps: int) -> _Spans:
    """The spans that touch the time between, by start; empties the list of their parts."""
    near: list[_Spans] = [(_NO_TIMES, _NO_TIMES, _NO_ROWS, _NO_ROWS)]
    while parts:
        start, end, code, row = parts.pop(0)
        touches = (end > begin_ps) & (start < end_ps)
        if not touches.all():
            start, end, code, row = start[touches], end[touches], code[touches], row[touches]
        near.append((start, end, code, row))
    start, end, code, row = (np.concatenate(column) for column in zip(*near, strict=True))
    del near
    if not (start[1:] >= start[:-1]).all():
        order = np.argsort(start, kind="stable")
        start, end, code, row = start[order], end[order], code[order], row[order]
    return start, end, code, row


def _spans(host: Host, line: int) -> tuple[list[_Spans], list[Computed]]:
    """Start, end, code and event row of spans, part by part; what each code stands for."""
    facts: list[Computed] = []
    parts: list[_Spans] = []
    ops = host_ops(host)
    facts += [Computed("collective" if is_host_collective(op.name) else "op", op) for op in ops.ops]
    begins = np.searchsorted(ops.rows, host.space.line_begin)
    for thread in np.flatnonzero(np.diff(begins)).tolist():  # those with ops
        if thread == line:
            continue
        spans = _op_spans(host, ops, slice(begins[thread], begins[thread + 1]))
        if is_tf_data_thread(host.space.lines[thread].name):
            spans = (*spans[:2], _as_input(spans[2], ops, facts), spans[3])
        parts.append(spans)
    found = device_events(host)
    if len(found) == 0:  # beside a device, what pools do around its ops is not compute
        parts += _runtime_spans(host, line, facts)
    if len(found):
        own = np.flatnonzero(~found.is_container)
        code, of_device = _device_facts(host, found, own)
        codes, row = (len(facts) + code).astype(np.int32), found.rows[own].astype(np.int32)
        parts.append((found.start_ps[own], found.end_ps[own], codes, row))
        facts += of_device
    return parts, facts


# A kernel's own name in its signature: without what it returns, its namespaces and templates.
_KERNEL = re.compile(r"^(?:void\s+)?(?:\w+::)*([\w.$-]+)")
# Classes of kernels that models are made of, and the ops that run them.
_MODEL_OPS = {
    "gemm": "matmul",
    "convolution": "convolution",
    "attention": "scaled_dot_product_attention",
}


def _device_facts(host: Host, found: DeviceEvents, own: I64) -> tuple[I64, list[Computed]]:
    """A code of each of these device events, and what the codes stand for.

    That is its op. Where only words say why there is none ("Replayed from a graph"), or the op is
    all of a region that PyTorch compiled, the kernels are distinguished by their names.
    """
    count = max(len(found.ops), 1)
    wordy = np.asarray([_is_many(op) for op in found.ops] or [False])
    op, meta = found.op[own].astype(np.int64), host.space.events.metadata[found.rows[own]]
    thing = np.where(wordy[op], count + meta.astype(np.int64), op)
    things = count + len(host.space.event_metadata.name)
    pair, code = np.unique(found.work[own].astype(np.int64) * things + thing, return_inverse=True)
    facts = []
    for one in pair.tolist():
        work, at = divmod(one, things)
        named = found.ops[at] if at < count else _kernel(host.space.event_metadata.name[at - count])
        facts.append(Computed(_KINDS.get(Work(work), "op"), named, on_device=True))
    return code.astype(np.int64), facts


# Of PyTorch's compiler, as ops: a whole region of the program each, and its gradients.
_REGION = re.compile(r"(?:autograd/|torch/)?(?:Torch-Compiled Region|Compiled(?:Function|FxGraph))")


def _is_many(op: OpName) -> bool:
    """Whether what is recorded as an op stands for whatever was launched."""
    return (op.type == "Unknown" and " " in op.name) or _REGION.match(op.name) is not None


def _kernel(name: str) -> OpName:
    told = _KERNEL.match(name)
    short = (told.group(1) if told else name)[:LINE_CHARS]
    return OpName(OpCategory.UNKNOWN, short, _MODEL_OPS.get(kernel_class(name), "Unknown"))


def _op_spans(host: Host, ops: HostOps, inside: slice) -> _Spans:
    """Start, end, op and event row of what ran on one line."""
    own = inside.start + np.flatnonzero(ops.is_execution[inside])
    events = ops.rows[own]
    moments = innermost(host.space.events.start_ps[events], host.space.length_ps[events])
    own = own[moments.owner]
    row = ops.rows[own].astype(np.int32)
    return moments.start_ps, moments.end_ps, ops.op[own], row


def _as_input(code: I32, ops: HostOps, facts: list[Computed]) -> I32:
    """Return codes of the work of a thread of tf.data: its function's op, else its iterator."""
    first, place = distinct_keys(code.astype(np.int64))
    listed = code[first].tolist()
    base = len(facts)
    facts += [Computed("input", ops.ops[at]) for at in listed]
    return (base + place).astype(np.int32)


def _runtime_spans(host: Host, line: int, facts: list[Computed]) -> list[_Spans]:
    """Return the work of the runtimes' pools around and between ops, and compiling."""
    space, by_name = host.space, host_names(host)
    runs = entries_shaped(host, lambda name: _PROGRAM.search(name) is not None)
    compiles = by_name.work == Work.COMPILE
    is_work = ((by_name.work == Work.HOST_COMPUTE) | runs | compiles) & (by_name.op < 0)
    found = []
    codes: dict[str, int] = {}
    for row in host_thread_rows(host).tolist():
        one = space.lines[row]
        # Of a thread without a name, what it runs tells whose it is.
        if row == line or not (is_pool_thread(one.name) or is_nameless(one.name)):
            continue
        own = one.begin + rows_of(space.events.metadata[one.begin : one.end], is_work)
        if len(own) == 0:
            continue
        meta = space.events.metadata[own].astype(np.int64)
        first, place = distinct_keys(meta)
        listed = []
        for at in meta[first].tolist():
            name = space.event_metadata.name[at]
            if name not in codes:
                codes[name] = len(facts)
                kind = "compile" if compiles[at] else "runtime"
                facts.append(Computed(kind, OpName(OpCategory.UNKNOWN, name, "")))
            listed.append(codes[name])
        start = space.events.start_ps[own]
        code = np.asarray(listed, dtype=np.int32)[place]
        found.append((start, start + space.length_ps[own], code, own.astype(np.int32)))
    return found
