"""tf.data's iterators as events: which call of an iterator caused which.

Every ``GetNext`` of an iterator is an event named by its long name (``Iterator::Root::Prefetch``,
leaf last) with its ``id`` and its ``parent_id``. On one thread a call causes what it encloses.
Asynchronous iterators (Prefetch, ParallelMap …) produce on other threads: there the cause is
found by element. A ``…Produce`` span with an ``element_id`` encloses the upstream calls, a
``…Consume`` with the same id lies inside the call that took the element. Where neither was
recorded, the cause is the parent's call that was waiting at the time.
"""

from __future__ import annotations

import re
from math import prod
from typing import Final

import numpy as np

from stepscope.columns import among, distinct, nest, stats_by_name
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.presence import any_event, entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import Ints
from stepscope.tables.host.events import host_thread_rows, on_host_threads, timed_rows

_ITERATOR = re.compile(r"Iterator::")
_PRODUCE = re.compile(
    r"(Prefetch|ParallelInterleave|ParallelMap|MapAndBatch|ParseExample|ParallelBatch)Produce$"
)
_CONSUME = re.compile(
    r"(Prefetch|ParallelInterleave|ParallelMap|MapAndBatch|ParseExample|ParallelBatch)Consume$"
)
_INSTANCE = re.compile(r"\[\d+\]")
_ASYNCHRONOUS = re.compile(
    r"Prefetch|Parallel(Interleave|Map|Batch)|MapAndBatch|ParseExample|DataService|Legacy"
)
# Wrappers that tf.data puts round the user's pipeline.
WRAPPERS = frozenset({"Root", "Model"})

_ELEMENT_SHAPE = re.compile(r"\[([^\[\]]*)\]")
_TYPE_BYTES: Final = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("half", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    "complex128": 16,
}


@dataclass(frozen=True, eq=False, slots=True)
class IteratorCalls:
    """Calls of iterators, one row per event, by event row.

    Attributes:
        rows: Event rows.
        node: Index into ``long_name``.
        long_name: Distinct long names, without instance numbers (``ForeverRepeat[3]``).
        start_ps, end_ps: Spans.
        id: The iterator's id (0 where not recorded).
        cause: Row in this table of the call that asked for this one; -1 for none found.
        starved: Calls that consumed an element whose production was not recorded.
    """

    rows: I64
    node: I64
    long_name: list[str]
    start_ps: I64
    end_ps: I64
    id: I64
    cause: I64
    starved: Bool

    def __len__(self) -> int:
        return len(self.rows)


def is_asynchronous(iterator: str) -> bool:
    """Whether an iterator of this type produces on threads of its own, ahead of its consumer."""
    return _ASYNCHRONOUS.match(iterator) is not None


def leaf(long_name: str) -> str:
    """The iterator type: the last part of a long name."""
    return long_name.rpartition("::")[2]


@derived
def iterator_calls(host: Host) -> IteratorCalls:
    """The calls of a host's iterators, each with its cause."""
    kind, node, long_name = _names(host)
    rows = timed_rows(host, kind > 0)
    rows = rows[on_host_threads(host)[rows]]
    if not len(rows):
        nothing = np.zeros(0, dtype=np.int64)
        return IteratorCalls(
            nothing, nothing, [], nothing, nothing, nothing, nothing, nothing.astype(bool)
        )
    return _linked(host, rows, kind, node, long_name)


def has_iterator_calls(host: Host) -> bool:
    """Whether ``iterator_calls`` has any."""
    entries = entries_shaped(host, lambda name: _ITERATOR.match(name) is not None)
    return any_event(host, host_thread_rows(host).tolist(), entries=entries)


_CALL, _PRODUCED, _CONSUMED = 1, 2, 3


def _names(host: Host) -> tuple[I64, I64, list[str]]:
    """Per row of event metadata: call, produce or consume; and the node of calls."""
    texts = host.space.event_metadata.name
    kind = np.zeros(max(len(texts), 1), dtype=np.int64)
    node = np.full(len(kind), -1, dtype=np.int64)
    index: dict[str, int] = {}
    for row, text in enumerate(texts):
        if _ITERATOR.match(text):
            kind[row] = _CALL
            node[row] = index.setdefault(_INSTANCE.sub("", text), len(index))
        elif _PRODUCE.match(text):
            kind[row] = _PRODUCED
        elif _CONSUME.match(text):
            kind[row] = _CONSUMED
    return kind, node, list(index)


def _linked(host: Host, rows: I64, kind: I64, node: I64, long_name: list[str]) -> IteratorCalls:
    space = host.space
    meta = space.events.metadata[rows]
    kind_of = kind[meta]
    start = space.events.start_ps[rows]
    end = start + space.length_ps[rows]
    stats = stats_by_name(space, ("id", "parent_id", "element_id"))
    iterator, parent_id, element = (
        Ints(stats[name].rows, stats[name].ints).at(rows, 0)
        for name in ("id", "parent_id", "element_id")
    )
    line_begin = np.searchsorted(rows, space.line_begin).astype(np.int64)
    inside = nest(start, end - start, line_begin).parent.astype(np.int64)
    is_call = kind_of == _CALL
    depth = np.asarray([name.count("::") for name in long_name] or [0])
    is_root = is_call & (depth[np.maximum(node[meta], 0)] == 1)
    cause, starved = _causes(
        _Events(kind_of, start, end, iterator, parent_id, element, inside), is_root
    )
    calls = np.flatnonzero(is_call)
    place = np.cumsum(is_call) - 1
    found = cause[calls]
    found[found >= 0] = place[found[found >= 0]]
    return IteratorCalls(
        rows=rows[calls],
        node=node[meta[calls]],
        long_name=long_name,
        start_ps=start[calls],
        end_ps=end[calls],
        id=iterator[calls],
        cause=found,
        starved=starved[calls],
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Events:
    """Calls, produces and consumes of a host, by event row; ``inside`` indexes this table."""

    kind: I64
    start_ps: I64
    end_ps: I64
    id: I64
    parent_id: I64
    element: I64
    inside: I64


def _causes(events: _Events, is_root: Bool) -> tuple[I64, Bool]:
    """The call that caused each call (-1: none), and which calls starved on unseen elements."""
    count = len(events.kind)
    calls = np.flatnonzero((events.kind == _CALL) & ~is_root)
    cause = np.full(count, -1, dtype=np.int64)
    outer = events.inside[calls]
    outer_kind = np.where(outer >= 0, events.kind[outer], 0)
    outer_id = np.where(outer >= 0, events.id[outer], 0)
    own_parent = events.parent_id[calls]
    direct = (outer_kind == _CALL) & (
        (own_parent == 0) | (outer_id == 0) | (own_parent == outer_id)
    )
    cause[calls[direct]] = outer[direct]
    consumes = np.flatnonzero(events.kind == _CONSUMED)
    taker = events.inside[consumes]
    has_taker = (taker >= 0) & (events.kind[np.maximum(taker, 0)] == _CALL)
    consumes, taker = consumes[has_taker], taker[has_taker]
    made = calls[outer_kind == _PRODUCED]
    produce = outer[outer_kind == _PRODUCED]
    owner, element = events.parent_id[made], events.element[produce]
    after = _next_match(
        (
            np.concatenate([owner, events.id[taker]]),
            np.concatenate([element, events.element[consumes]]),
        ),
        np.concatenate([events.start_ps[produce], events.start_ps[consumes]]),
        len(made),
    )
    cause[made[after >= 0]] = taker[after[after >= 0]]
    starved = np.zeros(count, dtype=bool)
    seen = _next_match(
        (
            np.concatenate([events.id[taker], owner]),
            np.concatenate([events.element[consumes], element]),
        ),
        np.zeros(len(consumes) + len(made), dtype=np.int64),
        len(consumes),
    )
    starved[taker[seen < 0]] = True
    loose = calls[cause[calls] < 0]
    cause[loose] = _waiting_parent(events, loose)
    return cause, starved


def _next_match(keys: tuple[I64, ...], time: I64, count: int) -> I64:
    """For each of the first ``count`` entries, the next of the others with equal keys.

    Args:
        keys: Of all entries: first those that look, then those that are looked for.
        time: Of all entries, in the same order.
        count: How many look.

    Returns:
        Position among those looked for, the earliest not before the own time; -1 for none.
    """
    found = np.full(count, -1, dtype=np.int64)
    if count == 0 or len(time) == count:
        return found
    is_target = np.arange(len(time)) >= count
    order = np.lexsort((is_target, time, *keys))
    position = np.where(is_target[order], np.arange(len(order)), len(order))
    following = np.minimum.accumulate(position[::-1])[::-1]
    has = (following < len(order)) & ~is_target[order]
    target, source = order[following[has]], order[has]
    same = np.ones(len(source), dtype=bool)
    for key in keys:
        same &= key[target] == key[source]
    found[source[same]] = target[same] - count
    return found


def _waiting_parent(events: _Events, loose: I64) -> I64:
    """For calls without a recorded cause: their parent iterator's call that was open then."""
    parents = np.flatnonzero((events.kind == _CALL) & (events.id != 0))
    found = np.full(len(loose), -1, dtype=np.int64)
    wanted = events.parent_id[loose]
    known = (wanted != 0) & among(distinct(events.id[parents]), wanted)
    if not known.any():
        return found
    loose, wanted = loose[known], wanted[known]
    # Calls of one iterator take turns, so the first that ends after ours began is the one.
    after = _next_match(
        (np.concatenate([wanted, events.id[parents]]),),
        np.concatenate([events.start_ps[loose], events.end_ps[parents]]),
        len(loose),
    )
    parent = np.where(after >= 0, parents[after], -1)
    overlaps = (parent >= 0) & (events.start_ps[parent] < events.end_ps[loose])
    found[known] = np.where(overlaps, parent, -1)
    return found


@dataclass(frozen=True, slots=True)
class Element:
    """What an iterator hands on at once.

    Attributes:
        largest: Shape and type of its largest component: "[640,640,3] float".
        size: Of all components, in bytes.
    """

    largest: str
    size: int


def element(shapes: str, types: str) -> Element | None:
    """How large an element is by its shapes and types; None where that is not known.

    An iterator's event says both of its elements' components: ``shapes="[640,640,3] []"``,
    ``types="float int32"``. Sizes that differ from element to element ("?" and "-1"), strings and
    other components without a fixed size leave an element's size unknown.
    """
    listed, kinds = _ELEMENT_SHAPE.findall(shapes), types.split()
    if not listed or len(listed) != len(kinds):
        return None
    sizes = [_size(shape, kind) for shape, kind in zip(listed, kinds, strict=True)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    at = known.index(max(known))
    return Element(f"[{listed[at]}] {kinds[at]}", sum(known))


def _size(shape: str, kind: str) -> int | None:
    """Bytes of a component; None where it has no fixed size."""
    dims = [one.strip() for one in shape.split(",") if one.strip()]
    if kind not in _TYPE_BYTES or not all(one.isdecimal() for one in dims):
        return None
    return prod(map(int, dims)) * _TYPE_BYTES[kind]
