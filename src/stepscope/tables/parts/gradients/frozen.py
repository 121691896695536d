"""What of a step computes gradients in compiled programs that only a sum, or nothing, reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stepscope.columns import distinct, distinct_keys, sum_by_key, union_spans
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.recorded_ops import recorded_ops
from stepscope.tables.traits.instructions import compiled_from
from stepscope.tables.traits.unread_gradients import UnreadGradients, unread_gradients


@dataclass(frozen=True, slots=True)
class FrozenGradients:
    """Gradients that change nothing.

    Attributes:
        time_ps: Of the ops that compute them, in the kept steps.
        ops: How many of the program's ops do.
        op: The one with most of it.
        place: The line that most of it is the gradient of; None unknown.
        kept: Names of the weights that are given back as they came.
    """

    time_ps: int
    ops: int
    op: str
    place: CallSite | None
    kept: tuple[str, ...]


def frozen_gradients(host: Host, found: Account) -> FrozenGradients | None:
    """None where all gradients are read, or no program of XLA's tells."""
    programs = unread_gradients(host)
    rows, code = _runs(host, programs) if programs else (np.zeros(0, np.int64),) * 2
    steps = found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    begin, length = host.space.events.start_ps[rows], host.space.length_ps[rows]
    inside = (begin + length > start[0]) & (begin < end[-1])
    rows, code, begin, length = rows[inside], code[inside], begin[inside], length[inside]
    if len(rows) == 0:
        return None
    first, group = distinct_keys(code)
    spent = sum_by_key(group, length, len(first))
    places: dict[CallSite, int] = {}
    for row, time in zip(rows[first].tolist(), spent.tolist(), strict=True):
        at = compiled_from(host, row)
        if at.function and at.line:
            place = CallSite(at.function, at.file, at.line, at.caller)
            places[place] = places.get(place, 0) + time
    longest = int(rows[first[int(np.argmax(spent))]])
    return FrozenGradients(
        time_ps=int(covered(*union_spans(begin, begin + length), start, end).sum()),
        ops=len(first),
        op=host.space.event_metadata.name[int(host.space.events.metadata[longest])],
        place=max(places, key=lambda place: places[place], default=None),
        kept=tuple(dict.fromkeys(name for one in programs for name in one.kept)),
    )


def _runs(host: Host, programs: Iterable[UnreadGradients]) -> tuple[I64, I64]:
    """Event rows of the ops that compute them, and a code for the op that each ran."""
    texts, modules = recorded_ops(host), hlo_modules(host)
    program = event_stats(host).ints(names.PROGRAM_ID).at(texts.rows, 0)
    mine = np.zeros(len(texts.rows), dtype=bool)
    ids = {id_: modules.get(id_) for id_ in distinct(program).tolist()}
    for one in programs:
        ops = {one.module.by_id[id_].name for id_ in one.ids}
        is_op = np.asarray([text.rpartition("::")[2] in ops for text in texts.texts], dtype=bool)
        of = [id_ for id_, module in ids.items() if module is one.module]
        mine |= is_op[texts.codes] & np.isin(program, of)
    return texts.rows[mine].astype(np.int64), texts.codes[mine].astype(np.int64)
