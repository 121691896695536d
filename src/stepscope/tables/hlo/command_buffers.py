"""Which op of the program each kernel of a command buffer is of.

XLA puts many ops into one command buffer, a CUDA graph, and recorders name that in place of the
op: "command_buffer_26 takes 84 %" says nothing. Kernels that XLA wrote itself bear the name of
their fusion. What libraries run (products, convolutions, sorts) and what copies lies between two
of those, in the program's order as on the device: where as many ops lie there as kernels, or one
alone, they are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import StatTexts, event_stats
from stepscope.tables.hlo.module import Computation, HloModule, Instruction
from stepscope.tables.hlo.modules import hlo_modules

_BUFFER: Final = re.compile(r"(?:^|::)command_buffer(?:[._]\d+)*$")
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
# What a kernel is, where its name is not that of an instruction.
_OF_LIBRARY, _COPY, _FILL = -1, -2, -3


@derived
def recorded_ops(host: Host) -> StatTexts:
    """The HLO op of each event that has one, those of command buffers by their kernels.

    A kernel of which nothing tells the op keeps its buffer's name.
    """
    stats = event_stats(host)
    texts = stats.texts(names.HLO_OP)
    is_buffer = np.asarray([_BUFFER.search(one) is not None for one in texts.texts] or [False])
    inside = is_buffer[texts.codes] if len(texts.rows) else np.zeros(0, dtype=bool)
    if not inside.any():
        return texts
    found = list(texts.texts)
    places = {text: at for at, text in enumerate(found)}
    codes = texts.codes.astype(np.int64)
    program = stats.ints(names.PROGRAM_ID).at(texts.rows, 0)
    for id_ in np.unique(program[inside]).tolist():
        module = hlo_modules(host).get(int(id_) & _UINT64)
        if module is None:
            continue
        own = np.flatnonzero(program == id_)
        own = own[np.argsort(host.space.events.start_ps[texts.rows[own]], kind="stable")]
        own = own[np.argsort(host.space.lines_of(texts.rows[own]), kind="stable")]
        kernels = _Kernels(host, texts, own, inside[own])
        for at, name in _resolved(kernels, _Order(module)):
            codes[own[at]] = places.setdefault(name, len(places))
    found = list(places)
    return StatTexts(texts.rows, codes.astype(np.int32), found)


_UINT64: Final = 0xFFFF_FFFF_FFFF_FFFF


class _Order:
    """Instructions that run kernels in the order of the program, bodies of loops once."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self.flat: list[Instruction] = []
        self.span: dict[int, tuple[int, int]] = {}
        if module.entry is not None:
            self._add(module.entry)

    def _add(self, one: Computation) -> None:
        """Depth first; a computation that is called again keeps its first place."""
        self.span[one.id] = (len(self.flat), len(self.flat))
        begin = len(self.flat)
        for each in self._module.in_order(one):
            if each.opcode in _CALLING:
                for called in self._module.called(each):
                    if called.id not in self.span:
                        self._add(called)
            elif each.opcode not in _RUN_NOTHING:
                self.flat.append(each)
        self.span[one.id] = (begin, len(self.flat))

    @cached_property
    def named(self) -> dict[str, list[int]]:
        """Places of the instructions that a kernel's name may stand for.

        Of fusions that do the same XLA compiles one, which has the name of any of them.
        """
        alike: dict[object, list[int]] = {}
        for at, one in enumerate(self.flat):
            if one.opcode == "fusion":
                alike.setdefault(_same(one), []).append(at)
                if one.deduplicated_name:
                    alike.setdefault(one.deduplicated_name, []).append(at)
        found: dict[str, list[int]] = {}
        for at, one in enumerate(self.flat):
            groups = (alike.get(_same(one), ()), alike.get(one.deduplicated_name, ()))
            found[_sanitized(one.name)] = sorted({at, *groups[0], *groups[1]})
        return found

    def place(self, before: str, name: str, after: str) -> int:
        """Where the instruction is that a kernel between two others is of; -1 unknown."""
        places = self.named.get(name, [])
        if len(places) < 2:
            return places[0] if places else -1

        def far(at: int) -> int:
            ahead = min((self._distance(a, at) for a in self.named.get(before, ())), default=0)
            behind = min((self._distance(at, b) for b in self.named.get(after, ())), default=0)
            return ahead + behind

        return min(places, key=far)

    def between(self, before: str, after: str) -> list[Instruction]:
        """What lies between two instructions, the closest of those that have these names."""
        pairs = [
            (self._distance(a, b), a, b)
            for a in self.named.get(before, ())
            for b in self.named.get(after, ())
        ]
        if not pairs:
            return []
        _distance, a, b = min(pairs)
        if a < b:
            return self.flat[a + 1 : b]
        return self.flat[a + 1 : self._loop(a, b)[1]] + self.flat[self._loop(a, b)[0] : b]

    def _distance(self, a: int, b: int) -> int:
        begin, end = self._loop(a, b)
        return b - a if a < b else len(self.flat) + end - a + b - begin

    def _loop(self, a: int, b: int) -> tuple[int, int]:
        """The smallest computation with both, which is run again between them."""
        around = [one for one in self.span.values() if one[0] <= min(a, b) and max(a, b) < one[1]]
        return min(around, key=lambda one: one[1] - one[0], default=(0, len(self.flat)))


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


def _resolved(kernels: _Kernels, order: _Order) -> Iterable[tuple[I64, str]]:
    """Groups of kernels (places among the program's) and the op that each group is of."""
    space = kernels.host.space
    entry = space.events.metadata[kernels.texts.rows[kernels.own]].astype(np.int64)
    line = space.lines_of(kernels.texts.rows[kernels.own])
    anchors: dict[str, int] = {}
    code = np.empty(len(entry), dtype=np.int64)
    for one in np.unique(entry[kernels.inside]).tolist():
        name = space.event_metadata.name[one]
        kind = _kind(name, order)
        code[entry == one] = (
            kind if kind < 0 else anchors.setdefault(_sanitized(name), len(anchors))
        )
    # What is not in a buffer has its op's own name.
    outside = np.flatnonzero(~kernels.inside)
    for one in np.unique(kernels.texts.codes[kernels.own[outside]]).tolist():
        op = _sanitized(kernels.texts.texts[one].rpartition("::")[2])
        of_op = outside[kernels.texts.codes[kernels.own[outside]] == one]
        code[of_op] = anchors.setdefault(op, len(anchors))
    runs = _Runs(code, line.astype(np.int64), list(anchors))
    yield from _of_fusions(runs, order, np.flatnonzero(kernels.inside & (code >= 0)))
    yield from _of_libraries(runs, order)


def _kind(name: str, order: _Order) -> int:
    if _sanitized(name) in order.named:
        return 0
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

    def __init__(self, code: I64, line: I64, listed: list[str]) -> None:
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


def _of_fusions(runs: _Runs, order: _Order, mine: I64) -> Iterable[tuple[I64, str]]:
    """Kernels with the name of an instruction, or of one that does the same."""
    key = (runs.name_of(runs.before[mine]), runs.code[mine], runs.name_of(runs.after[mine]))
    groups, which = np.unique(np.stack(key), axis=1, return_inverse=True)
    for at, names_of in enumerate(groups.T.tolist()):
        place = order.place(*(runs.names[one] for one in names_of))
        if place >= 0:
            yield mine[which.ravel() == at], order.flat[place].name


def _of_libraries(runs: _Runs, order: _Order) -> Iterable[tuple[I64, str]]:
    """Kernels between two of known ops."""
    code, before, after = runs.code, runs.before, runs.after
    rest = np.flatnonzero((code < 0) & (before >= 0) & (after >= 0))
    for kind in (_OF_LIBRARY, _COPY):
        mine = rest[(code[rest] == kind) | ((code[rest] == _FILL) & (kind == _OF_LIBRARY))]
        count = np.concatenate([[0], np.cumsum(code == kind)])
        # A fill goes with the next kernel of a library.
        number = count[mine] - count[before[mine]]
        of_run = count[after[mine]] - count[before[mine]]
        key = np.stack([code[before[mine]], code[after[mine]], of_run, number])
        groups, which = np.unique(key, axis=1, return_inverse=True)
        for at, (a, b, many, nth) in enumerate(groups.T.tolist()):
            name = _nth(order.between(runs.names[a], runs.names[b]), kind, many, nth)
            if name:
                yield mine[which.ravel() == at], name


def _nth(between: list[Instruction], kind: int, many: int, nth: int) -> str:
    """The instruction that one of so many kernels is of; "" unknown."""
    opcodes = _COPYING if kind == _COPY else _LIBRARY
    fits = [one for one in between if one.opcode in opcodes]
    if len(fits) == 1:
        return fits[0].name
    if len(fits) == many and nth < many:
        return fits[nth].name
    # Whichever of them it is, it is one line of the program: the slices that a scan takes.
    ops = {one.op_name for one in fits}
    return fits[0].name if len(ops) == 1 and "" not in ops else ""


def _same(one: Instruction) -> tuple[str, bytes]:
    """What instructions share that may be one kernel: the stem of the name, and the shape."""
    return one.name.rstrip("0123456789").rstrip("."), one.shape_proto


def _sanitized(name: str) -> str:
    """An instruction's name as that of its kernel: no dots, no dashes."""
    return name.replace(".", "_").replace("-", "_")
