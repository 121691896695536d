"""Which of the program's functions an op is run by: those that run through the steps, and below.

A function's ops are one thing to change: "train_accuracy takes 80 % of the step" says more than its
convolutions, its pooling and its activations apart. It stands for what it calls unless functions of
its own do most of that; one that others call as well, as a model is, stands for none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key, union_spans
from stepscope.columns.space import I64
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.thresholds import (
    ALL_FRAC,
    CALLS,
    DEEPEST,
    HALF_FRAC,
    LARGE_FRAC,
    NEARLY_ALL_FRAC,
)
from stepscope.tables.python.frames import FRAMEWORK, LIBRARY, OWN, Frames, Name
from stepscope.tables.python.library_files import OF_MODELS
from stepscope.tables.python.moments import one_line
from stepscope.tables.steps.attribution import HostSteps

# Of a name that was not looked at.
_NEW = -2


def loop_functions(calls: Frames, steps: HostSteps) -> frozenset[tuple[str, str]]:
    """File and name of the functions that run through all steps: the loop's, and those around."""
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
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

    Args:
        calls: Python's calls.
        steps: Their steps.
        place: Rows of ``calls`` at which ops ran, or were launched; -1 unknown.
        time_ps: For how long.
        on_device: Whether a device ran them, so that their functions may be over long before.
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
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    is_own = calls.own == np.arange(len(calls.rows))
    active = {}
    for code, time in tree.time_ps.items():
        if time >= LARGE_FRAC * _whole_ps(steps):
            named = [row for row, name in calls.names.items() if tree.is_function(code, name)]
            rows = np.flatnonzero(is_own & np.isin(calls.name, named))
            spans = union_spans(calls.start_ps[rows], calls.start_ps[rows] + calls.length_ps[rows])
            active[code] = int(covered(*spans, start, end).sum())
    most = max(active.values(), default=0)
    return frozenset(code for code, time in active.items() if time >= NEARLY_ALL_FRAC * most)


@dataclass(frozen=True, eq=False, slots=True)
class _Tree:
    """The functions that ops are run by, and who calls them.

    Attributes:
        functions: File and name of each.
        row: A row of the calls of each.
        chains: Functions from the inside out; -1 for a decorator's, and beyond the last.
        chain: Which of them each place has.
        time_ps: Ops' time below each function.
        below_ps: The same by function and the function that calls it, -1 for none.
    """

    functions: list[tuple[str, str]]
    row: list[int]
    chains: I64
    chain: I64
    time_ps: dict[int, int]
    below_ps: dict[tuple[int, int], int]

    def is_function(self, code: int, name: Name) -> bool:
        """Whether a call's name is that of a function."""
        return self.functions[code] == (name.file, name.function)


def _tree(calls: Frames, own: I64, time_ps: I64) -> _Tree:
    index: dict[tuple[str, str], int] = {}
    rows: list[int] = []
    code_of = np.full(int(calls.name.max(initial=0)) + 1, _NEW, dtype=np.int64)
    levels: list[I64] = []
    at = own
    while len(levels) < DEEPEST and (at >= 0).any():
        is_call = at >= 0
        name = calls.name[np.maximum(at, 0)]
        new = np.flatnonzero(is_call & (code_of[name] == _NEW))
        _names, one_of_each = np.unique(name[new], return_index=True)
        for row in at[new[one_of_each]].tolist():
            said = calls.names[int(calls.name[row])]
            key = (said.file, said.function)
            if key not in index:
                index[key] = len(rows)
                rows.append(row)
            code_of[calls.name[row]] = index[key]
        levels.append(np.where(is_call, code_of[name], -1))
        outer = np.where(is_call, calls.caller[np.maximum(at, 0)], -1)
        at = np.where(outer >= 0, calls.own[np.maximum(outer, 0)], -1)
    first, alike = distinct_rows(levels)
    chains = np.stack([level[first] for level in levels], axis=1)
    spent_ps = sum_by_key(alike, time_ps, len(first))
    time: dict[int, int] = {}
    below: dict[tuple[int, int], int] = {}
    for chain, spent in zip(chains.tolist(), spent_ps.tolist(), strict=True):
        met = [code for code in dict.fromkeys(chain) if code >= 0]
        for code, outer_code in zip(met, [*met[1:], -1], strict=True):
            time[code] = time.get(code, 0) + spent
            below[code, outer_code] = below.get((code, outer_code), 0) + spent
    return _Tree(list(index), rows, chains, alike, time, below)


# What decorators call the function that calls the decorated one: that says nothing of either.
_DECORATES = re.compile(r"(?:^|\.)(?:_?wrapp(?:er|ed)(?:_fn|_func|_call)?|decorate_context)$")


def is_decorator(function: str) -> bool:
    """Whether a function is one that a decorator puts around another, by its name."""
    return _DECORATES.search(function) is not None


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
            if not is_decorator(tree.functions[code][1]):
                chosen.add(code)
        else:
            todo += [inner for inner, spent in alone.items() if spent >= least_ps]
    return frozenset(chosen)


def _programs_own(tree: _Tree, code: int) -> list[int]:
    """The program's functions that do most of a model package's function; none where it is others.

    Who calls them is the package: that several of its functions do does not make them the loop's.
    """
    if OF_MODELS.search(tree.functions[code][0]) is None:
        return []
    found = {
        inner: spent
        for (inner, outer), spent in tree.below_ps.items()
        if outer == code and OF_MODELS.search(tree.functions[inner][0]) is None
    }
    return list(found) if sum(found.values()) >= HALF_FRAC * tree.time_ps[code] else []


def _outermost(tree: _Tree, chosen: frozenset[int]) -> I64:
    """A row of the calls of the outermost chosen function of each chain; -1 none."""
    is_chosen = np.asarray([code in chosen for code in range(len(tree.functions))] or [False])
    row = np.asarray(tree.row or [-1], dtype=np.int64)
    found = np.full(len(tree.chains), -1, dtype=np.int64)
    for level in tree.chains.T:
        here = (level >= 0) & is_chosen[np.maximum(level, 0)]
        found = np.where(here, row[np.maximum(level, 0)], found)
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
    modules = [row for row, one in calls.names.items() if is_module_call(one)]
    packages = {_package(one) for one in calls.names.values() if _FORWARD.search(one.function)}
    models = [
        row
        for row, one in calls.names.items()
        if one.kind == FRAMEWORK or (one.kind == LIBRARY and _package(one) in packages)
    ]
    if not modules or not packages - {""}:
        return calls
    nesting = one_line(calls.start_ps, calls.length_ps)
    parent = nesting.parent.astype(np.int64)
    is_module, is_model = np.isin(calls.name, modules), np.isin(calls.name, models)
    is_line = np.isin(calls.name, [row for row, one in calls.names.items() if not one.function])
    # The outermost call of a module, or what the model calls in another library.
    inside = np.full(len(calls.rows), -1, dtype=np.int64)
    for level in range(int(nesting.depth.max(initial=-1)) + 1):
        here = np.flatnonzero(nesting.depth == level)
        outer = np.where(parent[here] >= 0, inside[np.maximum(parent[here], 0)], -1)
        leaves = (outer >= 0) & is_module[np.maximum(outer, 0)]
        leaves &= ~(is_model[here] | is_line[here]) & (calls.kind[here] == LIBRARY)
        begins = leaves | ((outer < 0) & is_module[here])
        found = np.where(begins, here, outer)
        inside[here] = np.where((calls.kind[here] == OWN) & ~is_line[here], -1, found)
    return replace(calls, call=np.where(inside >= 0, inside, calls.call))


def _package(one: Name) -> str:
    return one.public.partition(".")[0] if one.kind == LIBRARY else ""
