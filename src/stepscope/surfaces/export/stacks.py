"""A timeline as stacks, for viewers of flames: speedscope, collapsed stacks, pprof.

speedscope gets every slice with its times, a profile for each track. The other two have totals: the
self time of each stack, whose first frames are the section and the track. Stats, arrows, counters
and instants have no place in any of them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from stepscope.columns.space import I64
from stepscope.timeline import Timeline
from stepscope.timeline.flames import ROOT, Flame, flame
from stepscope.timeline.threads import Thread, threads
from stepscope.wire import write as wire

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
_PS_PER_NS: Final = 1000
_AT_ONCE: Final = 1 << 17
# Field numbers of perftools.profiles.Profile, and of its Sample, Location, Line and Function.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _TEXT, _DURATION, _SHOWN = 1, 2, 4, 5, 6, 10, 14


def speedscope(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """The text of a profile with every slice of a range, in ns from its begin."""
    found = [one for one in threads(timeline, begin_ps, end_ps) if len(one.event)]
    frames = ",\n".join(json.dumps({"name": name}) for name in timeline.names)
    yield f'{{"$schema":"{_SCHEMA}","exporter":"stepscope",'.encode()
    yield f'"shared":{{"frames":[\n{frames}\n]}},"profiles":[\n'.encode()
    separator = b""
    for thread in found:
        label = f"{timeline.sections[thread.track.section].name} · {thread.track.name}"
        if thread.lane >= 0:
            label += f" #{thread.lane + 1}"
        yield separator
        yield from _profile(label, thread, begin_ps, end_ps)
        separator = b",\n"
    yield b"\n]}\n"


def _profile(label: str, thread: Thread, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    last = (end_ps - begin_ps) // _PS_PER_NS
    head = f'"name":{json.dumps(label)},"unit":"nanoseconds","startValue":0,"endValue":{last}'
    yield f'{{"type":"evented",{head},"events":[\n'.encode()
    # What is cut by the range begins or ends at its edge; instants are not slices.
    begin, end = (np.clip(one, begin_ps, end_ps) for one in (thread.begin_ps, thread.end_ps))
    long = np.flatnonzero(end > begin)
    time = np.concatenate([begin[long], end[long]])
    of = np.concatenate([long, long])
    opens = np.arange(len(of)) < len(long)
    depth = thread.depth[of]
    # At one instant: what is over closes, innermost first; then what is new opens, outermost first.
    order = np.lexsort((np.where(opens, depth, -depth), opens, time))
    for first in range(0, len(order), _AT_ONCE):
        part = order[first : first + _AT_ONCE]
        columns = pl.DataFrame(
            {
                "opens": opens[part],
                "frame": thread.name[of[part]].astype(np.int64),
                "at": (time[part] - begin_ps) // _PS_PER_NS,
            }
        )
        text = pl.concat_str(
            pl.when("opens")
            .then(pl.lit('{"type":"O","frame":'))
            .otherwise(pl.lit('{"type":"C","frame":')),
            "frame",
            pl.lit(',"at":'),
            "at",
            pl.lit("}"),
        )
        lines = ",\n".join(columns.select(text=text)["text"].to_list())
        yield (",\n" if first else "").encode() + lines.encode()
    yield b"\n]}"


def collapsed(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """A line for each stack with self time of its own, in ns."""
    tree = flame(timeline, begin_ps, end_ps, by=("section", "track", "stack"))
    paths = [""] * len(tree)
    self_ns = tree.self_ps // _PS_PER_NS
    lines: list[str] = []
    for node, (parent, label) in enumerate(
        zip(tree.parent.tolist(), tree.label.tolist(), strict=True)
    ):
        if node == ROOT:
            continue
        text = tree.texts[label].replace(";", ":").replace("\n", " ").replace("\r", " ").strip()
        paths[node] = f"{paths[parent]};{text or '(no name)'}" if parent else text or "(no name)"
        if self_ns[node]:
            lines.append(f"{paths[node]} {self_ns[node]}\n")
        if len(lines) >= _AT_ONCE:
            yield "".join(lines).encode("utf-8", "replace")
            lines.clear()
    yield "".join(lines).encode("utf-8", "replace")


def pprof(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """A gzipped profile of two values for each stack: how many events, and their self time."""
    tree = flame(timeline, begin_ps, end_ps, by=("section", "track", "stack"))
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    for piece in _pprof(tree, (end_ps - begin_ps) // _PS_PER_NS):
        yield packer.compress(piece)
    yield packer.flush()


def _pprof(tree: Flame, length_ns: int) -> Iterator[bytes]:
    texts = ["", "events", "count", "time", "nanoseconds"]
    yield wire.blob(_SAMPLE_TYPE, wire.number(1, 1) + wire.number(2, 2))
    yield wire.blob(_SAMPLE_TYPE, wire.number(1, 3) + wire.number(2, 4))
    # A function and a location for each name; text n + 5 is name n.
    used = np.unique(tree.label[1:]).tolist()
    for label in used:
        number = label + 1
        function = wire.number(1, number) + wire.number(2, label + len(texts))
        line = wire.blob(4, wire.number(1, number))
        yield wire.blob(_FUNCTION, function)
        yield wire.blob(_LOCATION, wire.number(1, number) + line)
    yield from _samples(tree)
    yield b"".join(wire.blob(_TEXT, text.encode(), always=True) for text in texts)
    is_used = np.zeros(len(tree.texts), bool)
    is_used[used] = True
    for name, shown in zip(tree.texts, is_used.tolist(), strict=True):
        yield wire.blob(_TEXT, name.encode("utf-8", "replace") if shown else b"", always=True)
    yield wire.number(_DURATION, length_ns) + wire.number(_SHOWN, 3)


def _samples(tree: Flame) -> Iterator[bytes]:
    """Stacks, innermost first, with their values."""
    parent, number = tree.parent.tolist(), (tree.label + 1).tolist()
    self_ns: I64 = tree.self_ps // _PS_PER_NS
    for node in np.flatnonzero((tree.count > 0) & (np.arange(len(tree)) != ROOT)).tolist():
        stack, at = [], node
        while at != ROOT:
            stack.append(wire.varint(number[at]))
            at = parent[at]
        values = wire.varint(int(tree.count[node])) + wire.varint(int(self_ns[node]))
        yield wire.blob(_SAMPLE, wire.blob(1, b"".join(stack)) + wire.blob(2, values))
