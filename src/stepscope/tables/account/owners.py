"""The owners of a step's time in words: what it is, and the program's line it is called from."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass, field, replace
from stepscope.tables.account import native as of_native
from stepscope.tables.account.account import (
    COMPUTED,
    FRAMEWORK_CALL,
    GAP,
    PYTHON,
    RECORDING,
    Account,
)
from stepscope.tables.account.native import Around
from stepscope.tables.core.op_name import is_collective_call
from stepscope.tables.core.op_scopes import layer_of
from stepscope.tables.core.regions import region_name
from stepscope.tables.core.thresholds import DEEPEST, SOME_FRAC
from stepscope.tables.python.frames import LIBRARY, Frames, Name
from stepscope.tables.python.library_files import OF_MODELS
from stepscope.tables.traits.op_families import family_of
from stepscope.tables.traits.updates import is_update, update_of

K = TypeVar("K")
# Name of compilation that only Python shows.
_TRACING = "jit"
# What the loops of these do beside the model is their own, and not how they hand ops over.
_TRAINERS = re.compile(r"(?:keras|tf_keras|(?:pytorch_)?lightning)\.")
# A trainer's step that runs as Python is not compiled: it dispatches its ops one by one.
_STEP = re.compile(r"(?:^|\.)(?:train|training|validation|test|predict)_step$")
# A function that a package offers; what others of it do in between is its own.
_PUBLIC = re.compile(r"(?!_)\w+")
_OF_PACKAGE = re.compile(r"(?!_)\w+\..")
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


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where in the program a call is made.

    Attributes:
        function, file, line: Its function, and the line there, or where the function begins.
        caller: ``file:line function`` of the program that calls it; "" unknown.
        begins: Where the function begins; 0 unknown.
    """

    function: str
    file: str
    line: int
    caller: str
    begins: int = 0


@dataclass(frozen=True, eq=False, slots=True)
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
        begins: The line where that function begins: several may have one name; 0 unknown.
        under: File, name, line and caller of the function that stands for what it calls, of an
            op; None where none does.
        around: What it lies in, where no line is known; None unknown.
        event: Event row that shows it, -1 none.
        on_device: Whether a device ran it.
        is_inline: Whether it is an op that ran on the loop's thread.
        time_ps: Per kept step.
        stretches: Into how many its time falls: what interrupts it parts it.
        rows: Of the account.
        share: Of the time of these rows that it has; less than 1 where others have the rest.
        is_launched: Whether its place is where it was launched.
        others: How many other ops of its family it stands for besides the named one,
        common: and the scopes of the model that all of these lie in.
    """

    kind: str
    name: str
    type: str
    function: str
    file: str
    line: int
    caller: str
    begins: int
    under: CallSite | None
    around: Around | None
    event: int
    on_device: bool
    is_inline: bool
    time_ps: I64
    stretches: int
    rows: tuple[int, ...]
    share: float = 1.0
    is_launched: bool = False
    others: int = 0
    common: tuple[str, ...] = ()

    @property
    def layer(self) -> tuple[str, ...]:
        """Of an op: the scopes of the model that it lies in, the outermost first."""
        return self.common if self.others else layer_of(self.name)

    @property
    def within(self) -> str:
        """The range and the ops that it lies in, from the outside in; "" unknown."""
        return self.around.path if self.around is not None else ""

    @property
    def total_ps(self) -> int:
        """In all kept steps."""
        return int(self.time_ps.sum())

    def said(self, name: str = "") -> str:
        """Its name, or a shorter one, with how many ops it stands for besides."""
        others = f" and {self.others} other op{'s' * (self.others > 1)}" if self.others else ""
        return (name or self.name) + others

    @property
    def family(self) -> str:
        """Of an op: its optimizer's update, or by its type, else by the end of its name."""
        if is_update(self.type):
            return self.type
        if update := update_of(self.name):
            return update
        is_typed = self.type not in ("", "Unknown")
        return family_of(self.type if is_typed else self.name.rpartition("/")[2])


def owners(found: Account) -> list[Owner]:
    """Every owner of the account, the largest first."""
    order = np.argsort(-found.time_ps.sum(axis=1), kind="stable")
    listed = [_owner(found, row) for row in order.tolist() if found.time_ps[row].any()]
    are_ranges = found.native is not None and found.native.are_ranges
    is_torch = any(one.name.startswith("aten/") for one in listed)
    if found.frames is not None or not (is_torch or are_ranges):
        return listed
    # Where nothing else is known, an owner is named by the range that the program marks.
    return [
        replace(one, kind="region", name=name)
        if one.kind == "annotated" and (name := region_name(one.name))
        else one
        for one in listed
    ]


def time_by(key_of: Callable[[Owner], K], listed: Iterable[Owner]) -> dict[K, int]:
    """Picoseconds in all kept steps of the owners that have each key."""
    found: dict[K, int] = {}
    for one in listed:
        key = key_of(one)
        found[key] = found.get(key, 0) + one.total_ps
    return found


def time_by_family(ops: Iterable[Owner]) -> dict[str, int]:
    """Picoseconds in all kept steps of each family among these ops."""
    return time_by(lambda one: one.family, ops)


def _owner(found: Account, row: int) -> Owner:
    code, item = int(found.kind[row]), int(found.item[row])
    place = int(found.place[row])
    function, file, line, caller, begins = _place(found.frames, place)
    around = found.around(place)
    kind, name, type_, event, on_device = _KINDS.get(code, "op"), "", "", -1, False
    if code == of_native.COMPILE and item < 0:
        name = _TRACING
    others = 0
    common: tuple[str, ...] = ()
    if code == COMPUTED:
        thing = found.compute.things[item - 1]
        kind, name, type_ = thing.kind, thing.op.name, thing.opcode or thing.op.type
        event, on_device = thing.row, thing.on_device
        others, common = thing.others, thing.layer
    elif code in (PYTHON, FRAMEWORK_CALL) and found.frames is not None:
        if item >= 0:
            from stepscope.tables.python.functions import is_module_call

            called = found.frames.names[int(found.frames.name[item])]
            # What a library does with the framework's objects is that library's call.
            is_carried = bool(found.frames.is_carried[item])
            is_trainers = is_carried and _TRAINERS.match(called.public) is not None
            is_library = code == PYTHON or called.kind == LIBRARY or is_trainers
            is_library &= not (is_module_call(called) or _STEP.search(called.public))
            kind, name = "library" if is_library else "framework", called.public
            if is_library and is_carried:
                function = ""  # the program's line calls the loop, not this
            if not function and code == FRAMEWORK_CALL and (called.is_wait or called.is_fetch):
                kind = "wait"
        else:
            name = function
    elif code == GAP:
        name = found.gaps[item] if item >= 0 else ""
    elif found.native is not None and item >= 0:
        name, type_ = found.native.labels[item]
        kind = "collective" if kind == "wait" and is_collective_call(name) else kind
        event = int(found.native.longest[item]) if code == of_native.OP else -1
    standing = int(found.under[row])
    under = None if standing < 0 or found.frames is None else site_of(found.frames, standing)
    return Owner(
        kind, name, type_, function, file, line, caller, begins, under, around,
        event, on_device, code == of_native.OP, found.time_ps[row], int(found.stretches[row]),
        (row,), others=others, common=common,
    )  # fmt: skip


def site_of(calls: Frames, row: int) -> CallSite:
    """The place of one of the calls."""
    return CallSite(*_place(calls, row))


def _place(calls: Frames | None, place: int) -> tuple[str, str, int, str, int]:
    """Function, file, line and caller of a place in the program, and where the function begins."""
    if calls is None or place < 0:
        return "", "", 0, "", 0
    at, own = name_at(calls, place), int(calls.own[place])
    named = name_at(calls, own) if own >= 0 else None
    function, begins = (named.function, named.line) if named is not None else ("", 0)
    around = _out_of_models(calls, own, at.file) if own >= 0 else -1
    caller = ""
    if around >= 0:
        outer, outer_own = name_at(calls, around), int(calls.own[around])
        outer_function = name_at(calls, outer_own).function if outer_own >= 0 else ""
        caller = f"{outer.file}:{outer.line} {outer_function}".strip()
        if by := _called_back_by(calls, around, own):
            caller = f"{caller} by {by}"
    return function, at.file, at.line, caller, begins


def _called_back_by(calls: Frames, around: int, own: int) -> str:
    """The function of a package, by its public name, that calls the program's back; "" of none.

    An optimizer that is given no gradient calls the objective for each difference: its line in the
    program says less than ``scipy.optimize.approx_derivative``.
    """
    between = np.arange(around + 1, own)
    end = calls.start_ps + calls.length_ps
    holds = (calls.kind[between] == LIBRARY) & (end[between] >= end[own])
    found = (name_at(calls, row) for row in reversed(between[holds].tolist()))
    public = (one.public for one in found if _PUBLIC.fullmatch(one.function))
    packages = (one for one in public if one.partition(".")[0] not in sys.stdlib_module_names)
    return next((one for one in packages if _OF_PACKAGE.match(one)), "")


def _out_of_models(calls: Frames, own: int, file: str) -> int:
    """The call of a function; of one in a package of models, the program's own below which it is.

    The outermost there is, where the program has none.
    """
    around = int(calls.caller[own])
    for _ in range(DEEPEST if OF_MODELS.search(file) else 0):
        if around < 0 or not OF_MODELS.search(name_at(calls, around).file):
            break
        outer = int(calls.own[around])
        further = int(calls.caller[outer]) if outer >= 0 else -1
        if further < 0:
            break
        around = further
    return around


def name_at(calls: Frames, at: int) -> Name:
    """Return the name of one of the calls."""
    return calls.names[int(calls.name[at])]


@dataclass(slots=True)
class OuterCall:
    """One function of the program, as it is called on one path.

    Attributes:
        site: Its name and where it begins, and what calls it.
        is_loop: Whether it runs through the steps: it is the loop's, or around that.
        above: Which of the calls it is below; -1 none.
        time_ps: In all kept steps by kind of owner, with all that it calls.
    """

    site: CallSite
    is_loop: bool
    above: int
    time_ps: dict[str, int] = field(default_factory=dict)

    @property
    def total_ps(self) -> int:
        """Of all kinds."""
        return sum(self.time_ps.values())


def outer_calls(found: Account, listed: Iterable[Owner]) -> list[OuterCall]:
    """The program's calls from the loop inwards, each with all that is below it, the largest first.

    A function that the loop calls may spend its time in a hundred places of its own and of
    libraries, each too small to be named: what a person would leave out is the call.
    Owners of work that was launched elsewhere, or of several rows, count for none.
    """
    calls = found.frames
    if calls is None:
        return []
    from stepscope.tables.python.functions import loop_functions

    loops = loop_functions(calls, found.found)
    counted = [one for one in listed if len(one.rows) == 1 and not one.is_launched]
    place = found.place[[one.rows[0] for one in counted]]
    own = np.where(place >= 0, calls.own[np.maximum(place, 0)], -1)
    nodes: list[OuterCall] = []
    known: dict[tuple[int, str, str], int] = {}
    for one, outwards in zip(counted, calls.functions_around(own).tolist(), strict=True):
        above = -1
        for row in (each for each in reversed(outwards) if each >= 0):
            name = calls.names[int(calls.name[row])]
            key = (above, name.file, name.function)
            if key not in known:
                known[key] = len(nodes)
                # What is below a call of the loop's is none, however often it runs.
                is_loop = (above < 0 or nodes[above].is_loop) and key[1:] in loops
                nodes.append(OuterCall(site_of(calls, row), is_loop, above))
            above = known[key]
            time = nodes[above].time_ps
            time[one.kind] = time.get(one.kind, 0) + one.total_ps
    return _largest(nodes, int(found.net_step_ps * found.found.kept.sum()))


def _largest(nodes: list[OuterCall], whole_ps: int) -> list[OuterCall]:
    """Those with enough of the steps, by time; what is below one comes after it."""
    # What calls one has as much, and was made before it.
    order = sorted(range(len(nodes)), key=lambda at: -nodes[at].total_ps)
    kept = [at for at in order if nodes[at].total_ps >= SOME_FRAC * whole_ps]
    moved = {at: to for to, at in enumerate(kept)} | {-1: -1}
    return [
        OuterCall(nodes[at].site, nodes[at].is_loop, moved[nodes[at].above], nodes[at].time_ps)
        for at in kept
    ]
