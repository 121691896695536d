"""Products of compiled programs of whose result few values are read.

``scores[jnp.arange(n), best]`` is a gather of what was computed for all pairs. XLA moves none
before the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.neighbourhood import readers
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.product_order import products_of

# A quarter of the values is worth taking first; more may be cheaper to compute whole.
_LEAST_TIMES: Final = 4
_TAKES: Final = frozenset(("gather", "dynamic-slice", "slice"))
# As many values as before: another shape, type or layout, or each value by itself.
_PASSES: Final = frozenset(
    ("bitcast", "reshape", "transpose", "copy", "convert", "parameter", "add", "subtract",
     "multiply", "divide", "negate", "tanh", "logistic", "exponential", "log", "maximum", "minimum",
     "select", "clamp", "abs", "power", "sqrt", "rsqrt", "erf")
)  # fmt: skip
# So many instructions are looked at after a product.
_MOST: Final = 32


@dataclass(frozen=True, slots=True)
class FewRead:
    """Values that are read of a product.

    Attributes:
        one_in: Of so many values one is read.
        at: Where, as ``file:line``; "" unknown.
    """

    one_in: int
    at: str


def few_read(host: Host, event: int) -> FewRead | None:
    """What is read of the product that an event's op is, or has; None: all, or unknown."""
    found = instruction_of(host, event)
    if found is None:
        return None
    module, one = found
    read = (_read(module, product) for product in products_of(module, one))
    return next(filter(None, read), None)


def _read(module: HloModule, product: Instruction) -> FewRead | None:
    size, read = prod(product.shape.dimensions), 0
    takers: list[Instruction] = []
    open_, seen = [product], {product.id}
    while open_:
        one = open_.pop()
        users = readers(module, one)
        if not users or len(seen) > _MOST:  # the program's own result is read whole
            return None
        for user, via in users:
            taken = prod(user.shape.dimensions)
            if user.opcode in _TAKES and user.operand_ids[:1] == (via,):
                read += taken
                takers.append(user)
            elif user.opcode not in _PASSES or taken != size:
                return None
            elif user.id not in seen:
                seen.add(user.id)
                open_.append(user)
    if not read or size < _LEAST_TIMES * read:
        return None
    return FewRead(size // read, next(filter(None, (at_line(module, each) for each in takers)), ""))
