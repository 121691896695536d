"""Kernels of Triton's, with what the recording says of how each was made."""

from __future__ import annotations

from math import nan
from typing import Any, Final

import numpy as np

from stepscope.columns import sum_by_key
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import device_events
from stepscope.tables.torch.op_calls import op_calls
from stepscope.tables.torch.presence import INDUCTOR, inductor_entries

_KINDS: Final = {
    "poi": "pointwise",
    "red": "reduction",
    "per": "persistent reduction",
    "tem": "template",
    "mm": "template",
    "for": "foreach",
    "split_scan": "scan",
}


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """One kernel, as it was called with one set of shapes.

    Attributes:
        name: The kernel's.
        kind: "pointwise", "reduction" …; "" where the name does not say it.
        fused: What Inductor fused, as its name lists it.
        shapes: Of its tensors; "" where not recorded.
        calls: How often it ran.
        device_ps: Its time.
        bytes: Of one call: each tensor once, NaN where not recorded.
        file, hash: Where Inductor keeps its source.
        arguments: Block sizes, warps and stages.
    """

    name: str
    kind: str
    fused: str
    shapes: str
    calls: int
    device_ps: int
    bytes: float
    file: str
    hash: str
    arguments: str


@derived
def triton_kernels(host: Host) -> tuple[TritonKernel, ...]:
    """The kernels of a host, by name and shapes."""
    from stepscope.tables.torch.costs import cost_of

    events, calls = device_events(host), op_calls(host)
    named = inductor_entries(host)
    is_triton = np.asarray([one.is_triton for one in calls.signatures] + [False])
    signature = np.append(calls.signature, -1)[calls.of_event]
    entry = host.space.events.metadata[events.rows].astype(np.int64)
    mine = np.flatnonzero(
        (np.append(named, False)[entry] | is_triton[signature]) & events.is_kernel
    )
    if not len(mine):
        return ()
    said = event_stats(host).texts(names.ARGUMENTS)
    made = np.full(len(events), -1, np.int64)
    has = calls.of_event >= 0
    made[has] = said.at(calls.rows)[calls.of_event[has]]
    keys: tuple[I64, ...] = (
        entry[mine],
        signature[mine],
        np.where(is_triton[signature], made, -1)[mine],
    )
    first, code = distinct_rows(keys)
    counts = np.bincount(code, minlength=len(first)).tolist()
    times = sum_by_key(code, events.duration_ps[mine], len(first)).tolist()
    found: dict[tuple[str, ...], TritonKernel] = {}
    for at, count, time in zip(first.tolist(), counts, times, strict=True):
        number, text = int(keys[1][at]), int(keys[2][at])
        one = calls.signatures[number] if number >= 0 and is_triton[number] else None
        name = host.space.event_metadata.name[int(keys[0][at])]
        kernel = _described(name, said.texts[text] if text >= 0 else "")
        shapes = one.label if one else ""
        key = (name, shapes, kernel["arguments"], kernel["file"])
        before = found.get(key)
        found[key] = TritonKernel(
            name=name,
            shapes=shapes,
            calls=count + (before.calls if before else 0),
            device_ps=time + (before.device_ps if before else 0),
            bytes=cost_of(one).bytes if one else nan,
            **kernel,
        )
    return tuple(found.values())


def _described(name: str, said: str) -> dict[str, Any]:
    """Return the facts in a kernel's name and its arguments."""
    from stepscope.tables.torch.signature import arguments

    found, args = INDUCTOR.match(name), arguments(said)
    words = [str(args.get("kernel_kwargs", "")).replace(",", ", ")]
    words += [f"{key[4:]}: {args[key]}" for key in ("num_warps", "num_stages") if key in args]
    return {
        "kind": _KINDS[found[1]] if found else "",
        "fused": "" if found is None or found[2].isdigit() else found[2].lstrip("_"),
        "file": str(args.get("kernel_file", "")),
        "hash": str(args.get("kernel_hash", "")),
        "arguments": ", ".join(filter(None, words)),
    }
