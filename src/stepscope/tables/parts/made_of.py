"""What a part of the step is made of, in words."""

from __future__ import annotations

import re
from typing import Final

from stepscope.columns import pivot
from stepscope.schema import names
from stepscope.tables.account.owners import Owner
from stepscope.tables.core.op_scopes import routine_of
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, scope_with_most
from stepscope.tables.torch.outer_op import outer_op
from stepscope.tables.traits.gradient_names import is_eager_in_jax
from stepscope.tables.traits.gradients import APART
from stepscope.tables.traits.instructions import CompiledOp, compiled_from
from stepscope.tables.traits.op_families import PRODUCTS, UNUSUAL


def made_of(one: Part, host: Host | None = None) -> str:
    """The largest owners of a part, with their shares of it."""
    total: dict[str, int] = {}
    for owner in one.owners:
        name = owner.said(brief(owner.name or owner.kind))
        total[name] = total.get(name, 0) + owner.total_ps
    if one.kind == "eager":
        return _ops_of_loop(one)
    if one.kind == "function":
        return _places_of_ops(host, one)
    if one.around is not None:
        return _functions_below(one)
    if one.kind == "line":
        return _calls_of_line(one)
    if one.kind == "layer":
        return _calls_of_pass(one) if one.name == APART else _ops_of_layer(one)
    said = _listed(total, one, 3)
    return said + _layer_of(one, said)


# An item of such a list: a name, its share in per cent, and the place or op with most of it.
_ITEM: Final = re.compile(r"(?:^|, )([^;]*?) (\d+)%(?: \([^;()]*\))?(?=, |$)")


def shares_of(text: str) -> list[tuple[str, int]]:
    """The names in what ``made_of`` says, each with its share of the part in per cent."""
    return [(name, int(share)) for name, share in _ITEM.findall(text.partition(";")[0])]


def _layer_of(one: Part, said: str) -> str:
    """The layer that a family's ops are in, where their names, which may be cut, do not say it."""
    scope, share = scope_with_most(one.owners) if one.kind == "op" else ("", 0.0)
    return f"; {share:.0%} in {scope}" if scope and scope not in said else ""


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
        at = _made_at(host, owner)
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


def _made_at(host: Host | None, owner: Owner) -> str:
    """Where an op is made, of a compiled one, else where the thread hands it over; "" unknown."""
    known = CompiledOp() if host is None else compiled_from(host, owner.event)
    if known.line:
        return f" ({known.file.rpartition('/')[2]}:{known.line})"
    return f" ({owner.file}:{owner.line})" if owner.line else ""


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
    return ", ".join(
        f"{family} {sum(ops.values()) / max(one.total_ps, 1):.0%} "
        f"({brief(max(ops, key=lambda name: ops[name]))})"
        for family, ops in listed
    )


def _calls_of_pass(one: Part) -> str:
    """The ops that the program calls in passes without gradients, or that its functions run."""
    total: dict[str, int] = {}
    for owner in one.owners:
        outer, is_within, _ = owner.between.removeprefix("within ").partition(f", in {APART}")
        called = outer if is_within else owner.name
        total[called] = total.get(called, 0) + owner.total_ps
    return _listed(total, one, _FAMILIES)


# A library's function that JAX compiles for itself: what a line calls, such as "_one_hot".
_COMPILED = re.compile(r"jit\(_{0,8}(\w{1,200})\)")


def _calls_of_line(one: Part) -> str:
    """Families of a line's ops, with the functions of libraries that make them."""
    total: dict[str, int] = {}
    for owner in one.owners:
        path = owner.name.split("/")
        calls = [found[-1] for at in path[1:] if (found := _COMPILED.findall(at))]
        # A function of a matrix is made of many, with names of their own.
        inner = routine_of(owner.name) or (calls[-1] if calls else "")
        said = f"{owner.family} in {inner}" if inner else owner.family
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
