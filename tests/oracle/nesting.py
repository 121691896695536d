"""Nesting, sweep and union by definition, in quadratic time and plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

LAST = 2**63 - 1


def end_of(start: int, duration: int) -> int:
    return min(start + max(duration, 0), LAST)


def union(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans merged where they overlap or touch."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(span for span in spans if span[1] > span[0]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def nest(
    starts: Sequence[int], durations: Sequence[int], chosen: Sequence[bool]
) -> tuple[list[int], list[int], list[int]]:
    """Parent, self time and depth of the events of one line.

    Replays for each event, from scratch, which of the events before it are still open.
    """
    count = len(starts)
    ends = [end_of(s, d) for s, d in zip(starts, durations, strict=True)]
    order = sorted(
        (i for i in range(count) if chosen[i]), key=lambda i: (starts[i], -(ends[i] - starts[i]), i)
    )
    parent, depth = [-1] * count, [0] * count
    for place, i in enumerate(order):
        open_events: list[int] = []
        for j in order[: place + 1]:
            open_events = [k for k in open_events if ends[k] >= ends[j]]
            if j != i:
                open_events.append(j)
        if open_events:
            parent[i], depth[i] = open_events[-1], len(open_events)
    self_ps = [0] * count
    for i in order:
        children = union([(starts[j], ends[j]) for j in order if parent[j] == i])
        self_ps[i] = ends[i] - starts[i] - sum(end - begin for begin, end in children)
    return parent, self_ps, depth


def sweep(
    spans: Sequence[tuple[int, int, int]], steps: Sequence[tuple[int, int]]
) -> list[dict[int, int]]:
    """Per step the time of each class, looking at every elementary interval."""
    edges = sorted({edge for begin, end, _ in spans for edge in (begin, end)})
    found: list[dict[int, int]] = []
    for step_begin, step_end in steps:
        cuts = sorted({step_begin, step_end, *(e for e in edges if step_begin < e < step_end)})
        times: dict[int, int] = {}
        for begin, end in pairwise(cuts):
            top = max((kind for b, e, kind in spans if b <= begin and end <= e), default=0)
            times[top] = times.get(top, 0) + end - begin
        found.append(times)
    return found


def innermost(spans: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Who has each moment of one line: of (start, length), by index.

    A span is open from its start until it ends, or until one begins that it does not contain. Of
    those open the last has the moment.
    """
    order = sorted(
        (i for i, (_, length) in enumerate(spans) if length > 0),
        key=lambda i: (spans[i][0], -spans[i][1], i),
    )
    found: dict[int, int] = {}
    for place, i in enumerate(order):
        start, end = spans[i][0], sum(spans[i])
        for later in order[place + 1 :]:
            if sum(spans[later]) > end:
                end = min(end, spans[later][0])
        found.update(dict.fromkeys(range(start, end), i))
    return found
