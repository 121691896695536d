"""What a part of the step is made of, and where it comes from: names, shares and lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import nan
from typing import Final

from stepscope.columns import pivot
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import Owner
from stepscope.tables.core.op_scopes import routine_of
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, lines_of, scope_with_most
from stepscope.tables.parts.sites import NOWHERE, Site, callers_of, divided_calls, sites_of
from stepscope.tables.torch.outer_op import outer_op
from stepscope.tables.traits.gradient_names import is_eager_in_jax
from stepscope.tables.traits.gradients import APART
from stepscope.tables.traits.instructions import CompiledOp, compiled_from
from stepscope.tables.traits.op_families import PRODUCTS, UNUSUAL

#: Roles: what a part is made of; the layer of its ops; what a fusion mostly computes; operands of
#: its longest run; where it is launched; lines that its ops come from; their callers; calls of one
#: function between which it divides; lines with most estimated work of a compiled program.
MADE: Final = "made-of"
LAYER: Final = "layer"
FUSED: Final = "fused"
OPERAND: Final = "operand"
LAUNCHED: Final = "launched-at"
LINE: Final = "line"
CALLER: Final = "caller"
DIVIDED: Final = "divided-at"
ESTIMATED: Final = "estimated-work"

# As many of a kind are listed, each with this share or more; lines have much of a part.
_LISTED, _FEW = 5, 3
_SHOWN_FRAC, _HALF = 0.005, 0.5


@dataclass(frozen=True, slots=True)
class Share:
    """One thing that a part is made of, or one place that it comes from.

    Attributes:
        role: One of the above, or a trait (``part_traits``).
        name: A function, a library's call, a family of ops, an op, or extents.
        frac: Its share of the part; NaN where it has none.
        site: The line with most of it, or the line itself.
        op: The op with most of it; "" where the name is one.
    """

    role: str
    name: str
    frac: float = nan
    site: Site = NOWHERE
    op: str = ""


def shares_of(host: Host, account: Account, part: Part, event: int) -> Iterator[Share]:
    """Yield what a part is made of and where it comes from.

    Args:
        host: The host of the account.
        account: The account.
        part: One of its parts.
        event: The part's leading event (``sites.leading``).
    """
    yield from made_of(part, host)
    if part.kind == "op" and part.around is None:
        scope, frac = scope_with_most(part.owners)
        if scope:
            yield Share(LAYER, scope, frac)
    fused = compiled_from(host, event)
    if fused.inside and part.first.name.rpartition("/")[2] != fused.inside:
        yield Share(FUSED, fused.inside, fused.inside_frac)
    yield from (Share(OPERAND, extents) for extents in operands(host, part))
    yield from launched_at(part)
    yield from (
        Share(ESTIMATED, line.name, line.share, Site(line.frame.function, *line.frame[:2]))
        for line in lines_of(host, part)
    )
    for role, sites in (
        (LINE, sites_of(host, part)),
        (CALLER, callers_of(host, part)),
        (DIVIDED, divided_calls(host, account, part)),
    ):
        yield from (Share(role, name, frac, site) for site, name, frac in sites)


# ---------------------------------------------------------------------------- names of what it is

_Key = Callable[[Owner], str]


def made_of(part: Part, host: Host | None = None) -> list[Share]:
    """Return the largest owners of a part, or groups of them, with their shares of it."""
    if part.kind == "eager":
        return _ops_of_loop(part)
    if part.kind == "function":
        return _grouped(
            part, lambda owner: _in_outer(host, owner), lambda owner: _site(host, owner)
        )
    if part.around is not None:
        return _grouped(part, lambda owner: owner.function, lambda owner: _site(None, owner))
    if part.kind == "line":
        return _grouped(part, _call_in_line)
    if part.kind == "layer" and part.name == APART:
        return _grouped(part, _call_of_pass)
    if part.kind == "layer":
        return _grouped(part, lambda owner: owner.family, op_of=lambda owner: brief(owner.name))
    return _grouped(part, lambda owner: owner.said(brief(owner.name or owner.kind)))[:_FEW]


def _grouped(
    part: Part,
    name_of: _Key,
    site_of: Callable[[Owner], Site] = lambda _owner: NOWHERE,
    op_of: _Key = lambda _owner: "",
) -> list[Share]:
    """Return the largest groups of owners with one name, each with its longest line or op."""
    groups: dict[str, dict[tuple[Site, str], int]] = {}
    for owner in part.owners:
        inner = groups.setdefault(name_of(owner), {})
        key = site_of(owner), op_of(owner)
        inner[key] = inner.get(key, 0) + owner.total_ps
    longest = sorted(groups.items(), key=lambda item: -sum(item[1].values()))[:_LISTED]
    shares = [
        Share(MADE, name, sum(inner.values()) / max(part.total_ps, 1),
              *max(inner, key=lambda key: inner[key]))
        for name, inner in longest
    ]  # fmt: skip
    return [share for share in shares if share.frac >= _SHOWN_FRAC] or shares[:1]


def _site(host: Host | None, owner: Owner) -> Site:
    """Return where an op is made, if it is compiled, else where the thread dispatches it."""
    known = CompiledOp() if host is None else compiled_from(host, owner.event)
    if known.line:
        return Site(known.function, known.file.rpartition("/")[2], known.line)
    return Site(owner.function, owner.file, owner.line)


def _in_outer(host: Host | None, owner: Owner) -> str:
    """Return a family with the op that runs it: "fill in aten::one_hot"."""
    if owner.kind != "op":
        return "dispatch"
    outer = "" if host is None or owner.family in PRODUCTS else outer_op(host, owner.event)
    is_new = bool(outer) and owner.family not in outer
    return f"{owner.family} in aten::{outer}" if is_new else owner.family


# A library's function that JAX compiles for itself: what a line calls, such as "_one_hot".
_COMPILED: Final = re.compile(r"jit\(_{0,8}(\w{1,200})\)")


def _call_in_line(owner: Owner) -> str:
    """Return a family with the library's function that makes it."""
    path = owner.name.split("/")
    calls = [found[-1] for at in path[1:] if (found := _COMPILED.findall(at))]
    # A function of a matrix is made of many, with names of their own.
    inner = routine_of(owner.name) or (calls[-1] if calls else "")
    return f"{owner.family} in {inner}" if inner else owner.family


def _call_of_pass(owner: Owner) -> str:
    """Return the op that the program calls in a pass, or the function that runs it."""
    outer, is_within, _ = owner.between.removeprefix("within ").partition(f", in {APART}")
    return outer if is_within else owner.name


# Ops by which a program only makes its numbers and shapes tensors.
_BOOKKEEPING: Final = frozenset(
    ("_EagerConst", "Const", "Shape", "StridedSlice", "Pack", "Identity", "ReadVariableOp")
)
# Names of XLA's instructions: "wrapped_reduce-window.1", "copy". TensorFlow's ops begin with a
# capital, PyTorch's with their library's name.
_INSTRUCTION: Final = re.compile(r"[a-z][\w-]*(?:\.\d+)*(?:\.clone)?")


def _ops_of_loop(part: Part) -> list[Share]:
    """Return the ops that a program runs again and again, with the rarest that tell what for."""
    ops = [owner for owner in part.owners if owner.kind == "op"]
    # The functions that JAX dispatches say more than the instructions of XLA's in them.
    if all(_INSTRUCTION.fullmatch(one.name) or is_eager_in_jax(one.name) for one in ops):
        ops = [owner for owner in part.owners if owner.kind == "framework" and owner.name] or ops
    times: dict[str, int] = {}
    for owner in ops:
        times[owner.name] = times.get(owner.name, 0) + owner.total_ps
    working = [
        name for name in times if name not in _BOOKKEEPING and not name.startswith("TFE_")
    ] or list(times)
    telling = {owner.name for owner in ops if owner.family in UNUSUAL}
    shown = [*working[:_LISTED], *(name for name in working[_LISTED:] if name in telling)]
    whole = max(part.total_ps, 1)
    return [Share(MADE, name, times[name] / whole) for name in shown[: 2 * _LISTED]]


# Names of ops in models have the path of each layer; so much of the end tells them apart.
_LONG, _KEPT = 60, 3
# What compilers put into each path, of any program.
_SAYS_NOTHING: Final = re.compile(
    r"(?:Stateful)?PartitionedCall|while|body|cond|closed_call|core_call|jvp\(\)|transpose\(jvp\(\)\)"
    r"|vmap\(\)|branch_\d+_fun|remat|checkpoint|rematted_computation|custom_[jv][jv]p_call\w*"
)


def brief(name: str) -> str:
    """Return the telling end of a long path."""
    parts = name.split("/")
    if len(name) <= _LONG or len(parts) <= _KEPT:
        return name
    telling = [one for one in parts[:-1] if not _SAYS_NOTHING.fullmatch(one)] + parts[-1:]
    short = "/".join(telling)
    return short if len(short) <= _LONG else "…/" + "/".join(telling[-_KEPT:])


# The lists of numbers in a list of lists.
_EXTENTS: Final = re.compile(r"\[\s*(\d[\d\s,]*)\]")


def operands(host: Host, part: Part) -> list[str]:
    """Return what the longest run of a part's largest op works on: ["128×512", "512×64"]."""
    event = part.first.event
    if part.kind != "op" or event < 0:
        return []
    text = dict(pivot.event_stats(host.space, event)).get(names.SHAPE)
    found = _EXTENTS.findall(text)[:_FEW] if isinstance(text, str) else []
    listed = ["×".join(operand.split(",")).replace(" ", "") for operand in found]
    return [operand for operand in listed if "×" in operand]


def through(part: Part) -> str:
    """Return the library's call that runs a loop's ops, such as ``copy.deepcopy``; "" for none.

    Ops interrupt it: it falls into at least half as many stretches as they do.
    """
    if part.kind != "eager":
        return ""
    ops = sum(owner.stretches for owner in part.owners if owner.kind == "op")
    calls = [owner for owner in part.owners if owner.kind == "library" and owner.name]
    most = max(calls, key=lambda owner: owner.stretches, default=None)
    return most.name if most is not None and most.stretches >= max(ops // 2, 2) else ""


def launched_at(part: Part) -> list[Share]:
    """Return where the program launches most of a part; [] where that is unknown."""
    sites: dict[Site, int] = {}
    for owner in part.owners:
        if owner.is_launched and owner.file:
            site = Site(owner.function, owner.file, owner.line)
            sites[site] = sites.get(site, 0) + owner.total_ps
    if sum(sites.values()) <= _HALF * part.total_ps:
        return []
    longest = sorted(sites, key=lambda site: -sites[site])[:_FEW]
    return [
        Share(LAUNCHED, site.function, sites[site] / max(part.total_ps, 1), site)
        for site in longest
    ]


# NumPy's names of the types that matter here, and XLA's.
_NUMPY_TYPES: Final = {"float64": "f64", "complex128": "c128"}


def type_of_model(part: Part, parameters: str) -> str:
    """Return the type that a model's products compute in, by its parameters' type; "" unknown."""
    is_product = part.kind == "op" and part.name in PRODUCTS
    return _NUMPY_TYPES.get(parameters, "") if is_product else ""
