"""Which lines run the ops of a part, which calls of one line do, and where these divide.

A function that a step calls twice is one line with twice the time: who calls it is what to look
at, and it may be several calls away. Ops of one name may be of several instructions, each with its
own stack of lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key
from stepscope.tables.account.owners import Owner, time_by
from stepscope.tables.core.op_name import OpName
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import FEW, HALF_FRAC, LARGE_FRAC, OFTEN, TRACE_FRAC
from stepscope.tables.device.events import device_events
from stepscope.tables.hlo.recorded_ops import recorded_ops
from stepscope.tables.host.ops import host_ops
from stepscope.tables.parts.grouping import Part
from stepscope.tables.traits.gradient_names import apart_from_gradients
from stepscope.tables.traits.graph_lines import graph_lines
from stepscope.tables.traits.inside import LineWork
from stepscope.tables.traits.instructions import CompiledOp, compiled_from
from stepscope.tables.traits.op_families import family_of, scope_of


class Site(NamedTuple):
    """A line of the program; "" and 0 where it is not known."""

    function: str
    file: str
    line: int


NOWHERE: Final = Site("", "", 0)
#: A line, what is called there, and its share of a part.
Sites = list[tuple[Site, str, float]]


def sites_of(host: Host, part: Part) -> Sites:
    """Return the lines that a part's ops come from, where several have much of it, or one most."""
    times: dict[Site, float] = {}
    for owner in _longest(part) if part.kind == "op" else ():
        for site, _caller, share in _of_owner(host, part, owner):
            times[site] = times.get(site, 0.0) + share * owner.total_ps
    return [(site, site.function, share) for site, share in _largest(times, part.total_ps)]


def callers_of(host: Host, part: Part) -> Sites:
    """Return what calls these lines, in the same way."""
    times: dict[str, float] = {}
    for owner in _longest(part) if part.kind == "op" else ():
        for _site, caller, share in _of_owner(host, part, owner):
            if caller:
                times[caller] = times.get(caller, 0.0) + share * owner.total_ps
    found: Sites = []
    for caller, share in _largest(times, part.total_ps):
        place, _, function = caller.partition(" ")
        file, _, line = place.rpartition(":")
        number = int(line) if line.isdecimal() else 0
        found.append((Site(function, file, number), function, share))
    return found


_Key = TypeVar("_Key", Site, str)


def _largest(times: Mapping[_Key, float], total_ps: int) -> list[tuple[_Key, float]]:
    """Return the largest shares, if several have much of a part together, or one has most."""
    shares = {key: time / max(total_ps, 1) for key, time in times.items()}
    longest = sorted(shares, key=lambda key: -shares[key])[:FEW]
    shown = [key for key in longest if shares[key] >= LARGE_FRAC]
    if len(shown) < 2 or sum(shares[key] for key in shown) < HALF_FRAC:
        shown = [key for key in shown[:1] if shares[key] > HALF_FRAC]
    return [(key, shares[key]) for key in shown]


def leading(host: Host, one: Part) -> int:
    """An event of what the line with most of a part runs, of its largest op where none is known."""
    lines: dict[tuple[str, int], float] = {}
    first: dict[tuple[str, int], int] = {}
    for owner in _longest(one) if one.kind == "op" else ():
        for row, share in _runs(host, one, owner):
            known = compiled_from(host, row)
            at = known.file, known.line
            lines[at] = lines.get(at, 0.0) + share * owner.total_ps
            first.setdefault(at, row)
    most = max(lines, key=lambda at: lines[at], default=("", 0))
    return first[most] if most[1] else one.first.event


def _longest(one: Part) -> Iterator[Owner]:
    for owner in sorted(one.owners, key=lambda owner: -owner.total_ps)[:OFTEN]:
        if owner.total_ps >= TRACE_FRAC * one.total_ps:
            yield owner


def _of_owner(host: Host, part: Part, owner: Owner) -> Iterator[tuple[Site, str, float]]:
    """Yield line, caller and share of what an owner stands for."""
    runs = _runs(host, part, owner)
    for row, share in runs:
        known = compiled_from(host, row)
        if known.line:
            file = known.file.rpartition("/")[2]
            yield Site(known.function, file, known.line), known.caller.rpartition("/")[2], share
    if not runs and owner.is_inline and owner.line:
        yield Site(owner.function, owner.file.rpartition("/")[2], owner.line), owner.caller, 1.0


def _runs(host: Host, one: Part, owner: Owner) -> list[tuple[int, float]]:
    """An event of each instruction that an owner stands for, and its share of the owner's time.

    One that stands for other ops of its family has what no other owner of the part is named after;
    none of them has a gradient if it has none (``account.compute`` joins no others).
    """
    known = _instructions(host)
    named = known.get(owner.name)
    if named is None:
        return []
    runs = named.runs
    if owner.others:
        taken = {each.name for each in one.owners if each is not owner and not each.others}
        apart = _apart(host)
        alike = [
            run
            for name, other in known.items()
            if name not in taken and other.family == named.family
            if (name in apart) == (owner.name in apart)
            for run in other.runs
        ]
        runs = sorted(alike, key=lambda run: -run[1])[:OFTEN]
    whole = sum(time for _row, time in runs)
    return [(row, time / whole) for row, time in runs if whole > 0]


@derived
def _apart(host: Host) -> frozenset[str]:
    """Those of the ops that no gradient goes through."""
    return apart_from_gradients(host, _instructions(host))


class _Op(NamedTuple):
    """An op of a compiled program.

    Attributes:
        family: Its family, and the loop or other scope that it is in.
        runs: An event of each of its instructions, and how long that ran in all.
    """

    family: tuple[str, str]
    runs: list[tuple[int, float]]


@derived
def _instructions(host: Host) -> dict[str, _Op]:
    """The ops of compiled programs, and of graphs whose lines were noted, by name."""
    devices = device_events(host)
    if len(devices):
        rows, op, spent, ops = devices.rows, devices.op, devices.self_ps, devices.ops
    else:
        of_host = host_ops(host)
        rows, op, spent, ops = of_host.rows, of_host.op, of_host.self_ps, of_host.ops
    texts = recorded_ops(host)
    text = texts.at(rows).astype(np.int64)  # -1 of an op without a program
    placed = (text >= 0) | (graph_lines(host) is not None)
    rows, op, spent = rows[placed], op[placed], spent[placed]
    first, code = distinct_keys(op.astype(np.int64) * (len(texts.texts) + 1) + 1 + text[placed])
    time = sum_by_key(code, spent, len(first)).astype(np.float64)
    found: dict[str, _Op] = {}
    for at, row in enumerate(first.tolist()):
        if time[at] > 0:
            said = ops[int(op[row])]
            if said.name not in found:
                found[said.name] = _Op((_family(said), scope_of(said.name)), [])
            found[said.name].runs.append((int(rows[row]), float(time[at])))
    return found


def _family(op: OpName) -> str:
    return family_of(op.type if op.type not in ("", "Unknown") else op.name)


def located(one: Part, *, is_launched: bool) -> Owner:
    """The largest owner with a place; the loop's, unless most of the part was launched.

    Of a loop around ops it is the largest of those at the line that has most of it: what one line
    runs may be many ops, each with less than the one that ends the loop.
    """
    mine = [each for each in one.owners if each.is_launched == is_launched] or one.owners
    placed = [each for each in mine if each.file]
    if one.kind == "eager" and placed:
        lines = time_by(lambda each: (each.file, each.line), placed)
        most = max(lines, key=lambda at: lines[at])
        placed = [each for each in placed if (each.file, each.line) == most]
    return placed[0] if placed else mine[0]


def place_of(
    one: Part, owner: Owner, known: CompiledOp, lines: list[LineWork]
) -> tuple[tuple[str, str, int], str]:
    """Function, file and line that a part is in, and ``file:line function`` that calls it.

    Args:
        one: The part.
        owner: The one it is located by.
        known: What the recording says of its op.
        lines: Where the work of its compiled function comes from, the largest first.
    """
    if one.kind == "function" and (whole := one.first.under) is not None:
        return (whole.function, whole.file, whole.line), whole.caller
    if lines and (one.kind == "program" or not owner.file):
        return (lines[0].frame.function, lines[0].frame.file, lines[0].frame.line), lines[0].caller
    if one.kind == "program":  # where the thread waits meanwhile is not where it comes from
        return ("", "", 0), ""
    caller = known.caller if known.function else owner.caller
    if known.line and one.kind not in ("python", "library"):
        return (known.function or owner.function, known.file, known.line), caller
    return (owner.function, owner.file, owner.line), caller


def within_of(part: Part) -> str:
    """Return the range and the ops that most of a part lies in; "" where there are none."""
    total = time_by(lambda owner: owner.within, part.owners)
    most = max(total, key=lambda name: total[name], default="")
    return most if total.get(most, 0) > HALF_FRAC * part.total_ps else ""
