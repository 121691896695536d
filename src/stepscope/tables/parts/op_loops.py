"""Loops around ops: in a compiled program, and in the program's own Python.

Which op of such a loop is the longest says little; the loop is what a person would change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from stepscope.schema import names
from stepscope.tables.account.owners import Owner
from stepscope.tables.traits.gradient_names import is_eager_in_jax
from stepscope.tables.traits.op_families import PRODUCTS, SCOPES, UNUSUAL, scope_of

# From this share of a loop on, products are what it is for: layers, steps of a recurrence.
_PRODUCT_FRAC = 0.5
# Runs of one op in a step from which the program calls it in a loop.
_MANY = 8
# Of ops that say more than their place, those that take longer each make no loop of it: one call
# over all elements would hardly be quicker.
_LONG_PS = 500_000_000
# Where products have more of the time of a place, the model runs there.
_MODEL_FRAC = 0.05
# Ops called again and again make a loop of a place where they have this share of its ops' time.
_MOST = 0.5

# Ops by which a loop over a dataset takes its elements: the loop is known, and no op is its work.
_OF_ITERATORS = frozenset(
    (
        *("OptionalHasValue", "OptionalGetValue", "OptionalFromValue", "OptionalNone"),
        *("IteratorGetNext", "IteratorGetNextAsOptional"),
    )
)

Place = tuple[str, ...]


def graph_scopes(listed: Iterable[Owner]) -> dict[int, str]:
    """Families of ops in loops and rows of compiled programs, by their owners' ids.

    None where most of their time is products'.
    """
    ops = [(one, scope_of(one.name)) for one in listed if one.kind == "op"]
    found: dict[int, str] = {}
    for scope in SCOPES:
        inside = [one for one, within in ops if within == scope]
        products = sum(one.total_ps for one in inside if one.family in PRODUCTS)
        if products < _PRODUCT_FRAC * sum(one.total_ps for one in inside):
            found |= dict.fromkeys(map(id, inside), scope)
    return found


@dataclass(slots=True)
class _Sums:
    """Time of one place, in ps.

    ``again`` is that of ops that are called again and again, ``own`` that of Python and libraries,
    ``products`` that of products, wherever they run.
    """

    whole: int = 0
    ops: int = 0
    again: int = 0
    own: int = 0
    products: int = 0
    is_optimizer: bool = False

    @property
    def is_loop(self) -> bool:
        return (
            self.again > _MOST * self.ops
            and self.own <= _MOST * self.whole
            and self.products < _MODEL_FRAC * self.whole
            and not self.is_optimizer
        )


def python_loops(listed: Iterable[tuple[Owner, Place]], count: int) -> frozenset[Place]:
    """Places of the program that run ops one by one in a loop, and are not the model.

    Args:
        listed: Owners and their places.
        count: Kept steps.
    """
    sums: dict[Place, _Sums] = {}
    for one, place in listed:
        found = sums.setdefault(place, _Sums())
        if one.kind == "op" and one.family in PRODUCTS:
            found.products += one.total_ps
        if one.kind == "op" and not is_dispatched(one):
            continue
        found.whole += one.total_ps
        found.own += one.total_ps if one.kind in ("python", "library") else 0
        # Optimizers go over the variables by themselves; a rule knows them.
        found.is_optimizer |= one.name.startswith(names.PYTORCH_OPTIMIZER)
        if one.kind == "op" and one.family not in _OF_ITERATORS:
            found.ops += one.total_ps
            is_long = one.family in UNUSUAL and one.total_ps >= _LONG_PS * one.stretches
            is_again = one.stretches >= _MANY * count and not is_long
            found.again += one.total_ps if is_again else 0
    return frozenset(place for place, found in sums.items() if found.is_loop)


def is_dispatched(one: Owner) -> bool:
    """Whether an op ran by itself on the loop's thread, and not in a compiled program.

    Of TensorFlow's such an op is named by its type alone, of PyTorch's all are. JAX hands over to
    its pool what is short as well, and makes a program of each.
    """
    if is_alone_in_jax(one):
        return True
    return one.is_inline and ("/" not in one.name or one.name.startswith("aten/"))


def is_alone_in_jax(one: Owner) -> bool:
    """Whether JAX ran an op by itself on the host: it ends soon after the call that started it."""
    return one.kind == "op" and not one.on_device and is_eager_in_jax(one.name)


# TensorFlow's calls by which Python hands an op over.
_HANDS_OVER = re.compile(r"(?:TFE_|Eager|convert_to_tensor|tf\.constant)")


def hands_over(one: Owner, ops: Collection[str]) -> bool:
    """Whether the framework hands one of these ops over, and no compiled program."""
    return one.kind == "framework" and (one.name in ops or _HANDS_OVER.match(one.name) is not None)
