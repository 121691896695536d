"""The owners of a step's time put together to what a person would change: its parts.

A part is a function of the program with what it calls (by line for the loop's own function), a
library's function called from it, a family of ops, or a kind of work such as input or compiling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I64
from stepscope.tables.account import native as of_native
from stepscope.tables.account.account import (
    COMPUTED,
    FRAMEWORK_CALL,
    GAP,
    PYTHON,
    RECORDING,
    Account,
)
from stepscope.tables.account.frames import Frames, Name
from stepscope.tables.account.op_families import family_of
from stepscope.tables.core.interval_overlap import covered

_KINDS = {
    PYTHON: "python",
    FRAMEWORK_CALL: "framework",
    RECORDING: "recorder",
    GAP: "unrecorded",
    of_native.OP: "op",
    of_native.INPUT: "input",
    of_native.COMPILE: "compile",
    of_native.COPY: "copy",
    of_native.LAUNCH: "launch",
    of_native.WAIT: "wait",
    of_native.FRAME: "framework",
    of_native.DISPATCH: "framework",
    of_native.PART: "annotated",
    of_native.ALLOCATE: "allocation",
    of_native.NOTHING: "unrecorded",
}
# Kinds of time in which the thread runs code: they belong to the function that runs it.
_HOST = ("python", "library", "framework", "annotated")
# A function that is active in this share of the steps' time is the loop itself, or around it.
_LOOP_FRAC = 0.95


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner of time, in words.

    Attributes:
        kind: What kind of time it is.
        name: Of the op, the call, or the program's function.
        type: Of an op; "" otherwise.
        function: The program's function it lies in or is called from; "" unknown.
        file: Of that function.
        line: The line it is at, else where it begins; 0 unknown.
        caller: ``file:line function`` of the program that calls that function; "" unknown.
        event: Event row that shows it, -1 none.
        on_device: Whether a device ran it.
        time_ps: Per kept step.
        runs: How often its time was come to.
        row: Of the account.
    """

    kind: str
    name: str
    type: str
    function: str
    file: str
    line: int
    caller: str
    event: int
    on_device: bool
    time_ps: I64
    runs: int
    row: int

    @property
    def total_ps(self) -> int:
        """In all kept steps."""
        return int(self.time_ps.sum())


@dataclass(frozen=True, slots=True)
class Part:
    """Owners that one change would concern.

    Attributes:
        kind: "python", "library", "framework", "op" or another kind of owner.
        name: Of the function, the library's call, the family of ops, or the kind.
        owners: The largest first.
    """

    kind: str
    name: str
    owners: tuple[Owner, ...]
    time_ps: I64 = field(repr=False)

    @property
    def total_ps(self) -> int:
        """In all kept steps."""
        return int(self.time_ps.sum())

    @property
    def first(self) -> Owner:
        """The largest owner."""
        return self.owners[0]


def owners(found: Account) -> list[Owner]:
    """Every owner of the account, the largest first."""
    order = np.argsort(-found.time_ps.sum(axis=1), kind="stable")
    return [_owner(found, row) for row in order.tolist() if found.time_ps[row].any()]


def _owner(found: Account, row: int) -> Owner:
    code, item = int(found.kind[row]), int(found.item[row])
    function, file, line, caller = _place(found.frames, int(found.place[row]))
    kind, name, type_, event, on_device = _KINDS.get(code, "op"), "", "", -1, False
    if code == COMPUTED:
        thing = found.compute.things[item - 1]
        kind, name, type_ = thing.kind, thing.op.name, thing.op.type
        event, on_device = thing.row, thing.on_device
    elif code in (PYTHON, FRAMEWORK_CALL) and found.frames is not None:
        if item >= 0:
            kind = "library" if code == PYTHON else "framework"
            name = found.frames.names[int(found.frames.name[item])].public
        else:
            name = function
    elif found.native is not None and item >= 0:
        name, type_ = found.native.labels[item]
    return Owner(
        kind, name, type_, function, file, line, caller, event, on_device, found.time_ps[row],
        int(found.runs[row]), row,
    )  # fmt: skip


def _place(calls: Frames | None, place: int) -> tuple[str, str, int, str]:
    """Function, file, line and caller of a place in the program."""
    if calls is None or place < 0:
        return "", "", 0, ""
    at, own = _name(calls, place), int(calls.own[place])
    function = _name(calls, own).function if own >= 0 else ""
    around = int(calls.caller[own]) if own >= 0 else -1
    caller = ""
    if around >= 0:
        outer, outer_own = _name(calls, around), int(calls.own[around])
        outer_function = _name(calls, outer_own).function if outer_own >= 0 else ""
        caller = f"{outer.file}:{outer.line} {outer_function}".strip()
    return function, at.file, at.line, caller


def _name(calls: Frames, at: int) -> Name:
    return calls.names[int(calls.name[at])]


def parts(found: Account) -> list[Part]:
    """What makes up the steps, the largest first."""
    groups: dict[tuple[str, ...], list[Owner]] = {}
    loops = _loop_functions(found)
    for one in owners(found):
        groups.setdefault(_key(one, loops), []).append(one)
    made = [_part(key, group) for key, group in groups.items()]
    return sorted(made, key=lambda one: -one.total_ps)


def _key(one: Owner, loops: frozenset[tuple[str, str]]) -> tuple[str, ...]:
    if one.kind in ("op", "runtime"):
        is_typed = one.type not in ("", "Unknown")
        said = one.type if is_typed else one.name.rpartition("/")[2]
        return ("op", family_of(said)) if one.kind == "op" else ("runtime", "")
    if one.kind in _HOST and one.function:
        is_loop = (one.file, one.function) in loops
        return ("host", one.file, one.function, str(one.line) if is_loop else "")
    if one.kind == "library":  # called from a function that began before the recording
        return ("host", "", one.name, "")
    if one.kind in ("framework", "annotated"):
        return ("framework", "")
    return (one.kind, "")


def _part(key: tuple[str, ...], group: list[Owner]) -> Part:
    time = np.sum([one.time_ps for one in group], axis=0)
    if key[0] != "host":
        name = key[1] or _kind_name(key[0], group)
        return Part(key[0], name, tuple(group), time)
    by_kind: dict[str, int] = {}
    for one in group:
        by_kind[one.kind] = by_kind.get(one.kind, 0) + one.total_ps
    kind = max(by_kind, key=lambda name: by_kind[name])
    kind = "framework" if kind == "annotated" else kind
    return Part(kind, key[2], tuple(group), time)


def _kind_name(kind: str, group: list[Owner]) -> str:
    return group[0].name if kind in ("framework", "compile", "input", "wait") else kind


def _loop_functions(found: Account) -> frozenset[tuple[str, str]]:
    """File and name of the functions that run through all steps: the loop's, and those around."""
    calls, steps = found.frames, found.found
    if calls is None:
        return frozenset()
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    whole = int((end - start).sum())
    return frozenset(
        (name.file, name.function)
        for name, spans in _function_spans(calls)
        if int(covered(*spans, start, end).sum()) >= _LOOP_FRAC * whole
    )


def _function_spans(calls: Frames) -> Iterator[tuple[Name, tuple[I64, I64]]]:
    """The program's functions that may be the loop's: with when each of them was active."""
    rows = np.flatnonzero(calls.own == np.arange(len(calls.rows)))
    if len(rows) == 0:
        return
    order = rows[np.argsort(calls.name[rows], kind="stable")]
    for group in np.split(order, np.flatnonzero(np.diff(calls.name[order])) + 1):
        if len(group) <= _FEW_CALLS:
            starts, ends = calls.start_ps[group], calls.start_ps[group] + calls.length_ps[group]
            yield _name(calls, int(group[0])), union_spans(starts, ends)


# The loop's function is called once, or once a chunk of the recording; a generator, once a step.
_FEW_CALLS = 64
