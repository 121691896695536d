"""Which op of the program each kernel of a command buffer is of.

XLA puts many ops into one command buffer, a CUDA graph, and recorders name that in place of the
op: "command_buffer_26 takes 84 %" says nothing. Kernels that XLA wrote itself bear the name of
their fusion. What libraries run (products, convolutions, sorts) and what copies lies between two
of those, in the program's order as on the device: where as many ops lie there as kernels, or one
alone, they are the same.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import StatTexts, event_stats
from stepscope.tables.hlo.module import Computation, HloModule, Instruction
from stepscope.tables.hlo.modules import hlo_modules

_COPIES: Final = re.compile(r"^mem_?cpy", re.IGNORECASE)
_FILLS: Final = re.compile(r"^mem_?set", re.IGNORECASE)
# Instructions that run no kernel, and those that copy; what libraries run are custom calls.
_RUN_NOTHING: Final = frozenset(
    [
        "parameter",
        "constant",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "after-all",
        "async-done",
        "copy-done",
        "partition-id",
        "replica-id",
        "while",
        "call",
        "conditional",
    ]
)
_COPYING: Final = frozenset({"copy", "copy-start", "async-start"})
_CALLING: Final = frozenset({"while", "call", "conditional"})
_LIBRARY: Final = frozenset({"custom-call", "sort", "fft", "cholesky", "triangular-solve"})
# Loops in loops beyond this depth are damage; of more pairs of fusions alike none is looked at.
_DEEPEST, _MOST_ALIKE = 64, 1 << 18
# What a kernel is, where its name is not that of an instruction.
_OF_LIBRARY, _COPY, _FILL = -1, -2, -3
_NOWHERE: Final = np.zeros(0, dtype=np.int64)


def ops_of_kernels(host: Host, texts: StatTexts, inside: Bool) -> StatTexts:
    """The recorded ops with those of kernels in place of their command buffers.

    Args:
        host: Whose.
        texts: The recorded ops.
        inside: Whether each is a command buffer; it stays where the kernel's op is not known.
    """
    places = {text: at for at, text in enumerate(texts.texts)}
    codes = texts.codes.astype(np.int64)
    program = event_stats(host).ints(names.PROGRAM_ID).at(texts.rows, 0)
    for id_ in np.unique(program[inside]).tolist():
        module = hlo_modules(host).get(int(id_) & _UINT64)
        if module is None:
            continue
        own = np.flatnonzero(program == id_)
        start, line = (
            host.space.events.start_ps[texts.rows[own]],
            host.space.lines_of(texts.rows[own]),
        )
        own = own[np.lexsort((start, line))]
        kernels = _Kernels(host, texts, own, inside[own])
        found = _resolved(kernels, _Order(module, kernels.names), places)
        codes[own] = np.where(found >= 0, found, codes[own])
    return StatTexts(texts.rows, codes.astype(np.int32), list(places))


_UINT64: Final = 0xFFFF_FFFF_FFFF_FFFF


class _Order:
    """Instructions that run kernels in the order of the program, bodies of loops once.

    Attributes:
        flat: The instructions; a place is an index into them.
        named: Places of the instructions that a kernel's name may stand for, ascending.
        filling: Places that a kernel without a telling name may be of, by what it is.
    """

    def __init__(self, module: HloModule, kernels: frozenset[str]) -> None:
        self._module = module
        self.flat: list[Instruction] = []
        self._span: dict[int, tuple[int, int]] = {}
        if module.entry is not None:
            self._add(module.entry)
        self._spans: I64 = np.asarray([*self._span.values()], dtype=np.int64).reshape(-1, 2).T
        self.named = self._named(kernels)
        self.filling = {
            _COPY: _Filling(self.flat, _COPYING),
            _OF_LIBRARY: _Filling(self.flat, _LIBRARY),
        }

    def _add(self, one: Computation, depth: int = 0) -> None:
        """Depth first; a computation that is called again keeps its first place."""
        begin = len(self.flat)
        self._span[one.id] = (begin, begin)
        for each in self._module.in_order(one):
            if each.opcode in _CALLING:
                for called in self._module.called(each):
                    if called.id not in self._span and depth < _DEEPEST:
                        self._add(called, depth + 1)
            elif each.opcode not in _RUN_NOTHING:
                self.flat.append(each)
        self._span[one.id] = (begin, len(self.flat))

    def _named(self, kernels: frozenset[str]) -> dict[str, I64]:
        """Of fusions that do the same XLA compiles one, which has the name of any of them.

        Besides its own one, a kernel may be of those alike that no kernel is named after.
        """
        group = [_same(one) for one in self.flat]
        without: dict[_Same, list[int]] = {}
        with_one: dict[_Same, int] = {}
        for at, one in enumerate(self.flat):
            if one.opcode == "fusion" and _sanitized(one.name) not in kernels:
                without.setdefault(group[at], []).append(at)
            else:
                with_one[group[at]] = with_one.get(group[at], 0) + 1
        found: dict[str, I64] = {}
        for at, one in enumerate(self.flat):
            others = without.get(group[at], []) if _sanitized(one.name) in kernels else []
            if len(others) * with_one.get(group[at], 0) > _MOST_ALIKE:
                others = []
            found[_sanitized(one.name)] = np.asarray(sorted([at, *others]), dtype=np.int64)
        return found

    def place(self, name: str, nth: int, neighbours: tuple[str, str]) -> int:
        """Where the instruction is that a kernel is of; -1 unknown.

        Args:
            name: Its own.
            nth: Which of that name it is, where there are as many in its buffer as places; else -1.
            neighbours: The names before and after it.
        """
        places = self.named.get(name, _NOWHERE)
        if len(places) < 2:
            return int(places[0]) if len(places) else -1
        if nth >= 0:
            return int(places[nth])
        earlier, later = (self.named.get(one, _NOWHERE) for one in neighbours)
        last = np.append(earlier, -len(self.flat))[np.searchsorted(earlier, places) - 1]
        beyond = np.append(later, len(self.flat))
        following = beyond[np.searchsorted(later, places, side="right")]
        return int(places[np.argmin(following - last)])

    def between(self, before: int, after: int) -> list[tuple[int, int]]:
        """Ranges of the places between two."""
        if before < after:
            return [(before + 1, after)]
        # A loop, or the program, runs again: from its end on at its begin.
        begin, end = self._loop(before, after)
        return [(before + 1, end), (begin, after)]

    def _loop(self, a: int, b: int) -> tuple[int, int]:
        """The smallest computation with both."""
        begin, end = self._spans
        around = np.flatnonzero((begin <= min(a, b)) & (max(a, b) < end))
        if not len(around):
            return 0, len(self.flat)
        one = around[np.argmin((end - begin)[around])]
        return int(begin[one]), int(end[one])


class _Filling:
    """Where instructions of some opcodes are, ascending.

    Attributes:
        places: Theirs.
    """

    def __init__(self, flat: list[Instruction], opcodes: frozenset[str]) -> None:
        self.places = [at for at, one in enumerate(flat) if one.opcode in opcodes]
        self._op = [flat[at].op_name for at in self.places]
        # Of each the first behind it that is of another op.
        self._until = [*range(1, len(self.places) + 1)]
        for at in range(len(self.places) - 2, -1, -1):
            if self._op[at] == self._op[at + 1]:
                self._until[at] = self._until[at + 1]

    def nth(self, ranges: list[tuple[int, int]], many: int, nth: int) -> int:
        """The place that one of so many kernels in these ranges is of; -1 unknown."""
        parts = [
            (bisect_left(self.places, begin), bisect_left(self.places, end))
            for begin, end in ranges
        ]
        parts = [(begin, end) for begin, end in parts if begin < end]
        count = sum(end - begin for begin, end in parts)
        if not count:
            return -1
        first = parts[0][0]
        if count == many:
            for begin, end in parts:
                if nth < end - begin:
                    return self.places[begin + nth]
                nth -= end - begin
        # Whichever of them it is, it is one line of the program: the slices that a scan takes.
        is_one = all(
            self._until[begin] >= end and self._op[begin] == self._op[first] for begin, end in parts
        )
        return self.places[first] if count == 1 or (is_one and self._op[first]) else -1


@dataclass(frozen=True, eq=False, slots=True)
class _Kernels:
    """A program's kernels in the order in which they ran, line by line.

    Attributes:
        host: Whose.
        texts: The recorded ops.
        own: Places of the kernels in these.
        inside: Whether each is in a command buffer.
    """

    host: Host
    texts: StatTexts
    own: I64
    inside: Bool

    @property
    def names(self) -> frozenset[str]:
        """Names of kernels in command buffers."""
        entries = self.host.space.events.metadata[self.texts.rows[self.own[self.inside]]]
        listed = self.host.space.event_metadata.name
        return frozenset(_sanitized(listed[at]) for at in np.unique(entries).tolist())


def _resolved(kernels: _Kernels, order: _Order, places: dict[str, int]) -> I64:
    """The op of each kernel, as a place among the names of ops, which may grow; -1 unknown."""
    rows = kernels.texts.rows[kernels.own]
    runs = _Runs(*_coded(kernels, order), kernels.host.space.lines_of(rows).astype(np.int64))
    launch = event_stats(kernels.host).ints(names.CORRELATION_ID).at(rows, -1)
    at = _anchors(runs, order, launch)
    is_between = (runs.code < 0) & (runs.before >= 0) & (runs.after >= 0)
    is_between &= (at[runs.before] >= 0) & (at[runs.after] >= 0)
    rest = np.flatnonzero(is_between)
    for kind in (_OF_LIBRARY, _COPY):
        is_filled = (runs.code[rest] == _FILL) & (kind == _OF_LIBRARY)
        mine = rest[(runs.code[rest] == kind) | is_filled]
        at[mine] = _between_known(runs, order, at, mine, kind)
    known = kernels.inside & (at >= 0)
    found = np.full(len(rows), -1, dtype=np.int64)
    used, which = np.unique(at[known], return_inverse=True)
    said = [places.setdefault(order.flat[one].name, len(places)) for one in used.tolist()]
    found[known] = np.asarray(said or [-1], dtype=np.int64)[which.ravel()]
    return found


def _coded(kernels: _Kernels, order: _Order) -> tuple[I64, list[str]]:
    """Of each kernel the index of its op's name, else what it is; and the names.

    What is in no buffer has its op's own name.
    """
    texts, inside = kernels.texts, kernels.inside
    entries = kernels.host.space.event_metadata
    entry = kernels.host.space.events.metadata[texts.rows[kernels.own]].astype(np.int64)
    text = texts.codes[kernels.own].astype(np.int64)
    anchors: dict[str, int] = {}
    code = np.empty(len(kernels.own), dtype=np.int64)

    def of_name(name: str) -> int:
        return anchors.setdefault(_sanitized(name), len(anchors))

    def of_entry(at: int) -> int:
        name = entries.name[at]
        return of_name(name) if _sanitized(name) in order.named else _kind(name)

    def of_text(at: int) -> int:
        return of_name(texts.texts[at].rpartition("::")[2])

    for where, keys, told in ((inside, entry, of_entry), (~inside, text, of_text)):
        distinct, which = np.unique(keys[where], return_inverse=True)
        codes = [told(at) for at in distinct.tolist()]
        code[where] = np.asarray(codes or [0], dtype=np.int64)[which.ravel()]
    return code, list(anchors)


def _kind(name: str) -> int:
    if _COPIES.search(name):
        return _COPY
    return _FILL if _FILLS.search(name) else _OF_LIBRARY


class _Runs:
    """Kernels, and which of those before and after each has a name that tells its op.

    Attributes:
        code: Of each kernel: index of its op's name, else what it is.
        names: Of ops, as kernels have them.
        before, after: Places of the nearest kernels of known ops on the same line; -1 none.
    """

    def __init__(self, code: I64, listed: list[str], line: I64) -> None:
        self.code, self.names = code, [*listed, ""]
        known = np.flatnonzero(code >= 0)
        at = np.searchsorted(known, np.arange(len(code)))
        self.before = self._same_line(line, np.append(known, -1)[at - 1], at > 0)
        beyond = at + (code >= 0)
        self.after = self._same_line(line, np.append(known, -1)[beyond], beyond < len(known))

    @staticmethod
    def _same_line(line: I64, other: I64, has: Bool) -> I64:
        found: I64 = np.where(has & (line[other] == line), other, -1)
        return found

    def name_of(self, place: I64) -> I64:
        """Index of the name of the kernels at some places, of the last one for none."""
        found: I64 = np.where(place >= 0, self.code[place], len(self.names) - 1)
        return found


def _anchors(runs: _Runs, order: _Order, launch: I64) -> I64:
    """Of each kernel whose name tells its op: the instruction's place; -1 of others."""
    mine = np.flatnonzero(runs.code >= 0)
    code = runs.code[mine]
    # Kernels of one buffer share the call that launched it, in which they are counted by name.
    _first, group = distinct_rows((launch[mine], code))
    many = np.bincount(group)
    order_of = np.argsort(group, kind="stable")
    nth = np.empty(len(mine), dtype=np.int64)
    nth[order_of] = np.arange(len(mine)) - np.repeat(np.cumsum(many) - many, many)
    places = np.asarray([len(order.named.get(one, ())) for one in runs.names])
    is_counted = many[group] == places[code]
    key = (
        code,
        np.where(is_counted, nth, -1),
        np.where(is_counted, -1, runs.name_of(runs.before[mine])),
        np.where(is_counted, -1, runs.name_of(runs.after[mine])),
    )

    def told(one: list[int]) -> int:
        own, number, before, after = one
        return order.place(runs.names[own], number, (runs.names[before], runs.names[after]))

    at = np.full(len(runs.code), -1, dtype=np.int64)
    at[mine] = _group_places(key, told)
    return at


def _between_known(runs: _Runs, order: _Order, at: I64, mine: I64, kind: int) -> I64:
    """Of kernels of one kind between two of known ops."""
    before, after = runs.before[mine], runs.after[mine]
    count = np.concatenate([[0], np.cumsum(runs.code == kind)])
    # A fill goes with the next kernel of a library.
    number, of_run = count[mine] - count[before], count[after] - count[before]

    def told(group: list[int]) -> int:
        a, b, many, nth = group
        return order.filling[kind].nth(order.between(a, b), many, nth)

    return _group_places((at[before], at[after], of_run, number), told)


def _group_places(key: tuple[I64, ...], told: Callable[[list[int]], int]) -> I64:
    """The place that each distinct key leads to, of each; -1 for none."""
    first, which = distinct_rows(key)
    said = [told(group) for group in np.stack(key)[:, first].T.tolist()]
    spread: I64 = np.asarray(said or [-1], dtype=np.int64)[which.ravel()]
    return spread


_Same = tuple[str, bytes]


def _same(one: Instruction) -> _Same:
    """What instructions share that may be one kernel: what they repeat, else stem and shape."""
    if one.deduplicated_name:
        return one.deduplicated_name, b""
    return one.name.rstrip("0123456789").rstrip("."), one.shape_proto


def _sanitized(name: str) -> str:
    """An instruction's name as that of its kernel: no dots, no dashes."""
    return name.replace(".", "_").replace("-", "_")
