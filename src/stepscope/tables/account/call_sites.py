"""Which lines run the ops of a part, and which calls of one line do.

A function that a step calls twice is one line with twice the time: who calls it is what to look
at. Ops of one name may be of several instructions, each with its own stack of lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key
from stepscope.schema import names
from stepscope.tables.account.instructions import CompiledOp, compiled_from
from stepscope.tables.account.owners import Owner
from stepscope.tables.account.parts import Part
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import device_events
from stepscope.tables.host.ops import host_ops

# So many of a part's owners are looked at, the longest first, and so many sites are named.
_OWNERS: Final = 40
_SITES: Final = 3
# A site is worth naming beside others from this share on, if together they have this much.
_SITE_FRAC: Final = 0.2
_KNOWN_FRAC: Final = 0.6
# A line has most of a part with more than the one, nearly all with the other.
_MOST_FRAC, _ALL_FRAC = 0.5, 0.9
# Owners with less of a part change none of that.
_LEAST_FRAC: Final = 0.005


def sites_of(host: Host, one: Part) -> tuple[str, str]:
    """The lines that a part's ops come from, and the one that most of it comes from.

    The first lists several lines, or the calls of the one line, with their shares; "" where one has
    nearly all, or too little is known: then the part's own place says it. The second is such as
    "64% of it in forward (model.py:44)"; "" where no line has most of it.
    """
    if one.kind != "op":
        return "", ""
    lines: dict[str, float] = {}
    callers: dict[str, float] = {}
    for owner in sorted(one.owners, key=lambda owner: -owner.total_ps)[:_OWNERS]:
        if owner.total_ps < _LEAST_FRAC * one.total_ps:
            break
        for line, caller, share in _of_owner(host, owner):
            lines[line] = lines.get(line, 0.0) + share * owner.total_ps
            callers[caller] = callers.get(caller, 0.0) + share * owner.total_ps
    said = _said("at", lines, one.total_ps) or _said("called from", callers, one.total_ps)
    return said, _most_at(lines, one.total_ps)


def _most_at(times: dict[str, float], total_ps: int) -> str:
    line = max(times, key=lambda name: times[name], default="")
    share = times[line] / total_ps if line else 0.0
    if share <= _MOST_FRAC:
        return ""
    place, _, function = line.partition(" ")
    where = f"in {function} ({place})" if function else f"at {place}"
    return where if share >= _ALL_FRAC else f"{share:.0%} of it {where}"


def _said(how: str, times: dict[str, float], total_ps: int) -> str:
    shares = {name: time / total_ps for name, time in times.items() if name}
    longest = sorted(shares, key=lambda name: -shares[name])[:_SITES]
    shown = [name for name in longest if shares[name] >= _SITE_FRAC]
    if len(shown) < 2 or sum(shares[name] for name in shown) < _KNOWN_FRAC:
        return ""
    return f"; {how} " + ", ".join(f"{name} {shares[name]:.0%}" for name in shown)


def _of_owner(host: Host, owner: Owner) -> Iterator[tuple[str, str, float]]:
    """Line, caller and share of what an owner stands for; nothing of ops that it only adds up."""
    if owner.others:
        return
    runs = _instructions(host).get(owner.name, ())
    for row, share in runs:
        known = compiled_from(host, row)
        if known.line:
            yield _line(known.file, known.line, known.function), _brief(known), share
    if not runs and owner.is_inline and owner.line:
        yield _line(owner.file, owner.line, owner.function), owner.caller, 1.0


def _line(file: str, line: int, function: str) -> str:
    return f"{file.rpartition('/')[2]}:{line} {function}".rstrip()


def _brief(known: CompiledOp) -> str:
    return known.caller.rpartition("/")[2]


@derived
def _instructions(host: Host) -> dict[str, list[tuple[int, float]]]:
    """Of each op of a compiled program: its instructions, by an event of each, and their shares."""
    devices = device_events(host)
    if len(devices):
        rows, op, spent, ops = devices.rows, devices.op, devices.self_ps, devices.ops
    else:
        of_host = host_ops(host)
        rows, op, spent, ops = of_host.rows, of_host.op, of_host.self_ps, of_host.ops
    texts = event_stats(host).texts(names.HLO_OP)
    text = texts.at(rows).astype(np.int64)
    of_program = text >= 0
    rows, op, spent = rows[of_program], op[of_program], spent[of_program]
    first, code = distinct_keys(op.astype(np.int64) * len(texts.texts) + text[of_program])
    time = sum_by_key(code, spent, len(first)).astype(np.float64)
    of_op = np.bincount(op[first], weights=time, minlength=len(ops))
    found: dict[str, list[tuple[int, float]]] = {}
    for at, row in enumerate(first.tolist()):
        which = int(op[row])
        if of_op[which] > 0:
            share = float(time[at] / of_op[which])
            found.setdefault(ops[which].name, []).append((int(rows[row]), share))
    return found
