"""What is special about a part: traits that advice acts on, each with the words that tell it.

A trait is a token; what a person reads is its words, which may change without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from stepscope.columns import pivot
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.replicated import computes_the_same
from stepscope.tables.parts.call_sites import ops_of
from stepscope.tables.parts.few_values import few_values
from stepscope.tables.parts.parts import Part
from stepscope.tables.parts.programs import lines_of, modules_of
from stepscope.tables.steps import attribution
from stepscope.tables.torch.copy_purposes import LAYOUT, TYPES, copy_purposes, is_copy
from stepscope.tables.traits.broadcasts import LEAST_ELEMENTS, broadcasts, operands_of
from stepscope.tables.traits.copied_arguments import writer_into_argument
from stepscope.tables.traits.few_read import few_read
from stepscope.tables.traits.for_copies import copies
from stepscope.tables.traits.gradients import APART
from stepscope.tables.traits.graph_products import graph_order
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.jacobians import is_jacobian
from stepscope.tables.traits.long_windows import long_window
from stepscope.tables.traits.op_families import PRODUCTS
from stepscope.tables.traits.paddings import padding_of
from stepscope.tables.traits.product_order import ProductOrder, dearest_order, product_order
from stepscope.tables.traits.rows_gathered import rows_gathered
from stepscope.tables.traits.rows_read import row_read

#: One run of an op has most of its time.
IN_ONE_RUN: Final = "in-one-run"
#: So has the first one, which may start what the others find ready.
IN_FIRST_RUN: Final = "in-first-run"
#: A convolution with a window so long that a Fourier transform is cheaper.
LONG_WINDOW: Final = "long-window"
#: Several devices run a program, each all of it.
ON_EACH_DEVICE: Final = "on-each-device"
#: Copies on a device that change types, or layouts: what most of them are for.
CHANGES_TYPES: Final = "changes-types"
CHANGES_LAYOUTS: Final = "changes-layouts"
CHANGES_LAYOUTS_OF_IMAGES: Final = "changes-layouts-of-images"
#: A copy of an argument that is then written into.
COPIES_ARGUMENT: Final = "copies-argument"
#: A program computes many rows, and one of them is read.
ONE_ROW_READ: Final = "one-row-read"
#: A product is given rows that were gathered of a table with few: alone, or beside others.
GATHERED_ROWS: Final = "gathered-rows"
JOINED_ROWS: Final = "joined-rows"
#: Of what a product computes few values are taken.
FEW_TAKEN: Final = "few-taken"
#: What it works on is many copies of the same.
FOR_COPIES: Final = "for-copies"
#: A product of a product, which takes fewer multiplications in another order.
CHEAPER_ORDER: Final = "cheaper-order"
#: A backward pass that is mapped over outputs.
OF_JACOBIAN: Final = "of-jacobian"
#: TensorFlow's products on a CPU that no kernel of oneDNN's runs.
NOT_ONEDNN: Final = "not-onednn"
#: What it works on was made of much smaller tensors.
BROADCAST: Final = "broadcast"
PADDED: Final = "padded"
#: A layer that is a hundred ops or more.
MANY_OPS: Final = "many-ops"


@dataclass(frozen=True, slots=True)
class Trait:
    """One trait of a part.

    Attributes:
        name: One of the above.
        words: The same for a person; they follow what the part is made of.
        rows: How many rows are computed.
        at: Where one of them is read, or where they are gathered, as ``file:line``; "" unknown.
    """

    name: str
    words: str
    rows: int = 0
    at: str = ""


def traits_of(one: Part, host: Host, found: Account) -> Iterator[Trait]:
    """The traits of a part of an account, in the order in which they are written."""
    if one.kind in ("eager", "function"):
        yield from _of_few(host, found, one)
        yield from _of_smaller(host, one)
    elif one.kind == "layer" and one.name != APART:
        yield from _of_number(one)
        yield from _of_smaller(host, one)
    elif one.kind == "line":
        yield from _of_jacobian(host, one)
    elif one.around is None and one.kind != "layer":
        for of in (_in_one_run, _long_window, _on_each, _of_copies, _of_argument):
            yield from of(host, one)
        yield from _of_jacobian(host, one)
        rows = [*_of_row(host, one), *_of_gather(host, one), *_of_few(host, found, one)]
        yield from rows[:1]  # all are about what it computes for which rows
        yield from _of_order(host, one)
        yield from _for_copies(host, one)
        yield from _without_onednn(one)
        yield from _of_smaller(host, one)


# One of so many runs or more has so much of the time of all: it does what the others need not.
_RUNS, _MOST_FRAC = 5, 0.5


def _in_one_run(host: Host, one: Part) -> Iterator[Trait]:
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
    name, which = (IN_FIRST_RUN, "the first") if is_first else (IN_ONE_RUN, "one")
    yield Trait(name, f", {share:.0%} of it in {which} run of {len(runs):,}")


def _long_window(host: Host, one: Part) -> Iterator[Trait]:
    if length := long_window(host, one.first.event) if one.kind == "op" else 0:
        yield Trait(LONG_WINDOW, f"; its window is {length:,} long")


def _on_each(host: Host, one: Part) -> Iterator[Trait]:
    found = instruction_of(host, one.first.event) if one.kind == "op" else None
    if count := computes_the_same(found[0]) if found is not None else 0:
        yield Trait(ON_EACH_DEVICE, f"; each of {count} devices computes the same")


# Shares of all copies of a recording say nothing of a part with fewer than this share of them.
_MOST_COPIES_FRAC = 0.7
_PURPOSES, _PURPOSE_FRAC = 4, 0.05
# Ops that have no kernel for some layout of images.
_IMAGES = re.compile(r"conv|group_?norm|pool|upsample", re.IGNORECASE)


def _of_copies(host: Host, one: Part) -> Iterator[Trait]:
    """What PyTorch's copies on a device are for; nothing where it is few of all."""
    if one.kind != "op" or not one.first.on_device or not is_copy(one.first.name):
        return
    found, steps = copy_purposes(host), attribution.steps(host)
    whole = sum(found.values())
    kept = 1.0 if steps is None else float(steps.kept.mean())
    if not one.total_ps >= _MOST_COPIES_FRAC * kept * whole > 0:
        return
    told: dict[str, list[str]] = {}
    for (what, op), time in sorted(found.items(), key=lambda item: -item[1])[:_PURPOSES]:
        if time >= _PURPOSE_FRAC * whole:
            told.setdefault(what, []).append(f"{op} {time / whole:.0%}")
    for what, listed in told.items():
        said = ", ".join(listed)
        yield Trait(copies_for(what, said), f"; {what} {said}")


def copies_for(what: str, ops: str) -> str:
    """The trait of copies by what is done (``copy_purposes``) and for which ops; "" no trait."""
    if what == TYPES:
        return CHANGES_TYPES
    if what != LAYOUT:
        return ""
    return CHANGES_LAYOUTS_OF_IMAGES if _IMAGES.search(ops) else CHANGES_LAYOUTS


def _of_argument(host: Host, one: Part) -> Iterator[Trait]:
    if writer := writer_into_argument(host, one.first.event) if one.kind == "op" else "":
        yield Trait(
            COPIES_ARGUMENT, f"; of an argument of the function, to write into it ({writer})"
        )


def _of_row(host: Host, one: Part) -> Iterator[Trait]:
    is_product = one.kind == "op" and one.name in PRODUCTS
    found = row_read(host, one.first.event) if is_product else None
    if found is not None:
        at = f" ({found.at})" if found.at else ""
        words = f"; one row in {found.of:,} of the result is read{at}"
        yield Trait(ONE_ROW_READ, words, found.of, found.at)


def _of_gather(host: Host, one: Part) -> Iterator[Trait]:
    is_product = one.kind == "op" and one.name in PRODUCTS
    found = rows_gathered(host, one.first.event) if is_product else None
    if found is not None:
        name = JOINED_ROWS if found.is_joined else GATHERED_ROWS
        at = f" ({found.at})" if found.at else ""
        words = f"; of {found.taken:,} rows gathered from {found.of:,}{at}"
        yield Trait(name, words, found.taken, found.at)


def _order_of_program(host: Host, one: Part) -> ProductOrder | None:
    """That of the products which most of its work is, by the program that was recorded."""
    orders = [order for module in modules_of(host, one) if (order := dearest_order(module))]
    lines = lines_of(host, one)[:1] if orders else []
    most = next((f"{line.frame.file}:{line.frame.line}" for line in lines), "")
    return next((order for order in orders if order.at and most.endswith(order.at)), None)


# What one op of a part could do in another order says nothing of a part with little of it.
_OP_FRAC = 0.2


def _order_of_ops(host: Host, one: Part) -> ProductOrder | None:
    if one.kind != "op" or one.name not in PRODUCTS:
        return None
    events = [own.event for own in one.owners if own.total_ps >= _OP_FRAC * one.total_ps]
    of_program = next(filter(None, (product_order(host, event) for event in events)), None)
    return of_program or graph_order(host, ops_of(host, one))


def _of_order(host: Host, one: Part) -> Iterator[Trait]:
    if (found := _order_of_program(host, one) or _order_of_ops(host, one)) is not None:
        left, right, third = (_extents(each) for each in (*found.first, found.third))
        at = f" ({found.at})" if found.at else ""
        words = (
            f"; the product of {left} and {right}{at} is multiplied by {third}: in the other order "
            f"that takes {found.times:.1f} times fewer multiplications"
        )
        yield Trait(CHEAPER_ORDER, words, at=found.at)


# So many copies are worth one less; fewer may be cheaper than what puts them together.
_LEAST_COPIES: Final = 4


def _for_copies(host: Host, one: Part) -> Iterator[Trait]:
    events = [own.event for own in one.owners if own.total_ps >= _OP_FRAC * one.total_ps]
    found = [copies(host, event) for event in events if one.kind == "op"]
    count, at = max(found, key=lambda pair: pair[0], default=(1, ""))
    if count >= _LEAST_COPIES:
        where = f" ({at})" if at else ""
        words = f"; what it works on is {count:,} copies of the same{where}"
        yield Trait(FOR_COPIES, words, count, at)


def _of_few(host: Host, account: Account, one: Part) -> Iterator[Trait]:
    if one.kind == "op" and one.name not in PRODUCTS:
        return
    if (found := few_values(host, account, one)) is not None:
        what = f"of what {found.share:.0%} of it computes" if one.kind == "op" else "at its end"
        words = f"; {what}, {found.taken_by} takes one value in {found.one_in:,}"
        yield Trait(FEW_TAKEN, words, found.one_in, found.at)
    if found is not None or one.kind != "op":
        return
    events = [own.event for own in one.owners if own.total_ps >= _OP_FRAC * one.total_ps]
    read = next(filter(None, (few_read(host, event) for event in events)), None)
    if read is not None:
        words = f"; one value in {read.one_in:,} of it is read" + f" ({read.at})" * bool(read.at)
        yield Trait(FEW_TAKEN, words, read.one_in, read.at)


def _extents(dimensions: tuple[int, ...]) -> str:
    return "×".join(map(str, dimensions))


# A function that is differentiated twice runs ops of all its passes: the largest are looked at.
_LARGEST = 4


def _of_jacobian(host: Host, one: Part) -> Iterator[Trait]:
    largest = [owner.event for owner in one.owners if owner.kind == "op"][:_LARGEST]
    if any(is_jacobian(host, event) for event in largest):
        yield Trait(OF_JACOBIAN, "; a backward pass runs for each output, which makes a Jacobian")


# As TensorFlow calls them, before oneDNN takes them: "_MklMatMul", "_MklNativeConv2D".
_PLAIN_PRODUCT = re.compile(
    r"_?(?:Fused)?(?:(?:Batch)?MatMul(?:V\d)?|Conv[23]D\w*|Einsum|DepthwiseConv2dNative\w*)"
)


def _without_onednn(one: Part) -> Iterator[Trait]:
    """Whether oneDNN's kernels, which take float32 and bfloat16, run none of a part's products."""
    ops = [owner.type for owner in one.owners if owner.kind == "op" and not owner.on_device]
    is_plain = bool(ops) and all(_PLAIN_PRODUCT.fullmatch(kind) for kind in ops)
    if is_plain and one.name in PRODUCTS:
        yield Trait(NOT_ONEDNN, "; not in oneDNN's kernels")


def _of_smaller(host: Host, one: Part) -> Iterator[Trait]:
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
        yield Trait(BROADCAST, f"; {made.said()} by broadcasting")
    elif (padded := padding_of(host, operands)) is not None:
        yield Trait(PADDED, f"; {padded.said()} by padding")


_MANY: Final = 100


def _of_number(one: Part) -> Iterator[Trait]:
    count = sum(1 + owner.others for owner in one.owners if owner.kind == "op")
    if count >= _MANY:
        yield Trait(MANY_OPS, f"; {count:,} ops in all")
