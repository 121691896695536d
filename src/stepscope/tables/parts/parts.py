"""The owners of a step's time put together to what a person would change: its parts.

A part is a function of the program with what it calls (by line for the loop's own function), a
library's function called from it, a family of ops, or a kind of work such as input or compiling.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite, Owner, owners, time_by_family
from stepscope.tables.parts.composite_ops import composite_ops
from stepscope.tables.parts.layers import are_placed, named_layers
from stepscope.tables.parts.op_loops import (
    graph_scopes,
    hands_over,
    is_alone_in_jax,
    is_dispatched,
    python_loops,
)
from stepscope.tables.python.functions import loop_functions
from stepscope.tables.traits.op_families import ELEMENTWISE, RANDOM, UNUSUAL, is_elementwise
from stepscope.tables.traits.updates import is_update

# Kinds of time in which the thread runs code: they belong to the function that runs it.
_HOST = ("python", "library", "framework", "annotated")
# A function stands for its ops where they have this share of the steps, and no family of them has
# more than that of all.
_WHOLE_FRAC, _FAMILY_FRAC = 0.25, 2 / 3
# Elementwise ops of as many families may be a chain.
_FEWEST = 4
# Marks the key of products that no gradient goes through.
_APART = "without gradients"
# Below this share of ops it is a matter of how they are handed over.
_OPS_FRAC = 0.5
# It does so, too, where this share is of functions that it calls.
_LENT_FRAC = 0.5


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Owners that one change would concern.

    Attributes:
        kind: "python", "library", "framework", "op" or another kind of owner; "function": the ops
            of one of the program's functions; "layer": those that are named after one layer, loss
            or metric; "line": those that a compiled program has from one line; "program": compiled
            functions without their ops.
        name: Of the function, the library's call, the family of ops, or the kind.
        owners: The largest first.
        is_apart: Whether it is products that no gradient goes through, of a step that has some.
        around: The call of the program's that several functions lie below; None of one function.
    """

    kind: str
    name: str
    owners: tuple[Owner, ...]
    time_ps: I64 = field(repr=False)
    is_apart: bool = False
    around: CallSite | None = None

    @property
    def total_ps(self) -> int:
        """In all kept steps."""
        return int(self.time_ps.sum())

    @property
    def first(self) -> Owner:
        """The largest owner."""
        return self.owners[0]


def parts(
    found: Account,
    listed: list[Owner] | None = None,
    lines: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
    apart: Collection[int] = (),
    joined: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
) -> list[Part]:
    """What makes up the steps, the largest first.

    Args:
        found: The account.
        listed: Its owners, where they are already known, or placed more exactly.
        lines: Function, file and line that stand for ops, by the owners' ids (``compiled_lines``).
        apart: Ids of products that no gradient goes through (``without_gradients``).
        joined: Keys of ops that go with those of another family.
    """
    listed = owners(found) if listed is None else listed
    groups: dict[tuple[str, ...], list[Owner]] = {}
    calls = found.frames
    loops = frozenset[tuple[str, str]]() if calls is None else loop_functions(calls, found.found)
    whole = _of_functions(listed, sum(one.total_ps for one in listed)) or named_layers(listed)
    whole = {**(whole or composite_ops(listed)), **joined}
    in_graph = graph_scopes(listed)
    nameless = frozenset(one.name for one in listed if is_dispatched(one) and "/" not in one.name)
    places = [(one, place) for one in listed if (place := _loop_place(found, one, loops, nameless))]
    eager = python_loops(places, int(found.found.kept.sum()))
    placed = {
        id(one): place
        for one, place in places
        if place in eager and (one.kind != "op" or is_dispatched(one))
    }
    outside = [one for one in listed if id(one) not in in_graph and id(one) not in whole]
    ops = [one for one in listed if one.kind == "op"]
    is_apart = calls is not None and are_placed(ops, sum(one.total_ps for one in ops))
    if calls is not None:  # of what Python runs one by one, the lines say more
        outside = [one for one in outside if not is_dispatched(one)]
    together = {} if is_apart else _elementwise(outside)
    handed = _handed_over(listed, loops)
    for one in listed:
        key = whole.get(id(one), _key(one, loops, handed))
        if id(one) in apart and key[0] == "op" and id(one) not in joined:
            key = (*key, _APART)
        is_joined = joined.get(id(one)) == key  # which says what the line is for
        if id(one) in lines and not is_joined and in_graph.get(id(one), RANDOM) == RANDOM:
            key = ("line", *lines[id(one)])
            groups.setdefault(key, []).append(one)
            continue
        key = ("op", in_graph[id(one)]) if id(one) in in_graph else together.get(id(one), key)
        groups.setdefault(placed.get(id(one), key), []).append(one)
    for key, group in groups.items():
        if key[0] == "op":  # copies that are made for a product are not what it is named after
            own = [one for one in group if one.family == key[1]]
            group[:] = own + [one for one in group if one.family != key[1]]
    made = [_part(key, group, key in eager) for key, group in groups.items()]
    return sorted(made, key=lambda one: -one.total_ps)


def _of_functions(listed: list[Owner], steps_ps: int) -> dict[int, tuple[str, ...]]:
    """Keys of the ops of functions that stand for several families, by the owners' ids.

    What few models are made of stays apart: it says more than the function that it is in.
    """
    groups: dict[tuple[str, ...], list[Owner]] = {}
    for one in listed:
        is_op = one.kind == "op" and one.family not in UNUSUAL and not is_update(one.family)
        if one.under is not None and (is_op or one.kind == "framework"):
            place = one.under.file, one.under.function, str(one.under.begins)
            groups.setdefault(("function", *place), []).append(one)
    found: dict[int, tuple[str, ...]] = {}
    for key, group in groups.items():
        families = time_by_family(one for one in group if one.kind == "op")
        time = sum(families.values())
        if time < _OPS_FRAC * sum(one.total_ps for one in group):
            continue
        is_mixed = max(families.values()) <= _FAMILY_FRAC * time
        # What it calls is called by others as well: they would be taken for it.
        lent = sum(one.total_ps for one in group if one.kind == "op" and one.function != key[2])
        if time >= _WHOLE_FRAC * steps_ps and (is_mixed or lent >= _LENT_FRAC * time):
            found |= {id(one): key for one in group}
    return found


def _elementwise(listed: list[Owner]) -> dict[int, tuple[str, ...]]:
    """Keys of elementwise ops that make one part, by the owners' ids.

    What computes a penalty, a norm or an update is a chain of them: each is small, and nothing
    else tells that they belong together. One family with most of their time stays apart, as all do
    where another part is larger.
    """
    families = time_by_family(
        one
        for one in listed
        if one.kind == "op"
        and is_elementwise(one.name, one.family)
        and one.family not in UNUSUAL  # says more than that it is elementwise
    )
    if len(families) < _FEWEST or max(families.values()) > _FAMILY_FRAC * sum(families.values()):
        return {}
    others: dict[tuple[str, ...], int] = {}
    for one in listed:
        if one.kind != "op" or one.family not in families:
            rest = _key(one, frozenset())
            others[rest] = others.get(rest, 0) + one.total_ps
    if sum(families.values()) <= max(others.values(), default=0):
        return {}
    return {
        id(one): ("op", ELEMENTWISE)
        for one in listed
        if one.kind == "op" and one.family in families
    }


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


def _handed_over(
    listed: list[Owner], loops: frozenset[tuple[str, str]]
) -> dict[tuple[str, ...], int]:
    """How long each place of the program hands ops over."""
    found: dict[tuple[str, ...], int] = {}
    for one in listed:
        if one.function and one.kind in ("framework", "annotated"):
            place = _host_key(one, loops)
            found[place] = found.get(place, 0) + one.total_ps
    return found


_NOTHING_HANDED: Mapping[tuple[str, ...], int] = MappingProxyType({})


def _key(
    one: Owner,
    loops: frozenset[tuple[str, str]],
    handed: Mapping[tuple[str, ...], int] = _NOTHING_HANDED,
) -> tuple[str, ...]:
    if one.function and is_alone_in_jax(one):
        # It goes with its call, unless it takes longer than all that is handed over there.
        place = _host_key(one, loops)
        if one.total_ps <= handed.get(place, 0):
            return place
    if one.kind in ("op", "runtime"):
        return ("op", one.family) if one.kind == "op" else ("runtime", "")
    if one.kind in _HOST and one.function:
        return _host_key(one, loops)
    if one.kind == "library":  # called from a function that began before the recording
        return ("host", "", one.name)
    if one.kind in ("framework", "annotated"):
        return ("framework", "")
    return (one.kind, one.name if one.kind == "region" else "")


def _host_key(one: Owner, loops: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    is_loop = (one.file, one.function) in loops
    return ("host", one.file, one.function, str(one.line) if is_loop else "", str(one.begins))


def _part(key: tuple[str, ...], group: list[Owner], is_eager: bool) -> Part:
    time = np.sum([one.time_ps for one in group], axis=0)
    if is_eager:
        return Part("eager", key[2] if key[0] == "host" else "", tuple(group), time)
    if key[0] == "function":
        return Part("function", key[2], tuple(group), time)
    if key[0] in ("layer", "line"):
        return Part(key[0], key[1], tuple(group), time)
    if key[0] != "host":
        name = key[1] or _kind_name(key[0], group)
        return Part(key[0], name, tuple(group), time, key[-1] == _APART)
    by_kind: dict[str, int] = {}
    for one in group:
        kind = "framework" if one.kind in ("annotated", "op") else one.kind
        by_kind[kind] = by_kind.get(kind, 0) + one.total_ps
    kind = max(by_kind, key=lambda name: by_kind[name])
    return Part(kind, key[2], tuple(group), time)


def _kind_name(kind: str, group: list[Owner]) -> str:
    return group[0].name if kind in ("framework", "compile", "input", "wait") else kind
