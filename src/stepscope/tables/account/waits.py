"""When the loop's thread waits, though no event or call of its own lasts as long.

Tracers do not see the methods of C++ objects in which JAX waits for its arrays: what begins or
ends with the work beside the thread, or lies between two marks of a wait, is one.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.tables.account import native as of_native
from stepscope.tables.account.compute import Compute
from stepscope.tables.account.native import COMPILE, INPUT, OP, Native, is_view
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.thresholds import (
    DOZENS,
    HALF_FRAC,
    LARGE_FRAC,
    MANY,
    SOME_FRAC,
    TOGETHER_PS,
    TWO_THIRDS_FRAC,
    USUAL_TIMES,
)
from stepscope.tables.core.time_spans import covered
from stepscope.tables.python.frames import Frames
from stepscope.tables.steps.found import Markers

_MARK = re.compile(r"\bAwait\b")


def after_wait(
    event: I32, said: Native | None, call: I32, calls: Frames | None
) -> tuple[Bool, I32]:
    """Moments without an event that follow one which begins to wait, as JAX's ``Await`` does.

    Returns:
        Those, and the label of the wait where another event of its name tells its end, unless a
        Python call began meanwhile.
    """
    none = np.full(len(event), -1, dtype=np.int32)
    if said is None or len(event) == 0:
        return np.zeros(len(event), dtype=bool), none
    kind = np.where(event >= 0, said.kind[np.maximum(event, 0)], of_native.NOTHING)
    does = kind != of_native.NOTHING
    rows = np.arange(len(event), dtype=np.int32)
    before = np.maximum.accumulate(np.where(does, rows, np.int32(-1)))
    last = event[np.maximum(before, 0)]
    found: Bool = ~does & (before >= 0) & _marks(said)[np.maximum(last, 0)]
    opens = found & _opens_wait(said)[np.maximum(last, 0)]
    if calls is not None and len(calls.start_ps):
        opens &= calls.start_ps[np.maximum(call, 0)] <= said.start_ps[np.maximum(last, 0)]
    return found, np.where(opens, said.label[np.maximum(last, 0)], none)


def _marks(said: Native) -> Bool:
    """Events that begin a wait, or end one, rather than last as long as it.

    XLA's ``Wait for usage holds`` is around what it waits for.
    """
    is_mark = np.asarray(
        [_MARK.search(name) is not None for name, _ in said.named.labels] + [False]
    )
    found: Bool = (said.kind == of_native.WAIT) & is_mark[said.label]
    return found


def _opens_wait(said: Native) -> Bool:
    """Events that begin a wait which the next event ends: every other one of an even run.

    What Python does between two waits lies after the second of a pair.
    """
    listed = np.flatnonzero(said.kind != of_native.NOTHING)
    key = np.where(said.kind[listed] == of_native.WAIT, said.label[listed], np.int32(-2))
    first = np.flatnonzero(np.diff(key, prepend=key[:1] - 1) != 0)
    count = np.diff(np.append(first, len(key)))
    place = np.arange(len(key)) - np.repeat(first, count)
    opens = np.zeros(len(said.kind), dtype=bool)
    opens[listed] = (key != -2) & (np.repeat(count, count) % 2 == 0) & (place % 2 == 0)
    return opens


def waited_for(begin: I64, until: I64, busy: Bool, waits: Bool, work: Compute) -> Bool:
    """Moments in which something computes that the thread waits for later on.

    What it does meanwhile costs nothing: without it, it would wait longer.
    """
    if len(work.busy_start_ps) == 0:
        return np.zeros(len(begin), dtype=bool)
    at = np.maximum(np.searchsorted(work.busy_start_ps, begin, side="right") - 1, 0)
    last = np.full(len(work.busy_start_ps), np.iinfo(np.int64).min)
    waiting = busy & waits
    last[at[waiting]] = until[waiting]  # the last of each, since moments ascend
    found: Bool = busy & (until <= last[at])
    return found


def ends_with_work(
    calls: Frames | None, call: I32, work: Compute, within: tuple[int, int]
) -> tuple[Bool, Bool]:
    """Moments in which a Python call lasts as long as what computes beside it: it waits for that.

    Tracers do not see the methods of C++ objects in which JAX waits for its arrays.

    Returns:
        Those, and among them those of calls that end when the work does.
    """
    if calls is None or len(work.busy_start_ps) == 0:
        nothing = np.zeros(len(call), dtype=bool)
        return nothing, nothing
    start, end = (np.clip(one, *within) for one in (calls.moments.start_ps, calls.moments.end_ps))
    length = end - start
    near = np.maximum((SOME_FRAC * length).astype(np.int64), TOGETHER_PS)
    done = work.busy_end_ps[np.maximum(np.searchsorted(work.busy_end_ps, end, side="right") - 1, 0)]
    running = np.minimum(
        np.searchsorted(work.busy_start_ps, end, side="left"), len(work.busy_start_ps)
    )
    goes_on = (running > 0) & (work.busy_end_ps[np.maximum(running - 1, 0)] > end + near)
    # A call that lasts beyond the steps may go on as well.
    goes_on &= calls.moments.end_ps < within[1]
    share = covered(work.busy_start_ps, work.busy_end_ps, start, end)
    together = (share >= HALF_FRAC * length) & (done >= end - near) & (done <= end)
    waits = ~goes_on & (together | (share >= TWO_THIRDS_FRAC * length))
    # A sleep between two looks whether the work is done is over before it, or ends with it.
    polls = (goes_on & (share >= (1 - SOME_FRAC) * length)) | (~goes_on & together)
    waits = np.where(calls.named(lambda one: one.is_outside)[calls.moments.owner], polls, waits)
    waits &= length > TOGETHER_PS
    return _of_calls(calls, call, waits), _of_calls(calls, call, waits & together & ~goes_on)


def _of_calls(calls: Frames, call: I32, stretches: Bool) -> Bool:
    """Moments of the calls that some stretches are of."""
    found = np.zeros(len(calls.rows), dtype=bool)
    found[calls.moments.owner[stretches]] = True
    flags: Bool = (call >= 0) & found[np.maximum(call, 0)]
    return flags


def computed_since(calls: Frames | None, call: I32, begin: I64, work: Compute) -> Bool:
    """Moments before which something computed beside the thread since their call began.

    What computed before the steps is not known: a call that goes on from then waits as it does
    later, until it calls anything.
    """
    if calls is None or len(work.busy_start_ps) == 0:
        return np.zeros(len(call), dtype=bool)
    before = np.searchsorted(work.busy_end_ps, begin, side="right") - 1
    ended = np.where(before >= 0, work.busy_end_ps[np.maximum(before, 0)], -1)
    started = calls.start_ps[np.maximum(call, 0)]
    goes_on = (started < begin[:1]) & np.logical_and.accumulate(call == call[:1])
    since: Bool = (call >= 0) & ((ended > started) | goes_on)
    return since


def between_ops(start_ps: I64, end_ps: I64, before: I64, after: I64, steps: int) -> Bool:
    """Which gaps between dispatched ops are their hand-over, by the ops before and after them."""
    length = end_ps - start_ps
    if len(length) < DOZENS * steps:
        return np.zeros(len(length), dtype=bool)
    most = USUAL_TIMES * float(np.median(length))
    pair = before * (int(after.max()) + 1) + after
    _pairs, code, count = np.unique(pair, return_inverse=True, return_counts=True)
    torn = np.bincount(code.ravel(), weights=length > most, minlength=len(count))
    is_usual = (count >= MANY * steps) & (torn <= LARGE_FRAC * count)
    found: Bool = (length <= most) | is_usual[code.ravel()]
    return found


# What every program does around everything.
_USUAL = re.compile(
    r"^(?:TFE_|tf\.constant$|convert_to_tensor$|_?EagerConst$|EagerCopyToDevice|PythonRefManager|"
    r"ParallelFor$|descend$|ParseArguments|AllocateOutput|Handle inputs$|"
    r"(?:Const|Identity|Shape|StridedSlice|Pack|NoOp|ReadVariableOp|DestroyResourceOp)(?:_\d+)?$)"
)
# Of these kinds a gap is named before it is by other calls.
_TELLING = (OP, INPUT, COMPILE)


def gap_names(is_gap: Bool, kind: U8, event: I32, said: Native | None) -> tuple[I32, list[str]]:
    """Return a code of each moment's gap, -1 for others, and their names: "A → B", "after A"."""
    code = np.full(len(is_gap), -1, dtype=np.int32)
    if said is None or len(is_gap) == 0:
        return code, []
    names = [name for name, _type in said.named.labels]
    usual = np.asarray([is_view(name) or bool(_USUAL.search(name)) for name in names] or [True])
    label = np.where((event >= 0) & ~is_gap, said.label[np.maximum(event, 0)], np.int32(-1))
    known = label >= 0
    telling: Bool = known & np.isin(kind, _TELLING) & ~usual[np.maximum(label, 0)]
    if not telling.any():
        telling = known
    gaps = np.flatnonzero(is_gap)
    if len(gaps) == 0:
        return code, []
    told, of_told = np.flatnonzero(telling), label[telling]
    after = np.searchsorted(told, gaps)  # none of them is a gap itself
    first = _labels(after - 1, of_told, after > 0)
    last = _labels(after, of_told, after < len(told))
    rows, pair = distinct_rows([first, last])
    code[gaps] = pair
    names.append("")  # what -1 stands for
    listed = zip(first[rows].tolist(), last[rows].tolist(), strict=True)
    return code, [_gap_name(names[one], names[other]) for one, other in listed]


def _gap_name(before: str, after: str) -> str:
    if before and after:
        return f"{before} → {after}"
    return f"after {before}" if before else f"before {after}" if after else ""


def between_marks(
    markers: Markers, start_ps: I64, code: I32, names: list[str]
) -> tuple[I32, list[str]]:
    """The same, where it is known what runs between the marks of steps: of all gaps there."""
    if not markers.between:
        return code, names
    at = np.searchsorted(markers.start_ps, start_ps, side="right") - 1
    outside = (code >= 0) & (at >= 0) & (start_ps >= markers.mark_end_ps[np.maximum(at, 0)])
    if not outside.any():
        return code, names
    return np.where(outside, np.int32(len(names)), code), [*names, markers.between]


def _labels(at: I64, label: I32, known: Bool) -> I32:
    if len(label) == 0:
        return np.full(len(at), -1, dtype=np.int32)
    found: I32 = np.where(known, label[np.clip(at, 0, len(label) - 1)], np.int32(-1))
    return found
