"""Which of the program's functions an op is run by: those that run through the steps, and below.

A function's ops are one thing to change: "train_accuracy takes 80 % of the step" says more than its
convolutions, its pooling and its activations apart. It stands for what it calls unless functions of
its own do most of that; one that others call as well, as a model is, stands for none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key, union_spans
from stepscope.columns.space import I64
from stepscope.records import dataclass, replace
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.thresholds import ALL_FRAC, CALLS, HALF_FRAC, LARGE_FRAC, NEARLY_ALL_FRAC
from stepscope.tables.core.time_spans import covered
from stepscope.tables.python.frames import FRAMEWORK, LIBRARY, OWN, Frames, Name
from stepscope.tables.python.library_files import OF_MODELS
from stepscope.tables.python.moments import levels, one_line
from stepscope.tables.steps.attribution import HostSteps


def loop_functions(calls: Frames, steps: HostSteps) -> frozenset[tuple[str, str]]:
    """File and name of the functions that run through all steps: the loop's, and those around."""
    start, end = steps.kept_spans
    whole = int((end - start).sum())
    return frozenset(
        (name.file, name.function)
        for name, spans in _function_spans(calls)
        if int(covered(*spans, start, end).sum()) >= ALL_FRAC * whole
    )


def _function_spans(calls: Frames) -> Iterator[tuple[Name, tuple[I64, I64]]]:
    """The program's functions that may be the loop's: with when each of them was active."""
    rows = np.flatnonzero(calls.own == np.arange(len(calls.rows)))
    if len(rows) == 0:
        return
    order = rows[np.argsort(calls.name[rows], kind="stable")]
    for group in np.split(order, np.flatnonzero(np.diff(calls.name[order])) + 1):
        if len(group) <= CALLS:
            starts, ends = calls.start_ps[group], calls.start_ps[group] + calls.length_ps[group]
            yield calls.names[int(calls.name[group[0]])], union_spans(starts, ends)


def standing_for(
    calls: Frames, steps: HostSteps, place: I64, time_ps: I64, *, on_device: bool = False
) -> I64:
    """The function that stands for each place where ops are run, as a row of ``calls``; -1 none.

    What ran on a device was launched there, by functions that may be over long before.
    """
    found = np.full(len(place), -1, dtype=np.int64)
    own = np.where(place >= 0, calls.own[np.maximum(place, 0)], -1)
    known = np.flatnonzero(own >= 0)
    if len(known) == 0:
        return found
    first, at = distinct_keys(own[known])
    tree = _tree(calls, own[known][first], sum_by_key(at, time_ps[known], len(first)))
    whole = _with_most(tree, time_ps[known]) if on_device else _around(tree, calls, steps)
    chosen = _chosen(tree, whole, LARGE_FRAC * _whole_ps(steps))
    found[known] = _outermost(tree, chosen)[tree.chain][at]
    return found


def _whole_ps(steps: HostSteps) -> float:
    return float(steps.duration_ps[steps.kept].sum())


def _with_most(tree: _Tree, time_ps: I64) -> frozenset[int]:
    """Functions that launch nearly all there is: the step, and the model that it runs."""
    least = NEARLY_ALL_FRAC * int(time_ps.sum())
    return frozenset(code for code, time in tree.time_ps.items() if time >= least)


def _around(tree: _Tree, calls: Frames, steps: HostSteps) -> frozenset[int]:
    """Functions that are most of the step, however often they are called: they stand for nothing.

    Samples have gaps: the function that most was seen of was there all the time.
    """
    start, end = steps.kept_spans
    function, _names = calls.functions()
    function = np.where(calls.own == np.arange(len(calls.rows)), function, -1)
    active = {}
    for code, time in tree.time_ps.items():
        if time >= LARGE_FRAC * _whole_ps(steps):
            rows = np.flatnonzero(function == code)
            spans = union_spans(calls.start_ps[rows], calls.start_ps[rows] + calls.length_ps[rows])
            active[code] = int(covered(*spans, start, end).sum())
    most = max(active.values(), default=0)
    return frozenset(code for code, time in active.items() if time >= NEARLY_ALL_FRAC * most)


@dataclass(frozen=True, eq=False, slots=True)
class _Tree:
    """The functions that ops are run by, and who calls them.

    Attributes:
        names: Of each function.
        row: A row of the calls of each; -1 of one that runs no ops.
        chains: Functions from the inside out; -1 beyond the last.
        chain: Which of them each place has.
        time_ps: Ops' time below each function.
        below_ps: The same by function and the function that calls it, -1 for none.
    """

    names: list[Name]
    row: I64
    chains: I64
    chain: I64
    time_ps: dict[int, int]
    below_ps: dict[tuple[int, int], int]


def _tree(calls: Frames, own: I64, time_ps: I64) -> _Tree:
    function, names = calls.functions()
    rows = calls.functions_around(own)
    codes = np.where(rows >= 0, function[np.maximum(rows, 0)], -1)
    row = np.full(len(names) + 1, -1, dtype=np.int64)  # the last is of those beyond the outermost
    row[codes.T.ravel()[::-1]] = rows.T.ravel()[::-1]
    first, alike = distinct_rows(list(codes.T))
    spent_ps = sum_by_key(alike, time_ps, len(first))
    time: dict[int, int] = {}
    below: dict[tuple[int, int], int] = {}
    for chain, spent in zip(codes[first].tolist(), spent_ps.tolist(), strict=True):
        met = [code for code in dict.fromkeys(chain) if code >= 0]
        for code, outer_code in zip(met, [*met[1:], -1], strict=True):
            time[code] = time.get(code, 0) + spent
            below[code, outer_code] = below.get((code, outer_code), 0) + spent
    return _Tree(names, row, codes[first], alike, time, below)


# What decorators call the function that calls the decorated one: that says nothing of either.
_DECORATES = re.compile(r"(?:^|\.)(?:_?wrapp(?:er|ed)(?:_fn|_func|_call)?|decorate_context)$")


def _chosen(tree: _Tree, loops: frozenset[int], least_ps: float) -> frozenset[int]:
    """Functions that stand for what they call, from those that the loop calls inwards."""
    chosen: set[int] = set()
    todo = [
        code
        for (code, outer), spent in tree.below_ps.items()
        if code not in loops and (outer < 0 or outer in loops) and spent >= least_ps
    ]
    visited: set[int] = set()
    while todo:
        code = todo.pop()
        if code in visited:
            continue
        visited.add(code)
        if inner := _programs_own(tree, code):
            todo += [one for one in inner if tree.time_ps[one] >= least_ps and one not in loops]
            continue
        alone = {
            inner: spent
            for (inner, outer), spent in tree.below_ps.items()
            if outer == code and spent >= ALL_FRAC * tree.time_ps[inner]
        }
        if sum(alone.values()) < HALF_FRAC * tree.time_ps[code]:
            if not _DECORATES.search(tree.names[code].function):
                chosen.add(code)
        else:
            todo += [inner for inner, spent in alone.items() if spent >= least_ps]
    return frozenset(chosen)


def _programs_own(tree: _Tree, code: int) -> list[int]:
    """The program's functions that do most of a model package's function; none where it is others.

    Who calls them is the package: that several of its functions do does not make them the loop's.
    """
    if OF_MODELS.search(tree.names[code].file) is None:
        return []
    found = {
        inner: spent
        for (inner, outer), spent in tree.below_ps.items()
        if outer == code and OF_MODELS.search(tree.names[inner].file) is None
    }
    return list(found) if sum(found.values()) >= HALF_FRAC * tree.time_ps[code] else []


def _outermost(tree: _Tree, chosen: frozenset[int]) -> I64:
    """A row of the calls of the outermost chosen function of each chain; -1 none."""
    is_chosen = np.isin(tree.chains, list(chosen))
    found = np.full(len(tree.chains), -1, dtype=np.int64)
    for here, level in zip(is_chosen.T, tree.chains.T, strict=True):
        found = np.where(here, tree.row[level], found)
    return found


# By which PyTorch calls a module, as samplers and as its own profiler name it.
_CALLS = re.compile(r"(?:^|\.)(?:_wrapped_call_impl|_call_impl)$")
_FORWARD = re.compile(r"(?:^|\.)forward$")


def is_module_call(name: Name) -> bool:
    """Whether PyTorch calls a module in it."""
    return name.kind == FRAMEWORK and _CALLS.search(name.function) is not None


def at_module_calls(calls: Frames) -> Frames:
    """The calls, each in a library's model below the program's or a trainer's call of that model.

    Of a program without such a model nothing is looked at.
    """
    is_module, is_line = calls.named(is_module_call), calls.named(lambda one: not one.function)
    packages = {_package(one) for one in calls.names.values() if _FORWARD.search(one.function)}
    packages -= {""}
    if not is_module.any() or not packages:
        return calls
    is_model = calls.named(lambda one: one.kind == FRAMEWORK or _package(one) in packages)
    nesting = one_line(calls.start_ps, calls.length_ps)
    parent = nesting.parent.astype(np.int64)
    # The outermost call of a module, or what the model calls in another library.
    inside = np.full(len(calls.rows), -1, dtype=np.int64)
    for here in levels(nesting):
        outer = np.where(parent[here] >= 0, inside[np.maximum(parent[here], 0)], -1)
        leaves = (outer >= 0) & is_module[np.maximum(outer, 0)]
        leaves &= ~(is_model[here] | is_line[here]) & (calls.kind[here] == LIBRARY)
        begins = leaves | ((outer < 0) & is_module[here])
        found = np.where(begins, here, outer)
        inside[here] = np.where((calls.kind[here] == OWN) & ~is_line[here], -1, found)
    return replace(calls, call=np.where(inside >= 0, inside, calls.call))


def _package(one: Name) -> str:
    return one.public.partition(".")[0] if one.kind == LIBRARY else ""
