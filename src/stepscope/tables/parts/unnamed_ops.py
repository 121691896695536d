"""What XLA makes for a product, without a name of its own, is part of what the product costs.

Nobody wrote the copies into its layout: they go, or change, with the product alone. The product
itself may have been rewritten for a library: what rearranges its result still has the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from stepscope.tables.account.owners import Owner
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.rewritten import (
    PRODUCTS,
    before_rewriting,
    is_layout_fusion,
    product_within,
    readers,
)
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.op_families import family_of

_COPY: Final = "copy"
# Ops with less of all ops' time are not looked up.
_SEEN_FRAC: Final = 0.005
Key = tuple[str, ...]


def unnamed_ops(host: Host, listed: Iterable[Owner]) -> dict[int, Key]:
    """The key of the product that each is, or is made for, by the owners' ids."""
    owners = [one for one in listed if one.kind == "op"]
    whole = sum(one.total_ps for one in owners)
    families = {one.family for one in owners}
    found: dict[int, Key] = {}
    for one in owners:
        if one.event < 0 or one.total_ps < _SEEN_FRAC * whole:
            continue
        ran = instruction_of(host, one.event)
        if ran is None or ran[1].op_name:
            continue
        # A recording has an op's type, or its path, or the instruction alone.
        listed_names = [family_of(name) for name in _names(*ran)]
        family = next((name for name in listed_names if name in families), "")
        family = family or next(iter(listed_names), "")
        if family and family != one.family:
            found[id(one)] = ("op", family)
    return found


def _names(module: HloModule, itself: Instruction) -> Iterator[str]:
    """What the product is called that an instruction without a name is for, or runs."""
    is_copy = itself.opcode == _COPY or is_layout_fusion(itself.name.partition(".")[0])
    if is_copy:
        product = next((one for one in readers(module, itself) if one.opcode in PRODUCTS), None)
    else:
        product = product_within(module, itself)
    if product is None:
        return
    named = _around(module, product)
    for name in (named.op_type, named.op_name.rpartition("/")[2], product.opcode):
        if name:
            yield name


def _around(module: HloModule, product: Instruction) -> Instruction:
    """What has the name of a product that was rewritten: mostly itself."""
    if product.op_name:
        return product
    fusions = (one for one in module.instructions.values() if one.opcode == "fusion")
    fusion = next((one for one in fusions if product.computation_id in one.called_ids), product)
    return before_rewriting(module, fusion)
