"""Copies that XLA makes for a product's layout are part of what the product costs.

Nobody wrote them: they have no op's name, and go, or change, with the product alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stepscope.tables.account.owners import Owner
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.rewritten import is_layout_fusion, readers
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.op_families import family_of

_PRODUCTS: Final = ("dot", "convolution")
_COPY: Final = "copy"
# Ops with less of all ops' time are not looked up.
_SEEN_FRAC: Final = 0.005
Key = tuple[str, ...]


def layout_copies(host: Host, listed: Iterable[Owner]) -> dict[int, Key]:
    """The key of the product that a copy is made for, by the owners' ids."""
    owners = [one for one in listed if one.kind == "op"]
    whole = sum(one.total_ps for one in owners)
    families = {one.family for one in owners}
    found: dict[int, Key] = {}
    for one in owners:
        if one.family != _COPY or one.event < 0 or one.total_ps < _SEEN_FRAC * whole:
            continue
        ran = instruction_of(host, one.event)
        product = None if ran is None else _made_for(*ran)
        if product is None:
            continue
        # A recording has an op's type, or its path, or the instruction alone.
        names = product.op_type, product.op_name.rpartition("/")[2], product.opcode
        family = next((name for name in map(family_of, names) if name in families), "")
        if family:
            found[id(one)] = ("op", family)
    return found


def _made_for(module: HloModule, copy: Instruction) -> Instruction | None:
    """The product that reads a copy without a name of its own; None of others."""
    is_copy = copy.opcode == _COPY or is_layout_fusion(copy.name.partition(".")[0])
    if not is_copy or copy.op_name:
        return None
    return next((one for one in readers(module, copy) if one.opcode in _PRODUCTS), None)
