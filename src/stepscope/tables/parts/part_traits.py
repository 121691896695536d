"""Traits of a part that advice acts on, each with the names and shares that show it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import Final

import numpy as np

from stepscope.columns import pivot
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.replica_groups import computes_the_same
from stepscope.tables.parts.grouping import Part
from stepscope.tables.parts.shares import Share
from stepscope.tables.steps import attribution
from stepscope.tables.torch.copy_purposes import LAYOUT, TYPES, copy_purposes, is_copy
from stepscope.tables.traits.copied_arguments import writer_into_argument
from stepscope.tables.traits.gradients import APART
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.op_families import PRODUCTS
from stepscope.tables.traits.shapes import LEAST_ELEMENTS, broadcasts, operands_of, padding_of

#: One run of an op has most of its time.
IN_ONE_RUN: Final = "in-one-run"
#: So has the first one, which may start what the others find ready.
IN_FIRST_RUN: Final = "in-first-run"
#: Several devices run a program, each all of it.
ON_EACH_DEVICE: Final = "on-each-device"
#: Copies on a device that change types, or layouts: what most of them are for.
CHANGES_TYPES: Final = "changes-types"
CHANGES_LAYOUTS: Final = "changes-layouts"
CHANGES_LAYOUTS_OF_IMAGES: Final = "changes-layouts-of-images"
#: A copy of an argument that is then written into.
COPIES_ARGUMENT: Final = "copies-argument"
#: TensorFlow's products on a CPU that no kernel of oneDNN's runs.
NOT_ONEDNN: Final = "not-onednn"
#: What it works on was made of much smaller tensors.
BROADCAST: Final = "broadcast"
PADDED: Final = "padded"
#: A layer that is a hundred ops or more.
MANY_OPS: Final = "many-ops"


#: All of them.
TRAITS: Final = frozenset((
    IN_ONE_RUN, IN_FIRST_RUN, ON_EACH_DEVICE, CHANGES_TYPES, CHANGES_LAYOUTS,
    CHANGES_LAYOUTS_OF_IMAGES, COPIES_ARGUMENT, NOT_ONEDNN, BROADCAST, PADDED, MANY_OPS,
))  # fmt: skip


def traits_of(part: Part, host: Host) -> Iterator[Share]:
    """Yield the traits of a part: the role of each is the trait."""
    if part.kind in ("eager", "function"):
        yield from _of_smaller(host, part)
    elif part.kind == "layer" and part.name != APART:
        yield from _of_number(part)
        yield from _of_smaller(host, part)
    elif part.kind not in ("line", "layer") and part.around is None:
        for detector in (_in_one_run, _on_each, _of_copies, _of_argument):
            yield from detector(host, part)
        yield from _without_onednn(part)
        yield from _of_smaller(host, part)


# One of so many runs or more has so much of the time of all: it does what the others need not.
_RUNS, _MOST_FRAC = 5, 0.5


def _in_one_run(host: Host, one: Part) -> Iterator[Share]:
    """How much of a part's largest op one run has, where several ran and that is most."""
    event = one.first.event
    if one.kind not in ("op", "framework") or event < 0 or not one.total_ps:
        return
    share = int(host.space.length_ps[event]) / one.total_ps
    if not _MOST_FRAC <= share <= 1:
        return
    events = host.space.events
    runs = np.flatnonzero(events.metadata == events.metadata[event])
    if len(runs) < _RUNS:
        return
    is_first = events.start_ps[event] == events.start_ps[runs].min()
    yield Share(IN_FIRST_RUN if is_first else IN_ONE_RUN, f"{len(runs)} runs", share)


def _on_each(host: Host, one: Part) -> Iterator[Share]:
    found = instruction_of(host, one.first.event) if one.kind == "op" else None
    if count := computes_the_same(found[0]) if found is not None else 0:
        yield Share(ON_EACH_DEVICE, f"{count} devices")


# Shares of all copies of a recording say nothing of a part with fewer than this share of them.
_MOST_COPIES_FRAC = 0.7
_PURPOSES, _PURPOSE_FRAC = 4, 0.05
# Ops that have no kernel for some layout of images.
_IMAGES = re.compile(r"conv|group_?norm|pool|upsample", re.IGNORECASE)


def _of_copies(host: Host, one: Part) -> Iterator[Share]:
    """What PyTorch's copies on a device are for; nothing where it is few of all."""
    if one.kind != "op" or not one.first.on_device or not is_copy(one.first.name):
        return
    found, steps = copy_purposes(host), attribution.steps(host)
    whole = sum(found.values())
    kept = 1.0 if steps is None else float(steps.kept.mean())
    if not one.total_ps >= _MOST_COPIES_FRAC * kept * whole > 0:
        return
    told: dict[str, list[tuple[str, float]]] = {}
    for (what, op), time in sorted(found.items(), key=lambda item: -item[1])[:_PURPOSES]:
        if time >= _PURPOSE_FRAC * whole:
            told.setdefault(what, []).append((op, time / whole))
    for what, listed in told.items():
        trait = copies_for(what, " ".join(op for op, _frac in listed))
        yield from (Share(trait or what, op, frac) for op, frac in listed)


def copies_for(what: str, ops: str) -> str:
    """The trait of copies by what is done (``copy_purposes``) and for which ops; "" no trait."""
    if what == TYPES:
        return CHANGES_TYPES
    if what != LAYOUT:
        return ""
    return CHANGES_LAYOUTS_OF_IMAGES if _IMAGES.search(ops) else CHANGES_LAYOUTS


def _of_argument(host: Host, one: Part) -> Iterator[Share]:
    if writer := writer_into_argument(host, one.first.event) if one.kind == "op" else "":
        yield Share(COPIES_ARGUMENT, writer)


# As TensorFlow calls them, before oneDNN takes them: "_MklMatMul", "_MklNativeConv2D".
_PLAIN_PRODUCT = re.compile(
    r"_?(?:Fused)?(?:(?:Batch)?MatMul(?:V\d)?|Conv[23]D\w*|Einsum|DepthwiseConv2dNative\w*)"
)


def _without_onednn(one: Part) -> Iterator[Share]:
    """Whether oneDNN's kernels, which take float32 and bfloat16, run none of a part's products."""
    ops = [owner.type for owner in one.owners if owner.kind == "op" and not owner.on_device]
    is_plain = bool(ops) and all(_PLAIN_PRODUCT.fullmatch(kind) for kind in ops)
    if is_plain and one.name in PRODUCTS:
        yield Share(NOT_ONEDNN, one.name)


def _of_smaller(host: Host, one: Part) -> Iterator[Share]:
    """Which op makes what a part's longest run works on of much less, and how."""
    event = next((each.event for each in one.owners if each.kind == "op"), -1)
    if one.kind not in ("op", "eager", "function", "layer") or event < 0:
        return
    said = dict(pivot.event_stats(host.space, event)).get(names.SHAPE)
    operands = operands_of(said) if isinstance(said, str) else []
    size = max(map(prod, operands), default=0)
    if size < LEAST_ELEMENTS:
        return
    if (made := broadcasts(host).get(size)) is not None:
        yield Share(BROADCAST, made.extents, op=made.op)
    elif (padded := padding_of(host, operands)) is not None:
        yield Share(PADDED, padded.extents, op=padded.op)


_MANY: Final = 100


def _of_number(one: Part) -> Iterator[Share]:
    count = sum(1 + owner.others for owner in one.owners if owner.kind == "op")
    if count >= _MANY:
        yield Share(MANY_OPS, f"{count} ops")
