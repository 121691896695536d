"""The cost of any op of PyTorch's that is known, by its name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from stepscope.tables.torch.attention_cost import ATTENTION_COSTS
from stepscope.tables.torch.cost import UNKNOWN, OpCost
from stepscope.tables.torch.list_cost import LIST_COSTS
from stepscope.tables.torch.matrix_cost import MATRIX_COSTS, CostOf
from stepscope.tables.torch.moving_cost import MOVING_COSTS, triton_cost
from stepscope.tables.torch.signature import Signature

_ATEN: Final = "aten::"
_COSTS: Final[Mapping[str, CostOf]] = {
    (name if "::" in name else _ATEN + name): cost
    for table in (MATRIX_COSTS, ATTENTION_COSTS, MOVING_COSTS, LIST_COSTS)
    for name, cost in table.items()
}


@lru_cache(maxsize=50_000)
def cost_of(call: Signature) -> OpCost:
    """What one call costs; unknown where its shapes were not recorded.

    Of an op that is not known, such as a program's own, the inputs alone.
    """
    if not call.dims:
        return UNKNOWN
    if call.is_triton:
        return triton_cost(call)
    found = _COSTS.get(call.op)
    return _inputs(call) if found is None else found(call)


def _inputs(call: Signature) -> OpCost:
    """The bytes that an op is given."""
    tensors = [one.bytes for one in call.tensors()]
    lists = [one for at in range(len(call.dims)) if (one := call.list_bytes(at)) is not None]
    size = sum(tensors) + sum(lists)
    return UNKNOWN if math.isnan(size) or not size else OpCost(bytes=size, is_inputs_only=True)


def is_product(cost: OpCost) -> bool:
    """Whether matrices are multiplied."""
    return not math.isnan(cost.flops) and cost.flops > 0
