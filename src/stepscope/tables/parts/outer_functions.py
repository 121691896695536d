"""Python that one call of the program spends in many functions: a part by that call.

``augment`` may call a dozen functions of its own, each with a few percent of the step: none of them
is what a person would change first. Together they are the part of the call that has them all,
unless one of them has most of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.tables.account.account import Account
from stepscope.tables.account.outer_calls import CallsAbove, call_tree
from stepscope.tables.account.owners import Owner
from stepscope.tables.parts.parts import Part
from stepscope.tables.python.frames import Name

_KINDS: Final = ("python", "library")
# A call is named for what is below it from this share of the steps on,
_LEAST_FRAC: Final = 0.1
# if no function below it has this share of its Python, or one of the steps that is worth a word of
# its own: less will do where it mostly makes one call of a library's.
_ONE_FRAC: Final = 0.5
_ALONE_FRAC, _CALL_FRAC = 0.35, 0.2
# Modules whose calls are what loops in Python are made of.
_SMALL: Final = frozenset(("math", "cmath", "random", "operator", "itertools", "functools"))
# nor a call below it this one: that one is named then.
_PASSED_FRAC: Final = 0.8
# Of all its time so much is Python: the rest is ops, waits and their hand-over.
_PYTHON_FRAC: Final = 0.6
# A function is below a call if this share of it is: others call it as well.
_BELOW_FRAC: Final = 0.9
# What mostly waits is not done by leaving it out.
_WAITS_FRAC: Final = 0.5


def below_calls(found: Account, made: list[Part], listed: list[Owner]) -> list[Part]:
    """The parts, the largest first, with functions put together that lie below one call.

    Args:
        found: The account.
        made: Its parts.
        listed: Its owners.
    """
    functions = [one for one in made if one.kind in _KINDS and not _waits(found, one)]
    if len(functions) < 2:
        return made
    tree = call_tree(found, listed)
    steps_ps = int(found.found.duration_ps[found.found.kept].sum())
    search = _Search(tree, _below(tree, functions), steps_ps)
    nodes = tree.nodes
    outermost = [
        at for at in range(len(nodes)) if _is_outermost(tree, at) and not nodes[at].is_loop
    ]
    joined = {at: search.below[at] for one in outermost for at in search.named(one)}
    gone = {id(one) for mine in joined.values() for one in mine}
    whole = [_part(tree, at, mine) for at, mine in joined.items()]
    rest = [one for one in made if id(one) not in gone]
    return sorted(rest + whole, key=lambda one: -one.total_ps)


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for the calls to name, from one inwards.

    Attributes:
        tree: All calls.
        below: By node of the tree, the parts that lie below it.
        steps_ps: Of all kept steps.
    """

    tree: CallsAbove
    below: dict[int, list[Part]]
    steps_ps: int

    def named(self, at: int) -> list[int]:
        """The innermost calls from this one on that stand for what is below them."""
        mine = self.below.get(at, [])
        python_ps = self.python_ps(at)
        if len(mine) < 2 or python_ps < _LEAST_FRAC * self.steps_ps:
            return []
        inner = [to for to, node in enumerate(self.tree.nodes) if node.above == at]
        for to in inner:
            if self.python_ps(to) >= _PASSED_FRAC * python_ps and (found := self.named(to)):
                return found
        largest = max(mine, key=lambda one: one.total_ps)
        alone = _CALL_FRAC if _is_call(largest) else _ALONE_FRAC
        if largest.total_ps >= min(_ONE_FRAC * python_ps, alone * self.steps_ps):
            return []
        if python_ps >= _PYTHON_FRAC * self.tree.nodes[at].total_ps:
            return [at]
        return [one for to in inner for one in self.named(to)]

    def python_ps(self, at: int) -> int:
        """What the parts below a call take."""
        return sum(one.total_ps for one in self.below.get(at, ()))


def _is_outermost(tree: CallsAbove, at: int) -> bool:
    above = tree.nodes[at].above
    return above < 0 or tree.nodes[above].is_loop


def _waits(found: Account, one: Part) -> bool:
    """Whether most of a part only waits, for what another thread or a clock does."""
    calls = found.frames
    if calls is None:
        return False
    items = [(owner, int(found.item[row])) for owner in one.owners for row in owner.rows[:1]]
    waits = sum(
        owner.total_ps
        for owner, item in items
        if owner.kind == "library" and item >= 0 and _is_wait(calls.names[int(calls.name[item])])
    )
    return waits >= _WAITS_FRAC * one.total_ps


def _is_call(one: Part) -> bool:
    """Whether a function mostly makes one call that says what it does, as ``copy.deepcopy``."""
    module, _, _name = one.first.name.rpartition(".")
    is_named = one.first.kind == "library" and module.partition(".")[0] not in ("", *_SMALL)
    return is_named and 2 * one.first.total_ps >= one.total_ps


def _is_wait(name: Name) -> bool:
    return name.is_wait or name.is_outside or name.is_fetch


def _below(tree: CallsAbove, functions: list[Part]) -> dict[int, list[Part]]:
    """By node of the tree, the parts that lie below it."""
    found: dict[int, list[Part]] = {}
    for one in functions:
        time: dict[int, int] = {}
        for owner in one.owners:
            for at in dict.fromkeys(tree.chains.get(id(owner), ())):
                time[at] = time.get(at, 0) + owner.total_ps
        for at, spent in time.items():
            if spent >= _BELOW_FRAC * one.total_ps and not tree.nodes[at].is_loop:
                found.setdefault(at, []).append(one)
    return found


def _part(tree: CallsAbove, at: int, mine: list[Part]) -> Part:
    owners = sorted((owner for one in mine for owner in one.owners), key=lambda one: -one.total_ps)
    time = np.sum([one.time_ps for one in mine], axis=0)
    site = tree.nodes[at].site
    return Part("python", site.function, tuple(owners), time, around=site)
