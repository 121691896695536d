"""What a host's devices did for PyTorch's ops, by shape and type: calls, time and cost.

The types also tell which of a device's FLOP peaks apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import sum_by_key
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass, replace
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.host.events import Work
from stepscope.tables.ops.device_peaks import Peaks
from stepscope.tables.ops.module_tree import RECOMPUTED, module_tree
from stepscope.tables.ops.run_cost import is_tf32_name
from stepscope.tables.torch.costs import OpCost, cost_of
from stepscope.tables.torch.op_calls import OpCalls, op_calls
from stepscope.tables.torch.signature import Signature

F64 = NDArray[np.float64]

HALF: Final = "16-bit"
# Which of a device's types the bits of a kernel stand for, where nothing names the type.
_STANDS_FOR: Final = {HALF: ("fp16", "bf16")}


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


@derived
def type_times(host: Host) -> dict[str, int]:
    """Picoseconds of device compute by type: "bf16", "tf32", "fp32" …, ``HALF`` where either.

    PyTorch's products tell their type; of other kernels the name and the shapes tell the bits.
    Kernels whose bits are not recorded are left out.
    """
    events = device_events(host)
    if len(events) == 0:
        return {}
    calls = op_calls(host)
    products = [cost_of(signature).type for signature in calls.signatures]
    names = list(dict.fromkeys(["", HALF, "fp32", "tf32", *products]))
    place = {name: at for at, name in enumerate(names)}
    code = np.where(events.work == Work.COMPUTE_16, place[HALF], place["fp32"])
    code[~events.bits_known | (events.work < Work.COMPUTE_32) | events.is_container] = 0
    told = _product_codes(events, calls, np.asarray([place[one] for one in products] or [0]))
    code = np.where((told > 0) & (events.work >= Work.COMPUTE_32), told, code)
    is_tf32 = entries_named(host, is_tf32_name)[host.space.events.metadata[events.rows]]
    code[is_tf32 & (code == place["fp32"])] = place["tf32"]
    times = sum_by_key(code.astype(np.int64), events.self_ps, len(names)).tolist()
    return {name: time for name, time in zip(names, times, strict=True) if name and time}


def _product_codes(
    events: DeviceEvents, calls: OpCalls, code_of: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The type of the product that launched each event, 0 where it is of none."""
    found = np.zeros(len(events), dtype=np.int64)
    linked = np.flatnonzero(calls.of_event >= 0)
    found[linked] = code_of[calls.signature[calls.of_event[linked]]]
    return found


def used_peaks(hosts: Iterable[Host], peaks: Peaks) -> list[tuple[str, float, int]]:
    """The FLOP peaks of the types that are computed in: names, FLOP/s and picoseconds.

    Types of one peak share a row; the fastest comes first. A type whose peak is not known has
    no row.
    """
    known = dict(peaks.flops_by_type)
    rows: dict[float, dict[str, int]] = {}
    for host in hosts:
        for name, time in type_times(host).items():
            alike = (name, *_STANDS_FOR.get(name, ()))
            rate = max((known[one] for one in alike if one in known), default=0.0)
            if rate:
                times = rows.setdefault(rate, {})
                times[name] = times.get(name, 0) + time
    return [
        (_label(list(times)), rate, sum(times.values())) for rate, times in sorted(rows.items())
    ][::-1]


def _label(names: list[str]) -> str:
    """Names of types; "16-bit" only where nothing says which of them."""
    exact = [name for name in names if name != HALF]
    return ", ".join(exact or names)
