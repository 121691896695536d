"""The owners of a step's time grouped into parts that one change would concern.

Each grouper (loops, scopes of graphs, functions or layers, calls, kinds) gives some owners a key;
those with one key are a part (``parts``). ``with_programs`` adds what programs tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass, field, replace
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import Owner, owners, time_by, time_by_family
from stepscope.tables.core.op_scopes import shared_scope, time_by_scope
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import (
    FEW,
    HALF_FRAC,
    LARGE_FRAC,
    LONG_OP_PS,
    MANY,
    NEARLY_ALL_FRAC,
    PART_FRAC,
    SOME_FRAC,
    TWO_THIRDS_FRAC,
)
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.steps.calls import function_calls, is_single_op
from stepscope.tables.traits.op_families import (
    PLAIN,
    PRODUCTS,
    SCOPES,
    UNUSUAL,
    is_eager_in_jax,
    scope_of,
)
from stepscope.tables.traits.updates import is_update

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule
    from stepscope.tables.traits.inside import LineWork

_SAY_LITTLE = PLAIN | {"Einsum"}
# Of a function of the program, or of a library: the largest kind in it is the part's.
_CALL = "call"
_Path = tuple[str, ...]


class Key(NamedTuple):
    """The property that the owners of a part share.

    Attributes:
        kind: Of the part; "call" where the largest kind in it decides.
        name: Of the part; "" where its kind or its first owner names it.
        place: File, line and begin of a function, as far as they tell parts apart.
    """

    kind: str
    name: str = ""
    place: tuple[str, ...] = ()


def named_layers(listed: Iterable[Owner]) -> dict[int, Key]:
    """The scope that stands for ops of several families, by the owners' ids; {} for none.

    What few models are made of stays apart.
    """
    ops = [one for one in listed if one.kind == "op"]
    whole = _total_ps(ops)
    if are_placed(ops, whole):
        return {}
    scopes = _scopes(ops)
    time = time_by_scope((scopes[id(one)], one.total_ps) for one in ops)
    direct = time_by(lambda one: scopes[id(one)], ops)
    # Rows that stand for several ops have their common scope: each op may lie deeper.
    merged = time_by(lambda one: scopes[id(one)], (one for one in ops if one.others))
    least = _least(ops, whole)
    for path, spent in merged.items():
        if path and time[path] >= NEARLY_ALL_FRAC * whole:  # nearly all there is
            direct[path] -= spent
    standing = [
        path
        for path, spent in time.items()
        if path and spent >= least and _is_layer(path, time, direct)
    ]
    for path in sorted(standing, key=len, reverse=True):
        inside = [one for one in ops if scopes[id(one)][: len(path)] == path]
        if _says_more(time_by_family(inside)):
            return {id(one): Key("layer", "/".join(path)) for one in inside if _belongs(one)}
    return {}


def _scopes(ops: list[Owner]) -> dict[int, _Path]:
    """The scopes of each op, by the owners' ids; what a scope ends in may be named after it."""
    within = {id(one): one.layer for one in ops}
    known = {path[:depth] for path in within.values() for depth in range(1, len(path) + 1)}
    for one in (each for each in ops if not each.others):
        path = (*one.layer, one.name.rpartition("/")[2])
        within[id(one)] = path if path in known else within[id(one)]
    return within


def _says_more(families: dict[str, int]) -> bool:
    """Whether a scope says more than the largest family of its ops: those that say little aside."""
    most = max((time for name, time in families.items() if name not in _SAY_LITTLE), default=0)
    return most <= TWO_THIRDS_FRAC * sum(families.values())


def _least(ops: list[Owner], whole_ps: int) -> float:
    """Return the least time of a scope's ops that says more than families of ops do."""
    most = max(time_by_family(ops).values(), default=0)
    return min(max(LARGE_FRAC * whole_ps, most + 1), HALF_FRAC * whole_ps)


def are_placed(ops: list[Owner], whole_ps: int) -> bool:
    """Whether lines tell ops apart: where one call runs them all, they do not.

    Nor do several calls of one compiled function, each of which runs all of its ops: of these the
    names have a path, and the same ones come back at each line.
    """
    lines: dict[tuple[str, int], int] = {}
    first: dict[str, tuple[str, int]] = {}
    for one in sorted(ops, key=lambda one: -one.total_ps):
        at = one.file, one.line
        if "/" in one.name:
            at = first.setdefault(one.name, at)
        lines[at] = lines.get(at, 0) + one.total_ps
    return max(lines.values(), default=0) < NEARLY_ALL_FRAC * whole_ps


def scope_with_most(ops: Iterable[Owner]) -> tuple[str, float]:
    """The innermost scope below the model's with nearly all of some ops' time, and its share.

    "" where there is none.
    """
    time = time_by_scope((one.layer, one.total_ps) for one in ops)
    chosen = shared_scope(time)
    return ("/".join(chosen), time[chosen] / max(time[()], 1)) if len(chosen) > 1 else ("", 0.0)


def _is_layer(path: _Path, time: dict[_Path, int], direct: dict[_Path, int]) -> bool:
    """Whether a scope is less than what is around it: neither the model nor all there is of it.

    A scope at the top that is made of others is the model, which nobody can leave out.
    """
    beside = sum(len(one) == len(path) and one[:-1] == path[:-1] for one in time)
    is_model = len(path) == 1 and direct.get(path, 0) < time[path] / 2
    is_all = time[path] >= NEARLY_ALL_FRAC * time[path[:-1]]
    return (not is_all or beside >= FEW) and not is_model


def _belongs(one: Owner) -> bool:
    return one.family not in UNUSUAL and not is_update(one.family)


# Ops by which a loop over a dataset takes its elements: the loop is known, and no op is its work.
_OF_ITERATORS = frozenset(
    (
        *("OptionalHasValue", "OptionalGetValue", "OptionalFromValue", "OptionalNone"),
        *("IteratorGetNext", "IteratorGetNextAsOptional"),
    )
)


def is_dispatched(one: Owner) -> bool:
    """Whether an op ran by itself on the loop's thread, and not in a compiled program.

    Of TensorFlow's such an op is named by its type alone, of PyTorch's all are. JAX
    dispatches to its pool what is short as well, and makes a program of each.
    """
    if is_alone_in_jax(one):
        return True
    return one.is_inline and ("/" not in one.name or one.name.startswith("aten/"))


def is_alone_in_jax(one: Owner) -> bool:
    """Whether JAX ran an op by itself on the host: it ends soon after the call that started it."""
    return one.kind == "op" and not one.on_device and is_eager_in_jax(one.name)


# TensorFlow's calls by which Python hands an op over.
_HANDS_OVER = re.compile(r"(?:TFE_|Eager|convert_to_tensor|tf\.constant)")


# Kinds of time in which the thread runs code: they belong to the function that runs it.
_HOST = ("python", "library", "framework", "annotated")


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Owners that one change would concern.

    Attributes:
        kind: "python", "library", "framework", "op" or another kind of owner; "function": the ops
            of one of the program's functions; "layer": those that are named after one layer, loss
            or metric; "program": compiled functions without their ops.
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


def parts(found: Account, listed: list[Owner] | None = None) -> list[Part]:
    """Return the parts of the steps, the largest first; owners may be placed more exactly."""
    whole = _Whole(found, owners(found) if listed is None else listed)
    keys: dict[int, Key] = {}
    for grouper in _GROUPERS:
        keys = grouper(whole) | keys
    groups: dict[Key, list[Owner]] = {}
    for one in whole.owners:
        groups.setdefault(keys[id(one)], []).append(one)
    made = [_part(key, group) for key, group in groups.items()]
    return sorted(made, key=lambda one: -one.total_ps)


def _part(key: Key, group: list[Owner]) -> Part:
    time = np.sum([one.time_ps for one in group], axis=0)
    kind, name = key.kind, key.name
    if kind == "op":  # copies that are made for a product are not what it is named after
        group = sorted(group, key=lambda one: one.family != name)
    if kind == _CALL:
        by_kind = time_by(
            lambda one: "framework" if one.kind in ("annotated", "op") else one.kind, group
        )
        kind = max(by_kind, key=lambda name: by_kind[name])
    elif kind in ("framework", "compile", "input", "wait"):
        name = group[0].name
    elif kind != "eager":
        name = name or kind
    return Part(kind, name, tuple(group), time)


@dataclass(frozen=True, slots=True)
class _Whole:
    """All that is grouped: an account and its owners."""

    account: Account
    owners: list[Owner]

    def loops(self) -> frozenset[tuple[str, str]]:
        """File and name of the program's functions that hold the loop."""
        calls = self.account.frames
        if calls is None:
            return frozenset()
        from stepscope.tables.python.functions import loop_functions

        return loop_functions(calls, self.account.found)


def _call(one: Owner, loops: frozenset[tuple[str, str]]) -> Key:
    line = str(one.line) if (one.file, one.function) in loops else ""
    return Key(_CALL, one.function, (one.file, line, str(one.begins)))


def eager_loops(whole: _Whole) -> dict[int, Key]:
    """Group what runs ops one by one in a loop, and is not the model, by place in the program."""
    groups: dict[Key, list[Owner]] = {}
    for one, place in _loop_places(whole):
        groups.setdefault(place, []).append(one)
    steps = int(whole.account.found.kept.sum())
    return {
        id(one): place._replace(kind="eager")
        for place, group in groups.items()
        if _is_loop(group, steps)
        for one in group
        if one.kind != "op" or is_dispatched(one)
    }


def _is_loop(group: list[Owner], steps: int) -> bool:
    """Whether most ops of a place are called again and again, and it is neither code nor model."""
    run = [one for one in group if one.kind != "op" or is_dispatched(one)]
    ops = [one for one in run if one.kind == "op" and one.family not in _OF_ITERATORS]
    again = [
        one
        for one in ops
        if one.stretches >= MANY * steps
        and not (one.family in UNUSUAL and one.total_ps >= LONG_OP_PS * one.stretches)
    ]
    code = (one for one in run if one.kind in ("python", "library"))
    products = (one for one in group if one.kind == "op" and one.family in PRODUCTS)
    whole_ps = _total_ps(run)
    return (
        _total_ps(again) > HALF_FRAC * _total_ps(ops)
        and _total_ps(code) <= HALF_FRAC * whole_ps
        and _total_ps(products) < SOME_FRAC * whole_ps
        # Optimizers go over the variables by themselves; a rule knows them.
        and not any(one.name.startswith(names.PYTORCH_OPTIMIZER) for one in run)
    )


def _total_ps(listed: Iterable[Owner]) -> int:
    return sum(one.total_ps for one in listed)


def _loop_places(whole: _Whole) -> list[tuple[Owner, Key]]:
    """Where in the program ops may be run in a loop, as far as it is recorded."""
    loops, listed = whole.loops(), whole.owners
    nameless = {one.name for one in listed if is_dispatched(one) and "/" not in one.name}
    found = []
    for one in listed:
        # Without Python, what is named by its type alone was called by the program anyway.
        is_called = is_dispatched(one) and one.name in nameless
        is_called |= one.kind == "framework" and (
            one.name in nameless or _HANDS_OVER.match(one.name) is not None
        )
        if one.function and one.kind in (*_HOST, "op"):
            found.append((one, _call(one, loops)))
        elif whole.account.frames is None and is_called:
            found.append((one, Key("eager")))
    return found


def graph_scopes(whole: _Whole) -> dict[int, Key]:
    """Group ops by the loop of a compiled program, unless most of its time is products'.

    Products that the runtime takes longer around than they compute are no work of a loop.
    """
    ops = [(one, scope_of(one.name)) for one in whole.owners if one.kind == "op"]
    around_ps = _total_ps(one for one in whole.owners if one.kind == "runtime")
    is_work = around_ps <= _total_ps(one for one, _scope in ops)
    found: dict[int, Key] = {}
    for scope in SCOPES:
        inside = [one for one, within in ops if within == scope]
        products = _total_ps(one for one in inside if one.family in PRODUCTS)
        if not (is_work and products >= HALF_FRAC * _total_ps(inside)):
            found |= dict.fromkeys(map(id, inside), Key("op", scope))
    return found


def functions(whole: _Whole) -> dict[int, Key]:
    """Group ops by functions that stand for several families; by layers where there are none.

    What few models are made of stays apart: it says more than the function that it is in.
    """
    steps_ps = _total_ps(whole.owners)
    groups: dict[Key, list[Owner]] = {}
    for one in whole.owners:
        is_op = one.kind == "op" and _belongs(one)
        if one.under is not None and (is_op or one.kind == "framework"):
            key = Key("function", one.under.function, (one.under.file, str(one.under.begins)))
            groups.setdefault(key, []).append(one)
    found: dict[int, Key] = {}
    for key, group in groups.items():
        families = time_by_family(one for one in group if one.kind == "op")
        time = sum(families.values())
        if time < HALF_FRAC * _total_ps(group):
            continue
        is_mixed = max(families.values()) <= TWO_THIRDS_FRAC * time
        # What it calls is called by others as well: they would be taken for it.
        lent = _total_ps(one for one in group if one.kind == "op" and one.function != key.name)
        if time >= LARGE_FRAC * steps_ps and (is_mixed or lent >= HALF_FRAC * time):
            found |= {id(one): key for one in group}
    return found or named_layers(whole.owners)


def calls(whole: _Whole) -> dict[int, Key]:
    """Group what the thread runs by function; by line in a function that holds the loop.

    A single op of JAX's goes with the call that dispatches it, unless it takes longer than that.
    """
    loops = whole.loops()
    calling = (
        one for one in whole.owners if one.function and one.kind in ("framework", "annotated")
    )
    handed = time_by(lambda one: _call(one, loops), calling)
    found: dict[int, Key] = {}
    for one in whole.owners:
        # A library may be called from a function that began before the recording.
        key = _call(one, loops) if one.function else Key(_CALL, one.name)
        is_handed_over = is_alone_in_jax(one) and one.total_ps <= handed.get(key, 0)
        if is_handed_over or (one.kind in _HOST and (one.function or one.kind == "library")):
            found[id(one)] = key
    return found


def kinds(whole: _Whole) -> dict[int, Key]:
    """Group ops by family, named ranges by name, and all else by kind."""
    found: dict[int, Key] = {}
    for one in whole.owners:
        name = one.family if one.kind == "op" else one.name if one.kind == "region" else ""
        found[id(one)] = Key("framework" if one.kind == "annotated" else one.kind, name)
    return found


#: The first that has a key for an owner decides which part it is of; the last has one for all.
_GROUPERS: Final[tuple[Callable[[_Whole], dict[int, Key]], ...]] = (
    eager_loops, graph_scopes, functions, calls, kinds,
)  # fmt: skip


def with_programs(host: Host, made: list[Part]) -> list[Part]:
    """Return the parts, with compiled functions named where none of their ops was recorded."""
    if any(one.kind == "op" for one in made):
        return made
    called = [one for one in function_calls(host) if one.kind == "call"]
    called = [one for one in called if not is_single_op(one.name)] or called
    longest = sorted(called, key=lambda one: -one.time_ps)[:FEW]
    name = ", ".join(one.name for one in longest)
    return [
        replace(one, kind="program", name=name) if name and one.kind == "runtime" else one
        for one in made
    ]


_PREFIX = re.compile(r"^(?:jit|pmap|pjit)_+")


def is_program(one: Part) -> bool:
    """Whether a part is what a compiled function runs, of whose ops none was recorded."""
    first = one.first
    return one.kind == "program" or (first.kind == "op" and first.is_inline and not first.type)


def modules_of(host: Host, one: Part) -> list[HloModule]:
    """The recorded programs of a part's compiled function, one for each shape of its arguments."""
    if not is_program(one):
        return []
    called = one.name.split(", ")[0] if one.kind == "program" else one.first.name
    return [
        module
        for module in hlo_modules(host)
        if _PREFIX.sub("", module.name) == _PREFIX.sub("", called)
    ]


def lines_of(host: Host, one: Part) -> list[LineWork]:
    """The lines that the work of a part's compiled function comes from, by its recorded program.

    The largest first; empty where its ops were recorded, or its program was not.
    """
    modules = modules_of(host, one)
    if not modules:
        return []
    from stepscope.tables.traits.inside import lines_of_program

    found = [lines_of_program(module) for module in modules]
    # Compiled for several shapes, it comes from the same lines.
    return [line for line in max(found, key=len, default=[])[:FEW] if line.share >= PART_FRAC]
