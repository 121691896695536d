"""Stacks as samplers see them, whatever their files look like, and as a ``Space``.

A stack is a node of a tree of calls. Samples that follow each other with callers in common become
slices of those callers, as our own sampler writes them: nothing that was seen is a call that ran
from begin to end.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.private import without_folders
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.python_frames import short_path
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.plane_writer import PlaneWriter
from stepscope.formats.xspace.written import space_of
from stepscope.limits import current
from stepscope.records import dataclass, field
from stepscope.schema import names

#: The tree's root, above all first callers.
ROOT: Final = 0
#: As deep as stacks are read: what is called further down counts for its caller there.
DEEPEST: Final = 1024
_PYTHON: Final = re.compile(r"\.pyx?$|^<(frozen|string|stdin|ipython)", re.IGNORECASE)
# py-spy's frame of a process of several has its command line.
_PROCESS: Final = re.compile(r"(process \d{1,10}):.*", re.DOTALL)
_REACH_NS: Final = 1 << 51  # 26 days
_FRAME_BITS: Final = 32
_FRAMES: Final = (1 << _FRAME_BITS) - 1
_SAMPLES: Final = ((10_000_000, "10 ms"), (1_000, "1 µs"), (1, "1 ns"))
_DAY_NS: Final = 86_400 * 10**9


class StackFrame(NamedTuple):
    """A function of a stack: its name, its file and its line ("" and 0 unknown)."""

    name: str
    file: str = ""
    line: int = 0

    def label(self, file: SampledFile) -> str:
        """What an event is called; functions of Python as tracers write them."""
        if file.is_python:
            return f"{names.PYTHON_CALL_MARK}{file.short}:{self.line} {self.name}"
        process = _PROCESS.fullmatch(self.name)
        return process[1] if process else without_folders(self.name) or file.short or "(unknown)"

    def source(self, file: SampledFile) -> str:
        """Where it is."""
        return f"{file.short}:{self.line}" if self.line else file.short


class SampledFile(NamedTuple):
    """A file of frames: without what its path says of the machine, and whether it is Python's."""

    short: str
    is_python: bool

    @classmethod
    def of(cls, path: str) -> SampledFile:
        """What is to say of a path."""
        return cls(short_path(path), bool(_PYTHON.search(path)))


class CallTree:
    """Every distinct stack once: nodes with their callers; ``ROOT`` is not a frame."""

    def __init__(self) -> None:
        self.parent = array("q", (-1,))
        self.frame = array("q", (-1,))
        self._depth = array("q", (0,))
        # By caller and frame in one number: there may be as many as a file has lines.
        self._nodes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.parent)

    def below(self, parent: int, frame: int) -> int:
        """The node of a frame called by another node."""
        key = parent << _FRAME_BITS | frame
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = self.call(parent, frame)
        return known

    def call(self, parent: int, frame: int) -> int:
        """A node of its own for a single call, which no other shares."""
        if self._depth[parent] >= DEEPEST:
            return parent
        self.parent.append(parent)
        self.frame.append(frame)
        self._depth.append(self._depth[parent] + 1)
        return len(self.parent) - 1

    def stack(self, frames: Sequence[int]) -> int:
        """The node of a stack, outermost first."""
        node = ROOT
        for frame in frames:
            node = self.below(node, frame)
        return node

    def stacks(self, frames: I64, length: I64) -> I64:
        """The node of each of many stacks, outermost first, which lie one after the other.

        New nodes are in the order of the stacks, however many are asked for at once.
        """
        node = np.full(len(length), ROOT)
        begin = np.cumsum(length) - length
        for level in range(min(int(length.max(initial=0)), DEEPEST)):
            rows = np.flatnonzero(length > level)
            key = node[rows] << _FRAME_BITS | frames[begin[rows] + level]
            used, inverse = np.unique(key, return_inverse=True)
            first = np.empty(len(used), np.int64)
            first[inverse[::-1]] = np.arange(len(rows))[::-1]
            order = np.argsort(first)
            in_order = used[order]
            pairs = zip((in_order >> _FRAME_BITS).tolist(), in_order.tolist(), strict=True)
            found = np.empty(len(used), np.int64)
            found[order] = [self.below(one, key & _FRAMES) for one, key in pairs]
            node[rows] = found[inverse]
        return node

    def close(self) -> None:
        """Forget which nodes there are: no more stacks are looked for."""
        self._nodes = {}

    def levels(self, nodes: I64) -> Iterator[I64]:
        """The node on the way from the root to each of these at each depth, the deepest first.

        It is -1 where the way is shorter.
        """
        parent, depth = np.asarray(self.parent), np.asarray(self._depth)
        at = nodes
        for level in range(int(depth[nodes].max(initial=0)), 0, -1):
            here = depth[at] == level
            yield np.where(here, at, -1)
            at = np.where(here, parent[at], at)

    def places(self) -> I64:
        """Where each node stands when callers come before what they call, as they were found."""
        parent, depth = np.asarray(self.parent), np.asarray(self._depth)
        by_depth = np.argsort(depth, kind="stable")
        cuts = np.flatnonzero(np.diff(depth[by_depth])) + 1
        levels = np.split(by_depth, cuts)[1:]
        size = np.ones(len(parent), np.int64)
        for level in reversed(levels):
            np.add.at(size, parent[level], size[level])
        # Of the calls of one caller each comes behind all that the ones before it call.
        siblings = np.argsort(parent, kind="stable")
        before = np.cumsum(size[siblings]) - size[siblings]
        is_first = np.append(np.ones(1, bool), np.diff(parent[siblings]) != 0)
        before -= np.maximum.accumulate(np.where(is_first, before, 0))
        place = np.empty(len(parent), np.int64)
        place[siblings] = before
        for level in levels:
            place[level] += place[parent[level]] + 1
        return place


@dataclass(frozen=True, slots=True, eq=False)
class SampledThread:
    """What one thread was seen at.

    Attributes:
        number: Of the thread.
        name: Of the thread; "" unknown.
        start_ns: When each sample was taken, ascending.
        length_ns: How long each stands for.
        stack: A node of the tree.
    """

    number: int
    name: str
    start_ns: I64
    length_ns: I64
    stack: I64


@dataclass
class Stacks:
    """What a sampler wrote.

    Attributes:
        title: What kind of file it came from, for reports.
        origin: Which tool's, and what such files cannot hold, in sentences.
        frames: What nodes of the tree count.
        tree: The stacks.
        threads: Samples by thread.
        warnings: What a reader of numbers must know.
    """

    title: str
    origin: str
    frames: list[StackFrame] = field(default_factory=list)
    tree: CallTree = field(default_factory=CallTree)
    threads: list[SampledThread] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _codes: dict[StackFrame, int] = field(default_factory=dict)
    _places: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    def code(self, frame: StackFrame) -> int:
        """The code of a frame."""
        known = self._codes.get(frame)
        if known is None:
            known = self._codes[frame] = len(self.frames)
            self.frames.append(frame)
        return known

    def close(self) -> None:
        """Forget what stacks are looked up by: there are no more."""
        self._codes = {}
        self.tree.close()

    def add_totals(self, name: str, number: int, stacks: I64, length_ns: I64) -> None:
        """Stacks that are known with their totals alone: one after the other, callers together."""
        kept = (length_ns > 0) & (stacks > ROOT)
        stacks, length_ns = stacks[kept], length_ns[kept]
        used, inverse = np.unique(stacks, return_inverse=True)
        total = np.zeros(len(used), np.int64)
        np.add.at(total, inverse, np.minimum(length_ns, _REACH_NS))
        current().spend("work", len(used))
        if len(self._places) != len(self.tree):
            self._places = self.tree.places()
        order = np.argsort(self._places[used])
        total = total[order]
        start = np.cumsum(total) - total
        self.threads.append(SampledThread(number, name, start, total, used[order]))


def to_space(stacks: Stacks, *, file: str) -> Space:
    """The samples as columns; the frames go on the way.

    Raises:
        FormatError: There are none.
    """
    threads = [one for one in stacks.threads if len(one.stack) and one.stack.any()]
    if not threads:
        raise FormatError(
            stacks.title,
            "it has no samples",
            file=file,
            hint="Sample for longer, while the program runs.",
        )
    stacks.close()
    host = PlaneWriter(names.HOST_PLANE)
    host.stat(names.IMPORTED, stacks.origin)
    # A file has many frames.
    files = {path: SampledFile.of(path) for path in {frame.file for frame in stacks.frames}}
    is_python = any(file.is_python for file in files.values())
    plane = PlaneWriter(names.PYTHON_SAMPLES_PLANE if is_python else names.STACK_SAMPLES_PLANE)
    labels = []
    stacks.frames.reverse()
    while stacks.frames:
        one = stacks.frames.pop()
        labels.append(_named(plane, one, files[one.file]))
    known = np.clip(np.asarray(stacks.tree.frame), 0, len(labels) - 1)
    label = np.asarray(labels, np.int64)[known]
    for row, thread in enumerate(threads):
        node, start, length = slices(stacks.tree, thread)
        plane.line(
            thread.number,
            thread.name or f"thread {thread.number or row + 1}",
            metadata=label[node],
            start_ns=start,
            duration_ns=length,
        )
    return space_of([host, plane], warnings=stacks.warnings)


def _named(plane: PlaneWriter, frame: StackFrame, file: SampledFile) -> int:
    """The id of the events of a frame."""
    said = {names.SOURCE: frame.source(file)} if frame.file else None
    return plane.name(frame.label(file), stats=said)


def slices(tree: CallTree, thread: SampledThread) -> tuple[I64, I64, I64]:
    """Runs of one node at one depth: the node, begin and length of each.

    A run ends where a sample has another caller at that depth or above, and where time passes
    that no sample stands for.
    """
    order = np.argsort(thread.start_ns, kind="stable")
    start = within_reach(thread.start_ns[order])
    length = np.clip(thread.length_ns[order], 0, _REACH_NS)
    # A sample stands for the time until the next one at most.
    until = start + length
    until[:-1] = np.minimum(until[:-1], start[1:])
    broken = np.ones(len(start), bool)
    broken[1:] = start[1:] > until[:-1]
    used, inverse = np.unique(thread.stack[order], return_inverse=True)
    budget, found = current(), []
    for level in tree.levels(used):
        runs = _runs(level[inverse], broken, start, until)
        budget.spend("work", len(start) + 8 * len(runs[0]))
        found.append(runs)
    found.reverse()
    none = np.zeros(0, np.int64)
    node, begin, long = (np.concatenate([none, *(one[at] for one in found)]) for at in range(3))
    return node, begin, long


def _runs(column: I64, broken: NDArray[np.bool_], start: I64, until: I64) -> tuple[I64, I64, I64]:
    first = np.flatnonzero(broken | (np.diff(column, prepend=column[0] - 1) != 0))
    last = np.append(first[1:], len(column)) - 1
    there = column[first] >= 0
    first, last = first[there], last[there]
    return column[first], start[first], until[last] - start[first]


def sample_length(count: float) -> tuple[int, str]:
    """What a sample is shown as where the file does not say: in ns, and in words.

    Some samplers count microseconds or cycles: a sample is so short that all of them fit a day.

    Args:
        count: Of all samples of a thread.
    """
    return next((one for one in _SAMPLES if count * one[0] <= _DAY_NS), _SAMPLES[-1])


def within_reach(times: I64) -> I64:
    """Times of a file without those that no recording can have: they are moved to its edge."""
    if not len(times):
        return times
    middle = int(np.partition(times, len(times) // 2)[len(times) // 2])
    low = max(middle, -(1 << 62)) - _REACH_NS
    return np.clip(times, low, min(middle, 1 << 62) + _REACH_NS)


def whole_ns(values: Sequence[object], scale: float) -> I64:
    """Times of a file in ns; 0 for what is none."""
    found = [one if is_time(one) else 0 for one in values]
    numbers = np.asarray(found, np.float64) * scale
    numbers = np.where(np.isfinite(numbers), numbers, 0)
    return np.rint(np.clip(numbers, -(2.0**62), 2.0**62)).astype(np.int64)


def is_time(value: object) -> bool:
    """Whether it is a number that no scale brings out of a float's reach."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) < 1e300


def durations(start_ns: I64, usual_ns: int) -> I64:
    """How long samples stand for that know only when they were taken: until the next one.

    Where no sample came for long the thread was not looked at.
    """
    if not len(start_ns):
        return start_ns
    gaps = np.diff(start_ns)
    usual = usual_ns or int(np.median(gaps)) if len(gaps) else usual_ns or 1_000_000
    longest = 3 * max(usual, 1)
    return np.append(np.where(gaps > longest, usual, gaps), max(usual, 1))


def texts(values: object) -> Iterator[str]:
    """The texts of a list of a file; "" for what is none."""
    for one in values if isinstance(values, list) else ():
        yield one if isinstance(one, str) else ""
