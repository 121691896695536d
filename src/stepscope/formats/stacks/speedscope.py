"""speedscope's JSON, which py-spy, pyinstrument and many others write."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.json_parts import Parts
from stepscope.formats.stacks.samples import (
    ROOT,
    CallTree,
    SampledThread,
    StackFrame,
    Stacks,
    sample_length,
    to_space,
    whole_ns,
    within_reach,
)
from stepscope.formats.xspace.event_bytes import I64

TITLE: Final = "a speedscope profile"
_LACKS: Final = (
    "Imported from speedscope's JSON. Times count from the profile's begin: it does not say when "
    "it was taken."
)
_NS: Final = {
    "nanoseconds": 1.0,
    "microseconds": 1e3,
    "milliseconds": 1e6,
    "seconds": 1e9,
    "bytes": 1.0,
}
_PROFILE: Final = ("profiles", "*")
_LISTS: Final = ("samples", "weights", "events")
_INSIDE: Final = frozenset(
    {
        (),
        ("shared",),
        ("shared", "frames"),
        ("profiles",),
        _PROFILE,
        *((*_PROFILE, one) for one in _LISTS),
    }
)


def open_file(pieces: Input, *, file: str) -> Space:
    """The profiles of a file, a thread each.

    Raises:
        FormatError: There are none, or it has no samples.
    """
    stacks = Stacks(TITLE, _LACKS)
    parts = Parts(pieces, _INSIDE)
    frames: list[StackFrame] = []
    profiles: list[_Profile] = []
    for path, value in parts:
        if path == ("shared", "frames", "*"):
            frames.append(_frame(value))
        elif path[:2] == _PROFILE and len(path) > 2:
            # Each begins with its type.
            if not profiles or profiles[-1].has_ended(path):
                profiles.append(_Profile(stacks))
            profiles[-1].take(path, value)
    # Stacks count frames as the file does: its frames are the first codes there are.
    stacks.frames[:] = frames
    lost = 0
    for one in profiles:
        one.open_stacks()
    known = _known(stacks.tree, len(frames))
    for number, one in enumerate(profiles, 1):
        thread = one.thread(number, known)
        lost += one.lost
        stacks.threads.append(thread)
    if parts.damage:
        stacks.warnings.append(f"The text cannot be read to its end ({parts.damage}).")
    if lost:
        stacks.warnings.append(f"{lost:,} samples or events cannot be read; they are left out.")
    units = {one.unit for one in profiles}
    if units & {"none", "bytes"}:
        stacks.origin += (
            " Samples without a unit are shown as 10 ms each (as 1 µs or 1 ns where they would not "
            "fit a day), bytes as ns."
        )
    if not frames:
        raise FormatError(TITLE, parts.damage or "it has no frames", file=file)
    return to_space(stacks, file=file)


def _frame(value: Any) -> StackFrame:
    if not isinstance(value, dict):
        return StackFrame("")
    name, path, line = value.get("name"), value.get("file"), value.get("line")
    return StackFrame(
        name if isinstance(name, str) else "",
        path if isinstance(path, str) else "",
        line if type(line) is int and 0 <= line < 1 << 31 else 0,
    )


def _is_frame(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


class _Profile:
    """One profile on the way: of samples with weights, or of opened and closed frames."""

    def __init__(self, stacks: Stacks) -> None:
        self._tree = stacks.tree
        self._values: dict[str, Any] = {}
        self._samples: list[int] = []
        self._weights: list[Any] = []
        self._opened: list[tuple[str, object, int]] = []
        self._nodes: list[int] = []
        self.lost = 0

    def has_ended(self, path: tuple[str, ...]) -> bool:
        """Whether a value at this path is of the next profile: no key comes twice in one."""
        return len(path) == 3 and path[2] in self._values

    def take(self, path: tuple[str, ...], value: Any) -> None:
        """A part of the profile."""
        if path[2:] == ("samples", "*"):
            is_stack = isinstance(value, list) and all(map(_is_frame, value))
            self._samples.append(self._tree.stack(value) if is_stack else ROOT)
            self.lost += not is_stack
        elif path[2:] == ("weights", "*"):
            self._weights.append(value)
        elif path[2:] == ("events", "*"):
            self._take_event(value)
        elif len(path) == 3:
            self._values[path[2]] = value

    def _take_event(self, value: Any) -> None:
        one = value if isinstance(value, dict) else {}
        kind, frame, at = one.get("type"), one.get("frame", -1), one.get("at")
        if kind in ("O", "C") and _is_frame(frame) and type(at) in (int, float):
            self._opened.append((kind, at, frame))
        else:
            self.lost += 1

    @property
    def unit(self) -> str:
        """Of its times and weights."""
        unit = self._values.get("unit")
        return unit if isinstance(unit, str) and unit in _NS else "none"

    def _scale(self) -> float:
        """What makes ns of its times and weights."""
        if self.unit != "none":
            return _NS[self.unit]
        times = whole_ns([at for _, at, _ in self._opened], 1.0)
        if len(times):
            return sample_length(float(times.max()) - float(times.min()))[0]
        return sample_length(float(whole_ns(self._weights, 1.0).sum(dtype=np.float64)))[0]

    def thread(self, number: int, known: I64) -> SampledThread:
        """The profile as a thread; of each node the nearest one above it that is known counts."""
        scale, begin = self._scale(), self._values.get("startValue")
        name = self._values.get("name")
        name = name if isinstance(name, str) else ""
        if self._opened:
            start, length, stack = self._open_stacks(scale)
        else:
            count = (
                min(len(self._samples), len(self._weights)) if self._weights else len(self._samples)
            )
            self.lost += abs(len(self._samples) - len(self._weights)) if self._weights else 0
            weights = self._weights[:count] or [1] * count
            length = np.clip(whole_ns(weights, scale), 0, 1 << 51)
            after = np.cumsum(length)
            start = after - length + int(whole_ns([begin], scale)[0])
            stack = np.asarray(self._samples[:count], np.int64)
        stack = known[stack]
        return SampledThread(number, name, within_reach(start), length, stack)

    def open_stacks(self) -> None:
        """Add the stacks of opened and closed frames to the tree."""
        node = ROOT
        parent, frame_of = self._tree.parent, self._tree.frame
        for kind, _, frame in self._opened:
            if kind == "O":
                node = self._tree.call(node, frame)
            elif frame_of[node] == frame:
                node = parent[node]
            else:
                self.lost += 1
            self._nodes.append(node)

    def _open_stacks(self, scale: float) -> tuple[I64, I64, I64]:
        """What is open between one event and the next."""
        times = whole_ns([at for _, at, _ in self._opened], scale)
        stack = np.asarray(self._nodes, np.int64)
        length = np.append(np.maximum(np.diff(times), 0), 0)
        kept = stack > ROOT
        return times[kept], length[kept], stack[kept]


def _known(tree: CallTree, frames: int) -> I64:
    """Each node, or the nearest above it whose frames are in the file."""
    found: list[int] = []
    for node, (parent, frame) in enumerate(zip(tree.parent, tree.frame, strict=True)):
        above = found[parent] if parent >= 0 else ROOT
        is_known = above == parent and 0 <= frame < frames
        found.append(node if node == ROOT or is_known else above)
    return np.asarray(found, np.int64)
