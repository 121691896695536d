"""Contents and origin of a part of the step: names, shares, lines and facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import nan
from typing import Final

import numpy as np

from stepscope.columns import pivot, union_spans
from stepscope.columns.space import F64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import Owner, time_by
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import FEW, HALF_FRAC, LINE_CHARS, SEVERAL, TRACE_FRAC
from stepscope.tables.core.time_spans import covered
from stepscope.tables.host.events import Work
from stepscope.tables.parts.grouping import Part, lines_of, scope_with_most
from stepscope.tables.parts.sites import NOWHERE, Site, sites_of
from stepscope.tables.steps.attribution import host_work
from stepscope.tables.traits.instructions import CompiledOp, compiled_from, instruction_of
from stepscope.tables.traits.op_families import PRODUCTS, UNUSUAL, is_eager_in_jax

#: Roles: what a part is made of; the layer of its ops; what a fusion mostly computes; operands of
#: its longest run; where it is launched; lines that its ops come from; their callers; lines with
#: most estimated work of a compiled program.
MADE: Final = "made-of"
LAYER: Final = "layer"
FUSED: Final = "fused"
OPERAND: Final = "operand"
LAUNCHED: Final = "launched-at"
LINE: Final = "line"
CALLER: Final = "caller"
ESTIMATED: Final = "estimated-work"
#: Several devices each compute all of it; a copy of an argument that is then written into.
ON_EACH_DEVICE: Final = "on-each-device"
COPIES_ARGUMENT: Final = "copies-argument"


@dataclass(frozen=True, slots=True)
class Share:
    """One thing that a part is made of, or one place that it comes from.

    Attributes:
        role: One of the above.
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


def shares_of(host: Host, part: Part, event: int) -> Iterator[Share]:
    """Yield what a part with this leading event is made of and where it comes from."""
    yield from made_of(part, host)
    if part.kind == "op":
        scope, frac = scope_with_most(part.owners)
        if scope:
            yield Share(LAYER, scope, frac)
        yield from _of_op(host, part)
    fused = compiled_from(host, event)
    if fused.inside and part.first.name.rpartition("/")[2] != fused.inside:
        yield Share(FUSED, fused.inside, fused.inside_frac)
    yield from (Share(OPERAND, extents) for extents in operands(host, part))
    yield from launched_at(part)
    yield from (
        Share(ESTIMATED, line.name, line.share, Site(line.frame.function, *line.frame[:2]))
        for line in lines_of(host, part)
    )
    for role, sites in zip((LINE, CALLER), sites_of(host, part), strict=True):
        yield from (Share(role, site.function, frac, site) for site, frac in sites)


# ---------------------------------------------------------------------------- names of what it is

_Key = Callable[[Owner], str]


def made_of(part: Part, host: Host | None = None) -> list[Share]:
    """Return the largest owners of a part, or groups of them, with their shares of it."""
    if part.kind == "eager":
        return _ops_of_loop(part)
    if part.kind == "function":
        return _grouped(
            part,
            lambda owner: _in_outer(host, owner) if owner.kind == "op" else "dispatch",
            lambda owner: _site(host, owner),
        )
    if part.kind == "layer":
        return _grouped(part, lambda owner: owner.family, op_of=lambda owner: brief(owner.name))
    return _grouped(part, lambda owner: owner.said(brief(owner.name or owner.kind)))[:FEW]


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
    longest = sorted(groups.items(), key=lambda item: -sum(item[1].values()))[:SEVERAL]
    shares = [
        Share(MADE, name, sum(inner.values()) / max(part.total_ps, 1),
              *max(inner, key=lambda key: inner[key]))
        for name, inner in longest
    ]  # fmt: skip
    return [share for share in shares if share.frac >= TRACE_FRAC] or shares[:1]


def _site(host: Host | None, owner: Owner) -> Site:
    """Return where an op is made, if it is compiled, else where the thread dispatches it."""
    known = CompiledOp() if host is None else compiled_from(host, owner.event)
    if known.line:
        return Site(known.function, known.file.rpartition("/")[2], known.line)
    return Site(owner.function, owner.file, owner.line)


_ATEN: Final = re.compile(r"aten(?:/|::)(\w+)")


def _in_outer(host: Host | None, owner: Owner) -> str:
    """Return a family with the outermost op that runs it: "fill in aten::one_hot"."""
    if host is None or owner.event < 0 or owner.family in PRODUCTS:
        return owner.family
    space, event = host.space, owner.event
    line = space.lines[int(space.lines_of(np.asarray([event]))[0])]
    start, rows = space.events.start_ps, np.arange(line.begin, line.end)
    end = start[rows] + space.length_ps[rows]
    holds = (start[rows] <= start[event]) & (end >= start[event] + space.length_ps[event])
    around = rows[holds & (rows != event)]
    around = around[np.argsort(-space.length_ps[around], kind="stable")]
    named = (_ATEN.match(space.event_metadata.name[at]) for at in space.events.metadata[around])
    outer = next((found[1] for found in named if found), owner.family)
    return owner.family if owner.family in outer else f"{owner.family} in aten::{outer}"


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
    times = time_by(lambda owner: owner.name, ops)
    working = [
        name for name in times if name not in _BOOKKEEPING and not name.startswith("TFE_")
    ] or list(times)
    telling = {owner.name for owner in ops if owner.family in UNUSUAL}
    shown = [*working[:SEVERAL], *(name for name in working[SEVERAL:] if name in telling)]
    whole = max(part.total_ps, 1)
    return [Share(MADE, name, times[name] / whole) for name in shown[: 2 * SEVERAL]]


# What compilers put into each path, of any program.
_SAYS_NOTHING: Final = re.compile(
    r"(?:Stateful)?PartitionedCall|while|body|cond|closed_call|core_call|jvp\(\)|transpose\(jvp\(\)\)"
    r"|vmap\(\)|branch_\d+_fun|remat|checkpoint|rematted_computation|custom_[jv][jv]p_call\w*"
)


def brief(name: str) -> str:
    """Return the telling end of a long path."""
    parts = name.split("/")
    if len(name) <= LINE_CHARS or len(parts) <= FEW:
        return name
    telling = [one for one in parts[:-1] if not _SAYS_NOTHING.fullmatch(one)] + parts[-1:]
    short = "/".join(telling)
    return short if len(short) <= LINE_CHARS else "…/" + "/".join(telling[-FEW:])


# The lists of numbers in a list of lists.
_EXTENTS: Final = re.compile(r"\[\s*(\d[\d\s,]*)\]")


def operands(host: Host, part: Part) -> list[str]:
    """Return what the longest run of a part's largest op works on: ["128×512", "512×64"]."""
    event = part.first.event
    if part.kind != "op" or event < 0:
        return []
    text = dict(pivot.event_stats(host.space, event)).get(names.SHAPE)
    found = _EXTENTS.findall(text)[:FEW] if isinstance(text, str) else []
    listed = ["×".join(operand.split(",")).replace(" ", "") for operand in found]
    return [operand for operand in listed if "×" in operand]


def launched_at(part: Part) -> list[Share]:
    """Return where the program launches most of a part; [] where that is unknown."""
    launched = (owner for owner in part.owners if owner.is_launched and owner.file)
    sites = time_by(lambda owner: Site(owner.function, owner.file, owner.line), launched)
    if sum(sites.values()) <= HALF_FRAC * part.total_ps:
        return []
    longest = sorted(sites, key=lambda site: -sites[site])[:FEW]
    return [
        Share(LAUNCHED, site.function, sites[site] / max(part.total_ps, 1), site)
        for site in longest
    ]


# ---------------------------------------------------------------------------- facts of one op

# What changes a part of its first operand, in the place of that; what stands for an argument.
_WRITES: Final = ("dynamic-update-slice", "scatter")
_SAME: Final = ("get-tuple-element", "bitcast")


def _of_op(host: Host, part: Part) -> Iterator[Share]:
    """Yield who computes the same, and the op that writes into the copy of an argument."""
    event = part.first.event
    found = instruction_of(host, event)
    if found is not None:
        from stepscope.tables.hlo.replica_groups import computes_the_same

        if devices := computes_the_same(found[0]):
            yield Share(ON_EACH_DEVICE, str(devices))
    if writer := writer_into_argument(host, event):
        yield Share(COPIES_ARGUMENT, writer)


def writer_into_argument(host: Host, event: int) -> str:
    """Return what writes into the copy of an argument that an event made; "" where it made none.

    A function of JAX's leaves its arguments as they are, and copies one before it changes a few
    rows of it, unless the caller gave it away (``donate_argnums``).
    """
    found = instruction_of(host, event)
    if found is None or found[1].opcode != "copy" or found[1].computation_id != found[0].entry_id:
        return ""
    from stepscope.tables.hlo.dataflow import reached, readers

    given = reached(*found, forward=False, through=_SAME)
    if not any(one.opcode == "parameter" for one in given):
        return ""
    return next((one.opcode for one in readers(*found) if one.opcode in _WRITES), "")


# ---------------------------------------------------------------------------- input


def below_input(host: Host, found: Account) -> F64:
    """Of each owner (row of the account) the share of its time in calls for the next batch."""
    share = np.zeros(len(found.kind))
    if found.line < 0:
        return share
    calls, line = host_work(host), host.space.lines[found.line]
    waits = calls.work == Work.INPUT_WAIT
    waits &= (calls.rows >= line.begin) & (calls.rows < line.end)
    if not waits.any():
        return share
    spans = union_spans(calls.start_ps[waits], calls.end_ps[waits])
    told = found.timeline
    length = told.end_ps - told.start_ps
    within = covered(*spans, told.start_ps, told.end_ps) / np.maximum(length, 1)
    size = len(share)
    input_ps = np.bincount(told.owner, within[told.stretch] * told.spent_ps, minlength=size)
    whole_ps = np.bincount(told.owner, told.spent_ps, minlength=size)
    np.divide(input_ps, whole_ps, out=share, where=whole_ps > 0)
    return share


def input_frac(one: Part, of_owner: F64) -> float:
    """The share of a part, from its owners' (of each of their rows of the account)."""
    within = sum(owner.total_ps * float(of_owner[list(owner.rows)].mean()) for owner in one.owners)
    return within / one.total_ps if one.total_ps else nan
