"""Firefox's profiles, which samply and Python's own sampler write, too.

Tables come as columns, or as rows with a schema; texts are places in a list of the thread, or of
the whole file in newer versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.json_parts import Parts
from stepscope.formats.stacks.collapsed import frame_of
from stepscope.formats.stacks.samples import (
    ROOT,
    SampledThread,
    StackFrame,
    Stacks,
    durations,
    is_time,
    texts,
    to_space,
    whole_ns,
    within_reach,
)
from stepscope.formats.xspace.event_bytes import I64

TITLE: Final = "a Firefox profile"
_LACKS: Final = "Imported from a Firefox profile. It has what threads were seen at, and no ops."
_NS_PER_MS: Final = 1e6
_MOST_TEXTS: Final = 1 << 26
_Columns = Mapping[str, list[Any]]


def open_file(pieces: Input, *, file: str) -> Space:
    """The samples of all threads of all processes; raises ``FormatError`` where there are none."""
    parts = Parts(pieces, frozenset())
    value = next(parts.documents(), None)
    if not isinstance(value, dict):
        raise FormatError(TITLE, parts.damage or "it is not an object", file=file)
    stacks = Stacks(TITLE, _LACKS)
    _add(stacks, _Tables(stacks), value)
    return to_space(stacks, file=file)


def _add(stacks: Stacks, tables: _Tables, profile: dict[str, Any]) -> None:
    meta = profile.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    begin, period = (
        int(one) for one in whole_ns([meta.get("startTime"), meta.get("interval")], 1e6)
    )
    shared = profile.get("shared")
    shared = shared if isinstance(shared, dict) else {}
    for thread in _objects(profile.get("threads")):
        found = _thread(stacks, tables, {**shared, **thread}, begin, period)
        if found is not None:
            stacks.threads.append(found)
    # What Firefox's own tools of 2018 save has the profile inside.
    for process in (*_objects(profile.get("processes")), *_objects([profile.get("profile")])):
        _add(stacks, tables, process)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _thread(
    stacks: Stacks, tables: _Tables, thread: dict[str, Any], begin_ns: int, period_ns: int
) -> SampledThread | None:
    samples = _columns(thread.get("samples"))
    stack = samples.get("stack", [])
    taken = samples.get("time")
    if taken is None:  # newer ones have the time since the sample before
        taken = (
            np.cumsum(whole_ns(samples.get("timeDeltas", []), _NS_PER_MS)) / _NS_PER_MS
        ).tolist()
    pairs = list(zip(stack, taken, strict=False))
    samples_at = [(one, time) for one, time in pairs if is_time(time)]
    if len(samples_at) < len(pairs):
        lost = len(pairs) - len(samples_at)
        stacks.warnings.append(f"{lost:,} samples have no time and are left out.")
    if not samples_at:
        return None
    nodes = tables.nodes(thread)
    at = [one if type(one) is int and 0 <= one < len(nodes) else -1 for one, _ in samples_at]
    times = whole_ns([time for _, time in samples_at], _NS_PER_MS)
    order = np.argsort(times, kind="stable")
    start = within_reach(times[order]) + begin_ns
    found = np.append(nodes, ROOT)[np.asarray(at, np.int64)[order]]
    number = _number(thread.get("tid"))
    name = thread.get("name")
    return SampledThread(
        number or len(stacks.threads) + 1,
        name if isinstance(name, str) else "",
        start,
        durations(start, period_ns),
        found,
    )


def _number(value: Any) -> int:
    """A thread's number, which may be text; 0 for what is none."""
    text = str(value)[:20]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0


def _columns(table: Any) -> _Columns:
    """A table as columns, however it is written."""
    if not isinstance(table, dict):
        return {}
    schema, rows = table.get("schema"), table.get("data")
    if isinstance(schema, dict) and isinstance(rows, list):
        listed = [row if isinstance(row, list) else [] for row in rows]
        return {
            name: [row[at] if at < len(row) else None for row in listed]
            for name, at in schema.items()
            if type(at) is int and 0 <= at < 64
        }
    return {name: column for name, column in table.items() if isinstance(column, list)}


class _Tables:
    """Tables of threads, each read once: threads may share them."""

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        # By the identities of the file's own objects, which stay as long as the file is read.
        self._words: dict[int, list[str]] = {}
        self._frames: dict[tuple[int, ...], list[int]] = {}
        self._nodes: dict[tuple[int, ...], I64] = {}

    def nodes(self, thread: dict[str, Any]) -> I64:
        """The node of each row of a thread's table of stacks."""
        frames, key = self._frames_of(thread)
        key = (id(thread.get("stackTable")), *key)
        if key in self._nodes:
            return self._nodes[key]
        table = _columns(thread.get("stackTable"))
        found: list[int] = []
        prefixes, own = table.get("prefix", []), table.get("frame", [])
        for row in range(min(len(prefixes), len(own))):
            prefix, frame = prefixes[row], own[row]
            # A stack comes after the one it continues; what does not begins again.
            above = found[prefix] if type(prefix) is int and 0 <= prefix < row else ROOT
            is_known = type(frame) is int and 0 <= frame < len(frames)
            found.append(self._stacks.tree.below(above, frames[frame]) if is_known else above)
        self._nodes[key] = np.asarray(found, np.int64)
        return self._nodes[key]

    def _frames_of(self, thread: dict[str, Any]) -> tuple[list[int], tuple[int, ...]]:
        """The code of each row of a thread's table of frames, and whose tables they are of."""
        listed = thread.get("stringArray", thread.get("stringTable"))
        key = (id(listed), id(thread.get("frameTable")), id(thread.get("funcTable")))
        if id(listed) not in self._words:
            self._words[id(listed)] = list(texts(listed))[:_MOST_TEXTS]
        if key not in self._frames:
            self._frames[key] = self._coded(thread, self._words[id(listed)])
        return self._frames[key], key

    def _coded(self, thread: dict[str, Any], words: list[str]) -> list[int]:
        table, functions = _columns(thread.get("frameTable")), _columns(thread.get("funcTable"))
        lines = table.get("line", [])

        def text(column: list[Any], row: Any) -> str:
            at = column[row] if type(row) is int and 0 <= row < len(column) else None
            return words[at] if type(at) is int and 0 <= at < len(words) else ""

        code = self._stacks.code
        if "location" in table:  # Gecko's own: "step (train.py:12)"
            column = table["location"]
            return [code(frame_of(text(column, row))) for row in range(len(column))]
        found = []
        names, files = functions.get("name", []), functions.get("fileName", [])
        for row, function in enumerate(table.get("func", [])):
            line = lines[row] if row < len(lines) else 0
            line = line if type(line) is int and 0 <= line < 1 << 31 else 0
            name, path = text(names, function), text(files, function)
            found.append(code(StackFrame(name, path, line)))
        return found
