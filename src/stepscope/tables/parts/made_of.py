"""What a part of the step is made of, in words."""

from __future__ import annotations

import re
from math import prod
from typing import Final

from stepscope.columns import pivot
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.replicated import computes_the_same
from stepscope.tables.parts.layers import scope_with_most
from stepscope.tables.parts.parts import Part
from stepscope.tables.steps import attribution
from stepscope.tables.torch.copy_purposes import copy_purposes, is_copy
from stepscope.tables.torch.outer_op import outer_op
from stepscope.tables.traits.broadcasts import LEAST_ELEMENTS, broadcasts, operands_of
from stepscope.tables.traits.copied_arguments import writer_into_argument
from stepscope.tables.traits.gradient_names import is_eager_in_jax
from stepscope.tables.traits.gradients import APART
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.long_windows import long_window
from stepscope.tables.traits.op_families import PRODUCTS, UNUSUAL
from stepscope.tables.traits.paddings import padding_of
from stepscope.tables.traits.rows_read import row_read

#: What the account says of a part of which one run has most.
AT_ONCE: Final = "in one run"


def made_of(one: Part, host: Host | None = None) -> str:
    """The largest owners of a part, with their shares of it, and whether one run has most of it."""
    total: dict[str, int] = {}
    for owner in one.owners:
        name = owner.said(brief(owner.name or owner.kind))
        total[name] = total.get(name, 0) + owner.total_ps
    pairs = "" if host is None else _broadcast(host, one)
    if one.kind == "eager":
        return _ops_of_loop(one) + pairs
    if one.kind == "function":
        return _places_of_ops(host, one) + pairs
    if one.around is not None:
        return _functions_below(one)
    if one.kind == "line":
        return _calls_of_line(one)
    if one.kind == "layer":
        return _calls_of_pass(one) if one.name == APART else _ops_of_layer(one)
    said = _listed(total, one, 3)
    if host is None:
        return said + _layer_of(one, said) + pairs
    rest = _at_once(host, one) + _window(host, one) + _devices(host, one) + _purposes(host, one)
    rest += _arguments(host, one) + _row(host, one) + _kernels(one)
    return said + _layer_of(one, said) + rest + pairs


#: Ends the words about a program that several devices run, each all of it.
ON_EACH: Final = "devices computes the same"


def _devices(host: Host, one: Part) -> str:
    found = instruction_of(host, one.first.event) if one.kind == "op" else None
    count = computes_the_same(found[0]) if found is not None else 0
    return f"; each of {count} {ON_EACH}" if count else ""


#: Begins the words about a convolution that a Fourier transform replaces.
LONG_WINDOW: Final = "; its window is "


def _window(host: Host, one: Part) -> str:
    length = long_window(host, one.first.event) if one.kind == "op" else 0
    return f"{LONG_WINDOW}{length:,} long" if length else ""


#: Words about TensorFlow's products on a CPU that no kernel of oneDNN's runs.
NOT_ONEDNN: Final = "; not in oneDNN's kernels"
# As TensorFlow calls them, before oneDNN takes them: "_MklMatMul", "_MklNativeConv2D".
_PLAIN_PRODUCT = re.compile(
    r"_?(?:Fused)?(?:(?:Batch)?MatMul(?:V\d)?|Conv[23]D\w*|Einsum|DepthwiseConv2dNative\w*)"
)


def _kernels(one: Part) -> str:
    """Whether oneDNN's kernels, which take float32 and bfloat16, run none of a part's products."""
    ops = [owner.type for owner in one.owners if owner.kind == "op" and not owner.on_device]
    is_plain = bool(ops) and all(_PLAIN_PRODUCT.fullmatch(kind) for kind in ops)
    return NOT_ONEDNN if is_plain and one.name in PRODUCTS else ""


#: Ends the words about a program whose result is read at one of many rows.
ONE_ROW: Final = "of the result is read"


def _row(host: Host, one: Part) -> str:
    is_product = one.kind == "op" and one.name in PRODUCTS
    found = row_read(host, one.first.event) if is_product else None
    if found is None:
        return ""
    return f"; one row in {found.of:,} {ONE_ROW}" + (f" ({found.at})" if found.at else "")


#: Begins the words about a copy of an argument that is written into.
OF_ARGUMENT: Final = "; of an argument of the function, to write into it ("


def _arguments(host: Host, one: Part) -> str:
    writer = writer_into_argument(host, one.first.event) if one.kind == "op" else ""
    return f"{OF_ARGUMENT}{writer})" if writer else ""


def _purposes(host: Host, one: Part) -> str:
    """What PyTorch's copies on a device are for; "" where it is none of them, or few of all."""
    if one.kind != "op" or not one.first.on_device or not is_copy(one.first.name):
        return ""
    found, steps = copy_purposes(host), attribution.steps(host)
    whole = sum(found.values())
    kept = 1.0 if steps is None else float(steps.kept.mean())
    if not one.total_ps >= _MOST_COPIES_FRAC * kept * whole > 0:
        return ""
    told: dict[str, list[str]] = {}
    for (what, op), time in sorted(found.items(), key=lambda item: -item[1])[:_PURPOSES]:
        if time >= _PURPOSE_FRAC * whole:
            told.setdefault(what, []).append(f"{op} {time / whole:.0%}")
    return "".join(f"; {what} {', '.join(listed)}" for what, listed in told.items())


# Shares of all copies of a recording say nothing of a part with fewer than this share of them.
_MOST_COPIES_FRAC = 0.7
_PURPOSES, _PURPOSE_FRAC = 4, 0.05


def _layer_of(one: Part, said: str) -> str:
    """The layer that a family's ops are in, where their names, which may be cut, do not say it."""
    scope, share = scope_with_most(one.owners) if one.kind == "op" else ("", 0.0)
    return f"; {share:.0%} in {scope}" if scope and scope not in said else ""


#: Ends what is made of how much smaller tensors, and how.
BROADCAST: Final = "by broadcasting"
PADDED: Final = "by padding"


def _broadcast(host: Host, one: Part) -> str:
    """Which op makes what a part's longest run works on of much less, and how; "" none."""
    event = next((each.event for each in one.owners if each.kind == "op"), -1)
    if one.kind not in ("op", "eager", "function") or event < 0:
        return ""
    said = dict(pivot.event_stats(host.space, event)).get(names.SHAPE)
    operands = operands_of(said) if isinstance(said, str) else []
    size = max(map(prod, operands), default=0)
    if size < LEAST_ELEMENTS:
        return ""
    if (made := broadcasts(host).get(size)) is not None:
        return f"; {made.said()} {BROADCAST}"
    padded = padding_of(host, operands)
    return f"; {padded.said()} {PADDED}" if padded is not None else ""


# One of so many runs or more has so much of the time of all: it does what the others need not.
_RUNS, _MOST_FRAC = 5, 0.5


def _at_once(host: Host, one: Part) -> str:
    """How much of a part's largest op one run has, where several ran and that is most."""
    event = one.first.event
    if one.kind not in ("op", "framework") or event < 0 or not one.total_ps:
        return ""
    share = int(host.space.length_ps[event]) / one.total_ps
    if not _MOST_FRAC <= share <= 1:
        return ""
    runs = int((host.space.events.metadata == host.space.events.metadata[event]).sum())
    return f", {share:.0%} of it {AT_ONCE} of {runs:,}" if runs >= _RUNS else ""


def _listed(times: dict[str, int], one: Part, most: int) -> str:
    """The largest of these with their shares of a part; what has next to nothing is left out."""
    longest = sorted(times.items(), key=lambda item: -item[1])[:most]
    shares = [(name, time / max(one.total_ps, 1)) for name, time in longest]
    shown = [each for each in shares if each[1] >= _SHOWN_FRAC] or shares[:1]
    return ", ".join(f"{name} {share:.0%}" for name, share in shown)


# What rounds to less is nobody's question.
_SHOWN_FRAC = 0.005
# Names of ops in models have the path of each layer; so much of the end tells them apart.
_LONG, _KEPT = 60, 3
# What compilers put into each path, of any program.
_SAYS_NOTHING = re.compile(
    r"(?:Stateful)?PartitionedCall|while|body|cond|closed_call|core_call|jvp\(\)|transpose\(jvp\(\)\)"
    r"|vmap\(\)|branch_\d+_fun|remat|checkpoint|rematted_computation|custom_[jv][jv]p_call\w*"
)


def brief(name: str) -> str:
    """A name in a sentence: of a long path, its end, without what says nothing."""
    parts = name.split("/")
    if len(name) <= _LONG or len(parts) <= _KEPT:
        return name
    telling = [one for one in parts[:-1] if not _SAYS_NOTHING.fullmatch(one)] + parts[-1:]
    short = "/".join(telling)
    return short if len(short) <= _LONG else "…/" + "/".join(telling[-_KEPT:])


# The lists of numbers in a list of lists; so many operands tell what an op works on.
_EXTENTS = re.compile(r"\[\s*(\d[\d\s,]*)\]")
_OPERANDS = 3


def shapes(host: Host, one: Part) -> str:
    """What the longest run of a part's largest op works on, as "128×512, 512×64"; "" unknown."""
    event = one.first.event
    if one.kind != "op" or event < 0:
        return ""
    said = dict(pivot.event_stats(host.space, event)).get(names.SHAPE)
    operands = _EXTENTS.findall(said) if isinstance(said, str) else []
    listed = ["×".join(operand.split(",")).replace(" ", "") for operand in operands[:_OPERANDS]]
    return ", ".join(operand for operand in listed if "×" in operand)


def through(one: Part) -> str:
    """The library's call that runs a loop's ops, such as ``copy.deepcopy``; "" where none does.

    Ops interrupt it: it falls into at least half as many stretches as they do.
    """
    if one.kind != "eager":
        return ""
    ops = sum(owner.stretches for owner in one.owners if owner.kind == "op")
    calls = [owner for owner in one.owners if owner.kind == "library" and owner.name]
    most = max(calls, key=lambda owner: owner.stretches, default=None)
    return most.name if most is not None and most.stretches >= max(ops // 2, 2) else ""


def _places_of_ops(host: Host | None, one: Part) -> str:
    """Families of a function's ops, each with the line that has most of it.

    An op that says little by itself is named with the op that runs it: "fill in aten::one_hot".
    """
    total: dict[str, dict[str, int]] = {}
    longest: dict[str, int] = {}
    for owner in one.owners:  # the largest first
        at = f" ({owner.file}:{owner.line})" if owner.line else ""
        family = owner.family if owner.kind == "op" else "hand-over"
        longest.setdefault(family, owner.event if owner.kind == "op" else -1)
        lines = total.setdefault(family, {})
        lines[at] = lines.get(at, 0) + owner.total_ps
    listed = sorted(total.items(), key=lambda item: -sum(item[1].values()))[:_FAMILIES]
    said = []
    for family, lines in listed:
        share = sum(lines.values()) / max(one.total_ps, 1)
        most = max(lines, key=lambda at: lines[at])
        said.append(f"{_in_outer(host, family, longest[family])} {share:.0%}{most}")
    return ", ".join(said)


def _functions_below(one: Part) -> str:
    """The functions below a call, each with its share, and the line that has most of it."""
    total: dict[str, dict[str, int]] = {}
    for owner in one.owners:
        lines = total.setdefault(owner.function, {})
        at = f" ({owner.file}:{owner.line})" if owner.line else ""
        lines[at] = lines.get(at, 0) + owner.total_ps
    listed = sorted(total.items(), key=lambda item: -sum(item[1].values()))[:_FUNCTIONS]
    return ", ".join(
        f"{function} {sum(lines.values()) / max(one.total_ps, 1):.0%}"
        f"{max(lines, key=lambda at: lines[at])}"
        for function, lines in listed
    )


def _in_outer(host: Host | None, family: str, event: int) -> str:
    outer = "" if host is None else outer_op(host, event)
    if family in PRODUCTS:
        return family
    return f"{family} in aten::{outer}" if outer and family not in outer else family


def _ops_of_layer(one: Part) -> str:
    """Families of a layer's ops, each with the op that has most of it."""
    total: dict[str, dict[str, int]] = {}
    for owner in one.owners:
        ops = total.setdefault(owner.family, {})
        ops[owner.name] = ops.get(owner.name, 0) + owner.total_ps
    listed = sorted(total.items(), key=lambda item: -sum(item[1].values()))[:_FAMILIES]
    said = ", ".join(
        f"{family} {sum(ops.values()) / max(one.total_ps, 1):.0%} "
        f"({brief(max(ops, key=lambda name: ops[name]))})"
        for family, ops in listed
    )
    count = sum(1 + owner.others for owner in one.owners if owner.kind == "op")
    return f"{said}; {count:,} {MANY_OPS}" if count >= _MANY_OPS else said


def _calls_of_pass(one: Part) -> str:
    """The ops that the program calls in passes without gradients, or that its functions run."""
    total: dict[str, int] = {}
    for owner in one.owners:
        outer, is_within, _ = owner.between.removeprefix("within ").partition(f", in {APART}")
        called = outer if is_within else owner.name
        total[called] = total.get(called, 0) + owner.total_ps
    return _listed(total, one, _FAMILIES)


#: Ends what a layer is made of that is so many ops.
MANY_OPS: Final = "ops in all"
_MANY_OPS: Final = 100


# A library's function that JAX compiles for itself: what a line calls, such as "_one_hot".
_COMPILED = re.compile(r"jit\(_*(\w+)\)")


def _calls_of_line(one: Part) -> str:
    """Families of a line's ops, with the functions of libraries that make them."""
    total: dict[str, int] = {}
    for owner in one.owners:
        path = owner.name.split("/")
        calls = [found[-1] for at in path[1:] if (found := _COMPILED.findall(at))]
        said = f"{owner.family} in {calls[-1]}" if calls else owner.family
        total[said] = total.get(said, 0) + owner.total_ps
    return _listed(total, one, _FAMILIES)


def launched_from(one: Part) -> str:
    """Where the program launches most of a part, with shares of it; "" where that is unknown."""
    total: dict[str, int] = {}
    for owner in one.owners:
        if owner.is_launched and owner.file:
            at = f"{owner.file}:{owner.line}" if owner.line else owner.file
            where = f"{owner.function} ({at})" if owner.function else at
            total[where] = total.get(where, 0) + owner.total_ps
    listed = sorted(total.items(), key=lambda item: -item[1])[:_SITES]
    if sum(total.values()) <= one.total_ps / 2:
        return ""
    return ", ".join(f"{where} {time / max(one.total_ps, 1):.0%}" for where, time in listed)


_FAMILIES = 4
_FUNCTIONS = 5
# So many places that launch a part are named.
_SITES = 3
# Ops by which a program only makes its numbers and shapes tensors.
_BOOKKEEPING = (
    "_EagerConst",
    "Const",
    "Shape",
    "StridedSlice",
    "Pack",
    "Identity",
    "ReadVariableOp",
)
_LISTED = 5
# Names of XLA's instructions: "wrapped_reduce-window.1", "copy". TensorFlow's ops begin with a
# capital, PyTorch's with their library's name.
_INSTRUCTION = re.compile(r"[a-z][\w-]*(?:\.\d+)*(?:\.clone)?")


def _ops_of_loop(one: Part) -> str:
    """The ops that a program runs again and again; what they are for, its rarest may tell."""
    ops = [owner for owner in one.owners if owner.kind == "op"]
    # The functions that JAX dispatches say more than the instructions of XLA's in them.
    if all(_INSTRUCTION.fullmatch(one.name) or is_eager_in_jax(one.name) for one in ops):
        ops = [owner for owner in one.owners if owner.kind == "framework" and owner.name] or ops
    listed = list(dict.fromkeys(owner.name for owner in ops))
    working = [name for name in listed if not _is_bookkeeping(name)] or listed
    telling = {owner.name for owner in ops if owner.family in UNUSUAL}
    shown = working[:_LISTED]
    return ", ".join(
        [*shown, *(name for name in working[_LISTED:] if name in telling)][: 2 * _LISTED]
    )


def _is_bookkeeping(name: str) -> bool:
    return name in _BOOKKEEPING or name.startswith("TFE_")


# NumPy's names of the types that matter here, and XLA's.
_NUMPY_TYPES = {"float64": "f64", "complex128": "c128"}


def type_of_model(one: Part, parameters: str) -> str:
    """What a model's products compute in, whose parameters are of this type of NumPy's; or ""."""
    return _NUMPY_TYPES.get(parameters, "") if one.kind == "op" and one.name in PRODUCTS else ""
