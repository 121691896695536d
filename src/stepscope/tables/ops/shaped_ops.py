"""What a host's devices did for PyTorch's ops, by shape and type: calls, time and cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, Bool
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work
from stepscope.tables.ops.module_tree import RECOMPUTED, module_tree
from stepscope.tables.ops.run_cost import is_tf32_name
from stepscope.tables.torch.cost import OpCost
from stepscope.tables.torch.costs import cost_of
from stepscope.tables.torch.op_calls import op_calls
from stepscope.tables.torch.signature import Signature

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class ShapedOps:
    """One row per call of an op that launched something but a collective.

    Attributes:
        kind: Index into ``signatures`` and ``costs``.
        signatures: The distinct ways in which ops were called; one of them twice where some of
            its calls were computed in TF32 and others were not.
        costs: What one call of each costs.
        device_ps: Time of what each call launched.
        first_ps: When the first of it began.
        recomputed: Whether it is forward once more, inside of backward.
    """

    kind: I64
    signatures: tuple[Signature, ...]
    costs: tuple[OpCost, ...]
    device_ps: I64
    first_ps: I64
    recomputed: Bool

    def __len__(self) -> int:
        return len(self.kind)

    def each(self, name: str) -> F64:
        """A field of the costs, per call."""
        return np.asarray([getattr(one, name) for one in self.costs] or [0.0])[self.kind]


@derived
def shaped_ops(host: Host) -> ShapedOps:
    """The calls of a host."""
    calls, events = op_calls(host), device_events(host)
    linked = np.flatnonzero((calls.of_event >= 0) & (events.work != Work.COLLECTIVE))
    call = calls.of_event[linked]
    kept = np.unique(call)
    in_tf32, again = np.zeros(len(calls), bool), np.zeros(len(calls), bool)
    is_tf32 = entries_named(host, is_tf32_name)
    if len(linked):
        in_tf32[call[is_tf32[host.space.events.metadata[events.rows[linked]]]]] = True
        again[call[module_tree(host).phase[linked] == RECOMPUTED]] = True
    pairs, inverse = np.unique((calls.signature * 2 + in_tf32)[kept], return_inverse=True)
    signatures, costs = [], []
    for pair in pairs.tolist():
        number, is_fast = divmod(pair, 2)
        signature = calls.signatures[number]
        cost = cost_of(signature)
        signatures.append(signature)
        costs.append(replace(cost, type="tf32") if is_fast and cost.type == "fp32" else cost)
    return ShapedOps(
        kind=inverse.astype(np.int64),
        signatures=tuple(signatures),
        costs=tuple(costs),
        device_ps=calls.device_ps[kept],
        first_ps=calls.first_ps[kept],
        recomputed=again[kept],
    )
