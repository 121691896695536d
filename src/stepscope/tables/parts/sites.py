"""Which lines run the ops of a part, which calls of one line do, and where these divide.

A function that a step calls twice is one line with twice the time: who calls it is what to look
at, and it may be several calls away. Ops of one name may be of several instructions, each with its
own stack of lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key
from stepscope.tables.account.owners import Owner, time_by
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import FEW, HALF_FRAC, LARGE_FRAC, OFTEN, TRACE_FRAC
from stepscope.tables.device.events import device_events
from stepscope.tables.hlo.recorded_ops import recorded_ops
from stepscope.tables.host.ops import host_ops
from stepscope.tables.parts.grouping import Part
from stepscope.tables.traits.graph_lines import graph_lines
from stepscope.tables.traits.instructions import CompiledOp, compiled_from
from stepscope.tables.traits.op_families import family_of_op, scope_of

if TYPE_CHECKING:
    from stepscope.tables.traits.inside import LineWork


class Site(NamedTuple):
    """A line of the program; "" and 0 where it is not known."""

    function: str
    file: str
    line: int


NOWHERE: Final = Site("", "", 0)


class _Run(NamedTuple):
    """A part of an owner's time, with an event of it (-1 unknown) and where it comes from."""

    event: int
    site: Site
    caller: Site
    time_ps: float


def sites_of(host: Host, part: Part) -> tuple[list[tuple[Site, float]], list[tuple[Site, float]]]:
    """Return the lines that a part's ops come from, and what calls these, with their shares.

    Where several have much of it, or one most.
    """
    runs = _runs_of(host, part)
    lines = _largest(((run.site, run.time_ps) for run in runs), part.total_ps)
    return lines, _largest(((run.caller, run.time_ps) for run in runs), part.total_ps)


def leading(host: Host, one: Part) -> int:
    """An event of what the line with most of a part runs, of its largest op where none is known."""
    runs = [run for run in _runs_of(host, one) if run.event >= 0]
    lines = _time_at((run.site, run.time_ps) for run in runs)
    most = max(lines, key=lambda site: lines[site], default=NOWHERE)
    return next(run.event for run in runs if run.site == most) if most.line else one.first.event


def _time_at(timed: Iterable[tuple[Site, float]]) -> dict[Site, float]:
    times: dict[Site, float] = {}
    for site, time in timed:
        times[site] = times.get(site, 0.0) + time
    return times


def _largest(timed: Iterable[tuple[Site, float]], total_ps: int) -> list[tuple[Site, float]]:
    """Return the largest shares, if several have much of a part together, or one has most."""
    times = _time_at(timed)
    shares = {site: time / max(total_ps, 1) for site, time in times.items() if site != NOWHERE}
    longest = sorted(shares, key=lambda site: -shares[site])[:FEW]
    shown = [site for site in longest if shares[site] >= LARGE_FRAC]
    if len(shown) < 2 or sum(shares[site] for site in shown) < HALF_FRAC:
        shown = [site for site in shown[:1] if shares[site] > HALF_FRAC]
    return [(site, shares[site]) for site in shown]


def _runs_of(host: Host, part: Part) -> list[_Run]:
    """The runs of the longest owners of a part that is an op."""
    found = []
    for owner in sorted(part.owners, key=lambda owner: -owner.total_ps)[:OFTEN]:
        if part.kind != "op" or owner.total_ps < TRACE_FRAC * part.total_ps:
            continue
        runs = _runs(host, part, owner)
        for row, share in runs:
            at = compiled_from(host, row)
            site = Site(at.function, at.file.rpartition("/")[2], at.line) if at.line else NOWHERE
            caller = at.caller.rpartition("/")[2] if at.line else ""
            found.append(_Run(row, site, _site_of(caller), share * owner.total_ps))
        if not runs and owner.is_inline and owner.line:
            site = Site(owner.function, owner.file.rpartition("/")[2], owner.line)
            found.append(_Run(-1, site, _site_of(owner.caller), owner.total_ps))
    return found


def _site_of(caller: str) -> Site:
    """The place that ``file:line function`` says."""
    place, _, function = caller.partition(" ")
    file, _, line = place.rpartition(":")
    return Site(function, file, int(line) if line.isdecimal() else 0)


def _runs(host: Host, one: Part, owner: Owner) -> list[tuple[int, float]]:
    """An event of each instruction that an owner stands for, and its share of the owner's time.

    One that stands for other ops of its family has what no other owner of the part is named after.
    """
    known = _instructions(host)
    named = known.get(owner.name)
    if named is None:
        return []
    runs = named.runs
    if owner.others:
        taken = {each.name for each in one.owners if each is not owner and not each.others}
        alike = [
            run
            for name, other in known.items()
            if name not in taken and other.family == named.family
            for run in other.runs
        ]
        runs = sorted(alike, key=lambda run: -run[1])[:OFTEN]
    whole = sum(time for _row, time in runs)
    return [(row, time / whole) for row, time in runs if whole > 0]


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
                found[said.name] = _Op((family_of_op(said), scope_of(said.name)), [])
            found[said.name].runs.append((int(rows[row]), float(time[at])))
    return found


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

    It is located by an owner, by what is known of its op, and by the lines of its program.
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
