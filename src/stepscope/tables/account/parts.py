"""The owners of a step's time put together to what a person would change: its parts.

A part is a function of the program with what it calls (by line for the loop's own function), a
library's function called from it, a family of ops, or a kind of work such as input or compiling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I64
from stepscope.tables.account.account import Account
from stepscope.tables.account.frames import Frames, Name
from stepscope.tables.account.op_loops import (
    GRAPH_LOOP,
    graph_loop,
    hands_over,
    is_dispatched,
    python_loops,
)
from stepscope.tables.account.owners import Owner, name_at, owners
from stepscope.tables.core.interval_overlap import covered

# Kinds of time in which the thread runs code: they belong to the function that runs it.
_HOST = ("python", "library", "framework", "annotated")
# A function that is active in this share of the steps' time is the loop itself, or around it.
_LOOP_FRAC = 0.95


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Owners that one change would concern.

    Attributes:
        kind: "python", "library", "framework", "op" or another kind of owner.
        name: Of the function, the library's call, the family of ops, or the kind.
        owners: The largest first.
    """

    kind: str
    name: str
    owners: tuple[Owner, ...]
    time_ps: I64 = field(repr=False)

    @property
    def total_ps(self) -> int:
        """In all kept steps."""
        return int(self.time_ps.sum())

    @property
    def first(self) -> Owner:
        """The largest owner."""
        return self.owners[0]


def parts(found: Account) -> list[Part]:
    """What makes up the steps, the largest first."""
    groups: dict[tuple[str, ...], list[Owner]] = {}
    loops = _loop_functions(found)
    listed = owners(found)
    in_graph = graph_loop(listed)
    nameless = frozenset(one.name for one in listed if is_dispatched(one) and "/" not in one.name)
    places = [(one, place) for one in listed if (place := _loop_place(found, one, loops, nameless))]
    eager = python_loops(places, int(found.found.kept.sum()))
    placed = {
        id(one): place
        for one, place in places
        if place in eager and (one.kind != "op" or is_dispatched(one))
    }
    for one in listed:
        key = ("op", GRAPH_LOOP) if id(one) in in_graph else _key(one, loops)
        groups.setdefault(placed.get(id(one), key), []).append(one)
    made = [_part(key, group, key in eager) for key, group in groups.items()]
    return sorted(made, key=lambda one: -one.total_ps)


def _loop_place(
    found: Account, one: Owner, loops: frozenset[tuple[str, str]], nameless: frozenset[str]
) -> tuple[str, ...]:
    """Where in the program ops may be run in a loop; () where it is not recorded."""
    if one.function and one.kind in (*_HOST, "op"):
        return _host_key(one, loops)
    # Without Python, what is named by its type alone was called by the program anyway.
    is_called = is_dispatched(one) and one.name in nameless
    return (
        ("eager", "") if found.frames is None and (is_called or hands_over(one, nameless)) else ()
    )


def _key(one: Owner, loops: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    if one.kind in ("op", "runtime"):
        return ("op", one.family) if one.kind == "op" else ("runtime", "")
    if one.kind in _HOST and one.function:
        return _host_key(one, loops)
    if one.kind == "library":  # called from a function that began before the recording
        return ("host", "", one.name, "")
    if one.kind in ("framework", "annotated"):
        return ("framework", "")
    return (one.kind, "")


def _host_key(one: Owner, loops: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    is_loop = (one.file, one.function) in loops
    return ("host", one.file, one.function, str(one.line) if is_loop else "")


def _part(key: tuple[str, ...], group: list[Owner], is_eager: bool) -> Part:
    time = np.sum([one.time_ps for one in group], axis=0)
    if is_eager:
        return Part("eager", key[2] if key[0] == "host" else "", tuple(group), time)
    if key[0] != "host":
        name = key[1] or _kind_name(key[0], group)
        return Part(key[0], name, tuple(group), time)
    by_kind: dict[str, int] = {}
    for one in group:
        by_kind[one.kind] = by_kind.get(one.kind, 0) + one.total_ps
    kind = max(by_kind, key=lambda name: by_kind[name])
    kind = "framework" if kind == "annotated" else kind
    return Part(kind, key[2], tuple(group), time)


def _kind_name(kind: str, group: list[Owner]) -> str:
    return group[0].name if kind in ("framework", "compile", "input", "wait") else kind


def _loop_functions(found: Account) -> frozenset[tuple[str, str]]:
    """File and name of the functions that run through all steps: the loop's, and those around."""
    calls, steps = found.frames, found.found
    if calls is None:
        return frozenset()
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    whole = int((end - start).sum())
    return frozenset(
        (name.file, name.function)
        for name, spans in _function_spans(calls)
        if int(covered(*spans, start, end).sum()) >= _LOOP_FRAC * whole
    )


def _function_spans(calls: Frames) -> Iterator[tuple[Name, tuple[I64, I64]]]:
    """The program's functions that may be the loop's: with when each of them was active."""
    rows = np.flatnonzero(calls.own == np.arange(len(calls.rows)))
    if len(rows) == 0:
        return
    order = rows[np.argsort(calls.name[rows], kind="stable")]
    for group in np.split(order, np.flatnonzero(np.diff(calls.name[order])) + 1):
        if len(group) <= _FEW_CALLS:
            starts, ends = calls.start_ps[group], calls.start_ps[group] + calls.length_ps[group]
            yield name_at(calls, int(group[0])), union_spans(starts, ends)


# The loop's function is called once, or once a chunk of the recording; a generator, once a step.
_FEW_CALLS = 64
