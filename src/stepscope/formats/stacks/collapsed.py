"""Collapsed stacks, a line each: ``main;step;forward 12``.

They are totals: how often each stack was seen, and nothing of when.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.formats.format import Input
from stepscope.formats.stacks.samples import StackFrame, Stacks, sample_length, to_space

TITLE: Final = "collapsed stacks"
_LACKS: Final = (
    "Imported from collapsed stacks: how often each stack was seen, in no order of time."
)
_COUNTS: Final = (
    "The file has counts of samples, and no times: a sample is shown as {length}. Shares are true, "
    "times only if that was the sampler's interval."
)
_MAX_COUNT_DIGITS: Final = 18
# py-spy and pyperf write "step (train.py:12)", Python's own sampler "train.py:step:12".
_PLACED: Final = re.compile(r"(?P<name>.*) \((?P<file>[^()]*):(?P<line>\d{1,9})\)")
_PYTHON: Final = re.compile(r"(?P<file>.*\.pyx?|<[\w. ]+>):(?P<name>[^:]+):(?P<line>\d{1,9})")
# PyTorch's ``export_stacks``, which counts microseconds: "train.py(12):_step".
_EXPORTED: Final = re.compile(r"(?P<file>.*\.pyx?|<[^>]+>)\((?P<line>\d{1,9})\):[ _](?P<name>.+)")
_EXPORTED_ORIGIN: Final = (
    "Imported from stacks that PyTorch's profiler exported: microseconds by stack, in no order of "
    "time."
)
_FILED: Final = re.compile(r"(?P<name>.*) \((?P<file>[^()]+\.pyx?)\)")
_THREAD: Final = re.compile(r"(?:tid|thread)[: ]\s*(?:\(?(?P<number>\d{1,19}))?(?P<name>.*)", re.I)
_LONGEST_LINE: Final = 1 << 20


def open_file(pieces: Input, *, file: str) -> Space:
    """The stacks of a file; raises ``FormatError`` where there are none."""
    stacks = Stacks(TITLE, "")
    known: dict[str, int] = {}
    threads: dict[str, tuple[array[int], array[int]]] = {}
    unknown = 0
    for text in lines_of(pieces):
        stack, *counted = text.rsplit(maxsplit=1) or [""]
        if not counted or not _is_count(counted[0]):
            # A sample of a thread without a stack, as py-spy writes of threads that end.
            unknown += bool(text.strip()) and not _is_count(text.strip())
            continue
        frames = stack.split(";")
        thread = frames.pop(0) if len(frames) > 1 and _THREAD.fullmatch(frames[0]) else ""
        for one in frames:
            if one not in known:
                known[one] = stacks.code(frame_of(one))
        nodes, counts = threads.setdefault(thread, (array("q"), array("q")))
        nodes.append(stacks.tree.stack([known[one] for one in frames]))
        counts.append(min(int(counted[0]), 1 << 40))
    is_placed = any(one.fullmatch(text) for text in known for one in (_PLACED, _PYTHON))
    is_exported = not is_placed and any(_EXPORTED.fullmatch(text) for text in known)
    del known
    if unknown:
        stacks.warnings.append(f"{unknown:,} lines are not stacks and are left out.")
    most = max((sum(counts) for _, counts in threads.values()), default=0)
    sample_ns, length = (1_000, "") if is_exported else sample_length(most)
    stacks.origin = _EXPORTED_ORIGIN if is_exported else _LACKS
    if not is_exported:
        stacks.warnings.append(_COUNTS.format(length=length))
    for number, (name, (nodes, counts)) in enumerate(threads.items(), 1):
        total = np.asarray(counts, np.int64) * sample_ns
        stacks.add_totals(name or "all threads", number, np.asarray(nodes, np.int64), total)
    return to_space(stacks, file=file)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_COUNT_DIGITS


def frame_of(text: str) -> StackFrame:
    """A frame, in the ways that samplers of Python write them; else its text is its name."""
    for pattern in (_PLACED, _PYTHON, _EXPORTED):
        found = pattern.fullmatch(text)
        if found is not None:
            return StackFrame(found["name"], found["file"], int(found["line"]))
    found = _FILED.fullmatch(text)
    return StackFrame(found["name"], found["file"]) if found else StackFrame(text)


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """The lines of a text; of one that is too long what was read of it."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line[:_LONGEST_LINE].decode("utf-8", "replace") for line in whole)
        rest = rest[:_LONGEST_LINE]
    if rest:
        yield rest.decode("utf-8", "replace")
