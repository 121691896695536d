"""PyTorch's modules as a tree: who called whom, and what ran on the devices for each.

A module's call is a frame of Python, recorded with stacks. A kernel belongs to the innermost module
around the call that launched it. In backward there are no modules: there it belongs to the module
of the forward op with the same sequence number. What a forward module launches inside of a
backward op is computed for the second time.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import distinct, innermost, nest
from stepscope.columns.space import DATA_OCCURRENCES, I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import any_event
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.torch.autograd import NumberedOps, numbered_ops
from stepscope.tables.torch.launches import launched

_MODULE: Final = f"{names.PYTHON_CALL_MARK}nn.Module: "
FORWARD, BACKWARD, RECOMPUTED = range(3)


@dataclass(frozen=True, eq=False, slots=True)
class ModuleTable:
    """One row per module, by its place in the tree; parents come before their children.

    Attributes:
        names: Of each: the class and its number, such as "Linear_3".
        parent: Row of the module that called it, -1 for none.
        calls: How often it was called.
        host_ps: Time of its calls.
        device_ps: (phase, module): time of the kernels it launched, without those of modules that
            it called; phases are forward, backward and recomputed.
        kernels: How many kernels those are.
        owner: Of each event of ``device_events``, the module it belongs to; -1 for none.
        phase: Of each event of ``device_events``, whether a module launched it or not.
        outside_ps: Time of kernels that belong to no module.
    """

    names: list[str]
    parent: I64
    calls: I64
    host_ps: I64
    device_ps: I64
    kernels: I64
    owner: I64
    phase: I64
    outside_ps: int

    def __len__(self) -> int:
        return len(self.names)

    def with_children(self, own: I64) -> I64:
        """Values of modules with those of all modules below them."""
        total = own.copy()
        for row in range(len(self) - 1, -1, -1):
            if self.parent[row] >= 0:
                total[self.parent[row]] += total[row]
        return total


@dataclass(frozen=True, eq=False, slots=True)
class CallsOfThread:
    """Calls of modules on one thread: when, and which module of the tree."""

    start_ps: I64
    end_ps: I64
    module: I64

    def around(self, times: I64) -> I64:
        """The module around each time, -1 for none."""
        at = innermost(self.start_ps, self.end_ps, times)
        found: I64 = np.append(self.module, -1)[at]
        return found


@dataclass(frozen=True, eq=False, slots=True)
class ModuleCalls:
    """All calls of modules of a host.

    Attributes:
        names: Of each module: the class and its number, such as "Linear_3".
        parent: The module that called it, -1 for none.
        threads: Calls by the thread's id, as ``Line.id`` has it.
    """

    names: list[str]
    parent: I64
    threads: dict[int, CallsOfThread]


def module_lines(host: Host) -> list[int]:
    """Lines that Python's calls are on."""
    kinds = planes(host).plane_kind
    lines = enumerate(host.space.lines)
    return [row for row, line in lines if kinds[line.plane] is PlaneKind.PYTHON]


def has_modules(host: Host) -> bool:
    """Whether a module's call was recorded."""
    return any_event(host, module_lines(host), entries=_module_entries(host))


def _module_entries(host: Host) -> Bool:
    texts = host.space.event_metadata.name
    return np.asarray([text.startswith(_MODULE) for text in texts] or [False])


@derived
def module_calls(host: Host) -> ModuleCalls:
    """Which modules a host calls, and when, thread by thread."""
    index: dict[tuple[int, str], int] = {}
    threads: dict[int, list[int]] = {}
    for row in module_lines(host):
        threads.setdefault(host.space.lines[row].id, []).append(row)
    # What begins first calls the modules; what backward's thread calls again hangs below the same.
    ordered = sorted(threads.items(), key=lambda one: _first_call(host, one[1]))
    calls = {thread: _calls(host, rows, index) for thread, rows in ordered}
    return ModuleCalls(
        names=[name for _, name in index],
        parent=np.asarray([parent for parent, _ in index], np.int64),
        threads=calls,
    )


@derived
def module_tree(host: Host) -> ModuleTable:
    """The modules of a host."""
    found = module_calls(host)
    calls, count = found.threads, len(found.names)
    module = np.concatenate([np.zeros(0, np.int64), *(one.module for one in calls.values())])
    spans = [one.end_ps - one.start_ps for one in calls.values()]
    length = np.concatenate([np.zeros(0, np.int64), *spans])
    host_ps = np.zeros(count, np.int64)
    np.add.at(host_ps, module, length)
    owner, phase = _owners(host, calls)
    duration = device_events(host).duration_ps
    device_ps = np.zeros((3, count), np.int64)
    known = owner >= 0
    np.add.at(device_ps, (phase[known], owner[known]), duration[known])
    return ModuleTable(
        names=found.names,
        parent=found.parent,
        calls=np.bincount(module, minlength=count).astype(np.int64),
        host_ps=host_ps,
        device_ps=device_ps,
        kernels=np.bincount(owner[known], minlength=count).astype(np.int64),
        owner=owner,
        phase=phase,
        outside_ps=int(duration[~known].sum()),
    )


def _calls(host: Host, rows: list[int], index: dict[tuple[int, str], int]) -> CallsOfThread:
    """The calls of modules on the lines of a thread; new modules get the next number there is."""
    space, entries = host.space, _module_entries(host)
    lines = [space.lines[row] for row in rows]
    parts = [
        line.begin + np.flatnonzero(entries[space.events.metadata[line.begin : line.end]])
        for line in lines
    ]
    at = np.concatenate(parts)
    at = at[space.events.data[at] != DATA_OCCURRENCES]
    start, length = space.events.start_ps[at], space.length_ps[at]
    nesting = nest(start, length, np.asarray([0, len(at)], np.int64))
    module = np.full(len(at), -1, np.int64)
    entry = space.events.metadata[at].astype(np.int64)
    for depth in range(int(nesting.depth.max(initial=-1)) + 1):
        some = np.flatnonzero(nesting.depth == depth)
        above = nesting.parent[some]
        parent = np.where(above >= 0, module[above], -1)
        pairs, inverse = np.unique(np.stack([parent, entry[some]]), axis=1, return_inverse=True)
        texts = [
            space.event_metadata.name[name].removeprefix(_MODULE) for name in pairs[1].tolist()
        ]
        known = _places(index) if depth == 0 else {}
        codes = [
            known[text] if text in known else index.setdefault((one, text), len(index))
            for one, text in zip(pairs[0].tolist(), texts, strict=True)
        ]
        module[some] = np.asarray(codes, np.int64)[inverse.ravel()]
    return CallsOfThread(start, start + length, module)


def _first_call(host: Host, rows: list[int]) -> int:
    """When the first module of some lines is called."""
    space, entries = host.space, _module_entries(host)
    first = np.iinfo(np.int64).max
    for line in (space.lines[row] for row in rows):
        mine = entries[space.events.metadata[line.begin : line.end]]
        first = min(
            first, int(space.events.start_ps[line.begin : line.end][mine].min(initial=first))
        )
    return int(first)


def _places(index: dict[tuple[int, str], int]) -> dict[str, int]:
    """The modules whose name occurs once in the tree, by name."""
    found: dict[str, list[int]] = {}
    for (_, name), number in index.items():
        found.setdefault(name, []).append(number)
    return {name: numbers[0] for name, numbers in found.items() if len(numbers) == 1}


def _owners(host: Host, calls: dict[int, CallsOfThread]) -> tuple[I64, I64]:
    """The module of each device event (-1: none), and the phase it ran in."""
    found = device_events(host)
    launches = launched(host)
    thread = launches.thread
    owner = np.full(len(found), -1, np.int64)
    phase = np.full(len(found), FORWARD, np.int64)
    numbered = numbered_ops(host)
    forward = _module_of_number(numbered, calls)
    for line in distinct(thread[thread >= 0]).tolist():
        mine = np.flatnonzero(thread == line)
        times = launches.start_ps[mine]
        if line in calls:
            owner[mine] = calls[line].around(times)
        ops = numbered.backward & (numbered.thread == line)
        at = innermost(numbered.start_ps[ops], numbered.end_ps[ops], times)
        number = np.append(numbered.number[ops], -1)[at]
        inside = number >= 0
        # A forward op inside of a backward one, or a module, is computed once more.
        again = owner[mine] >= 0
        ops = numbered.thread == line
        at = innermost(numbered.start_ps[ops], numbered.end_ps[ops], times)
        again |= (at >= 0) & ~np.append(numbered.backward[ops], True)[at]
        phase[mine[inside]] = np.where(again[inside], RECOMPUTED, BACKWARD)
        lost = mine[inside & (owner[mine] < 0)]
        asked = number[inside & (owner[mine] < 0)]
        owner[lost] = [forward.get(one, -1) for one in asked.tolist()]
    return owner, phase


def _module_of_number(ops: NumberedOps, calls: dict[int, CallsOfThread]) -> dict[int, int]:
    """The module of the forward op of each sequence number."""
    last = ops.last_forward()
    found: dict[int, int] = {}
    for thread, one in calls.items():
        mine = last[ops.thread[last] == thread]
        modules = one.around(ops.start_ps[mine])
        found.update(zip(ops.number[mine].tolist(), modules.tolist(), strict=True))
    return found
