"""What a stretch of time is made of, as a tree: stacks merged by name, or groups within groups.

The time of a node is the self time of its events and of all nodes below it, clipped to the
stretch. Self times of one track never overlap, so the nodes below a node sum to no more than it,
at every level; time that two tracks spend at once counts twice, as it does in a list of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from stepscope.columns import nest
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass, field
from stepscope.schema import names
from stepscope.timeline.belonging import OUTSIDE, members, recorded_groups
from stepscope.timeline.cancellation import CancellationCheck, waits
from stepscope.timeline.model import CATEGORIES, Timeline, Track
from stepscope.timeline.ranges import RETOLD, events_in

#: What a tree may be grouped by, from the root on. A stack is whole only within one track.
GROUPS: Final = ("section", "track", "step", "module", "op", "category", "name", "stack")
ROOT: Final = 0


@dataclass(frozen=True, eq=False, slots=True)
class Flame:
    """A tree; one row per node, parents before their children, row 0 the root.

    Attributes:
        parent: Row of each node's parent; -1 for the root.
        label: Its text, as an index into ``texts``.
        texts: Names of the timeline and of its groups.
        count: Events that the node itself stands for.
        self_ps: Their self time.
        total_ps: With all nodes below.
        example: Id of the longest of its events, by self time; -1 where it has none of its own.
        category: What that event is, an index into ``CATEGORIES``; -1 where it has none.
    """

    parent: I64
    label: I64
    texts: tuple[str, ...]
    count: I64
    self_ps: I64
    total_ps: I64
    example: I64
    category: I64

    def __len__(self) -> int:
        return len(self.parent)


@dataclass
class Nodes:
    """Nodes as they grow, level by level."""

    labels: int
    parent: list[I64] = field(default_factory=lambda: [np.asarray([-1], np.int64)])
    label: list[I64] = field(default_factory=lambda: [np.asarray([-1], np.int64)])
    size: int = 1

    def below(self, parent: I64, label: I64) -> I64:
        """The node of each pair of a parent and a label; none of the parents had children."""
        key, code = np.unique(parent * self.labels + label, return_inverse=True)
        self.parent.append(key // self.labels)
        self.label.append(key % self.labels)
        first, self.size = self.size, self.size + len(key)
        found: I64 = first + code.ravel().astype(np.int64)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class _Clipped:
    """Events of all chosen tracks inside the range, track by track."""

    track: I64
    event: I64
    name: I64
    category: I64
    self_ps: I64
    depth: I64
    parent: I64


def flame(
    timeline: Timeline,
    begin_ps: int,
    end_ps: int,
    tracks: Sequence[int] | None = None,
    by: Sequence[str] = ("stack",),
    check: CancellationCheck = waits,
) -> Flame:
    """The tree of the events that touch ``begin_ps:end_ps``.

    Args:
        timeline: The session.
        begin_ps: On the axis.
        end_ps: End of the range.
        tracks: Which; by default all on which work was recorded, as for ``range_totals``.
        by: Groups from the root on, of ``GROUPS``.
        check: Called before each track; may raise.

    Raises:
        ValueError: The groups are none, unknown or repeated, or a stack is cut by another group.
    """
    _check_groups(by)
    ids = range(len(timeline.tracks)) if tracks is None else tracks
    chosen = [timeline.tracks[i] for i in ids if timeline.tracks[i].counter is None]
    if tracks is None:
        chosen = [track for track in chosen if track.kind not in RETOLD]
    timeline.build_all(chosen)
    found = _clipped(timeline, chosen, begin_ps, end_ps, check)
    texts = list(timeline.names)
    labels = {
        group: _labels(group, timeline, found, texts)
        for group in by
        if group not in ("stack", "name")
    }
    stacked = _drop_step_numbers(found.name, texts) if "stack" in by else found.name
    nodes = Nodes(len(texts))
    node = np.full(len(found.event), ROOT, np.int64)
    for group in by:
        if group == "stack":
            node = _stacks(nodes, node, found, stacked)
        else:
            node = nodes.below(node, labels.get(group, found.name))
    return _summed(nodes, node, found, tuple(texts))


def inverted(tree: Flame) -> Flame:
    """The tree of who was called by whom: what took the time first, its callers below it.

    The time of a node is the self time of what is at its top, spent on this way into it.
    """
    own = np.flatnonzero(tree.self_ps > 0)
    own = own[own != ROOT]
    return upwards(tree, own, tree.self_ps[own])


def upwards(tree: Flame, rows: I64, weight: I64) -> Flame:
    """The tree of the ways up from some nodes: these first, their callers below."""
    nodes = Nodes(len(tree.texts))
    at, node = rows, np.full(len(rows), ROOT, np.int64)
    counts, top = tree.count[rows], rows
    places, sums, numbers, tops = [node], [weight], [counts], [top]
    while len(at):
        node = nodes.below(node, tree.label[at])
        places.append(node)
        sums.append(weight)
        numbers.append(counts)
        tops.append(top)
        at = tree.parent[at]
        keep = at != ROOT
        at, node, weight = at[keep], node[keep], weight[keep]
        counts, top = counts[keep], top[keep]
    place = np.concatenate(places)
    total = sum_at(place, np.concatenate(sums), nodes.size)
    parent, label = np.concatenate(nodes.parent), np.concatenate(nodes.label)
    below = np.zeros(nodes.size, np.int64)
    np.add.at(below, parent[1:], total[1:])
    # Of each node, the row that most of its time is of.
    best = np.zeros(nodes.size, np.int64)
    order = np.argsort(np.concatenate(sums), kind="stable")
    best[place[order]] = np.concatenate(tops)[order]
    count = sum_at(place, np.concatenate(numbers), nodes.size)
    # A way ends in its outermost caller: what is left of a node's time has no caller.
    example, category = tree.example[best], categories_of(nodes, tree)
    return Flame(parent, label, tree.texts, count, total - below, total, example, category)


def categories_of(nodes: Nodes, tree: Flame) -> I64:
    """What the nodes of another tree of the same names are: as the longest of that name is."""
    known = np.full(len(tree.texts) + 1, -1, np.int64)  # the last for the root's label, -1
    order = np.argsort(tree.self_ps, kind="stable")
    known[tree.label[order]] = tree.category[order]
    found: I64 = known[np.concatenate(nodes.label)]
    return found


def _check_groups(by: Sequence[str]) -> None:
    if not by or len(set(by)) < len(by) or not set(by) <= set(GROUPS):
        raise ValueError(f"groups are some of {', '.join(GROUPS)}, each once")
    if "stack" in by and (by[-1] != "stack" or set(by) - {"section", "track", "stack"}):
        raise ValueError("a stack comes last, within sections and tracks only")


def _labels(group: str, timeline: Timeline, found: _Clipped, texts: list[str]) -> I64:
    """The text of each event's group, as an index into ``texts``, which grows by them."""
    first = len(texts)
    if group == "section":
        texts += [section.name for section in timeline.sections]
        sections = np.asarray([track.section for track in timeline.tracks], np.int64)
        return first + sections[found.track]
    if group == "track":
        texts += [track.name for track in timeline.tracks]
        return first + found.track
    if group == "category":
        texts += CATEGORIES
        return first + found.category
    # One label for each text: tracks and hosts have steps and modules of the same names.
    known = {OUTSIDE[group]: first}
    label = np.full(len(found.event), first, np.int64)
    begins = np.flatnonzero(np.diff(found.track, prepend=-1))
    for begin, end in zip(begins, [*begins[1:], len(found.track)], strict=True):
        track = timeline.tracks[found.track[begin]]
        own, code = members(group, timeline, track, found.event[begin:end] - track.first_event)
        used, place = np.unique(code, return_inverse=True)
        named = [
            first if one < 0 else known.setdefault(own[one], first + len(known))
            for one in used.tolist()
        ]
        label[begin:end] = np.asarray(named, np.int64)[place.ravel()]
    texts += known
    return label


def _clipped(
    timeline: Timeline,
    chosen: Sequence[Track],
    begin_ps: int,
    end_ps: int,
    check: CancellationCheck,
) -> _Clipped:
    starts, lengths, parts, bounds = [], [], [], [0]
    empty = np.empty(0, np.int64)
    for track in chosen:
        check()
        shift = timeline.axis.shift_ps[track.host]
        events = events_in(timeline, track, begin_ps, end_ps)
        start = track.start_ps[events] + shift
        stop = np.minimum(start + np.maximum(track.duration_ps[events], 0), end_ps)
        start = np.maximum(start, begin_ps)
        code = track.code[events]
        starts.append(start)
        lengths.append(np.maximum(stop - start, 0))
        bounds.append(bounds[-1] + len(events))
        parts.append(
            (
                np.full(len(events), track.id, np.int64),
                track.first_event + events,
                track.labels.name[code].astype(np.int64),
                track.labels.category[code].astype(np.int64),
            )
        )
    columns = [np.concatenate([empty, *column]) for column in zip(*parts, strict=True)]
    ids, event, name, category = columns or [empty] * 4
    nesting = nest(
        np.concatenate([empty, *starts]),
        np.concatenate([empty, *lengths]),
        np.asarray(bounds, np.int64),
    )
    depth, parent = nesting.depth.astype(np.int64), nesting.parent.astype(np.int64)
    return _Clipped(ids, event, name, category, nesting.self_ps, depth, parent)


def _drop_step_numbers(name: I64, texts: list[str]) -> I64:
    """Names by which stacks merge: PyTorch numbers its steps, which would keep them apart."""
    used, place = np.unique(name, return_inverse=True)
    numbered = [one for one in used.tolist() if texts[one].startswith(names.PYTORCH_STEP)]
    if not numbered:
        return name
    texts.append(names.PYTORCH_STEP.rstrip("#"))
    merged: I64 = np.where(np.isin(used, numbered), len(texts) - 1, used)[place.ravel()]
    return merged


def _stacks(nodes: Nodes, within: I64, found: _Clipped, name: I64) -> I64:
    """The node of each event: that of its parent's, and its name; level by level."""
    node = within.copy()
    order = np.argsort(found.depth, kind="stable")
    begin = 0
    for end in np.cumsum(np.bincount(found.depth)).tolist():
        level = order[begin:end]
        parent = found.parent[level]
        above = np.where(parent >= 0, node[parent], within[level])
        node[level] = nodes.below(above, name[level])
        begin = end
    return node


def _summed(nodes: Nodes, node: I64, found: _Clipped, texts: tuple[str, ...]) -> Flame:
    own = sum_at(node, found.self_ps, nodes.size)
    parent, label = np.concatenate(nodes.parent), np.concatenate(nodes.label)
    total = own.copy()
    # Children are behind their parents: the levels from the last on are complete when added up.
    first = nodes.size
    for level in reversed(nodes.parent[1:]):
        first -= len(level)
        np.add.at(total, level, total[first : first + len(level)])
    example, category = np.full((2, nodes.size), -1, np.int64)
    order = np.lexsort((-found.event, found.self_ps))  # of equals the first is written last
    example[node[order]] = found.event[order]
    category[node[order]] = found.category[order]
    count = np.bincount(node, minlength=nodes.size).astype(np.int64)
    return Flame(parent, label, texts, count, own, total, example, category)


def sum_at(place: I64, values: I64, size: int) -> I64:
    """Σ of values by place."""
    total = np.zeros(size, np.int64)
    np.add.at(total, place, values)
    return total


@dataclass(frozen=True, eq=False, slots=True)
class FlamePair:
    """Nodes that either of two trees has, matched by the texts on the way to them.

    Attributes:
        parent: As in ``Flame``.
        text: Label of each node; "" for the root.
        before, after: Row of the node in either tree; -1 where that one has none.
    """

    parent: I64
    text: tuple[str, ...]
    before: I64
    after: I64

    def __len__(self) -> int:
        return len(self.parent)


def paired(before: Flame, after: Flame) -> FlamePair:
    """Both trees' nodes, matched from the root on."""
    trees = (before, after)
    words: dict[str, int] = {}
    codes = [_codes(tree, words) for tree in trees]
    levels = [_levels(tree) for tree in trees]
    place = [np.zeros(len(tree), np.int64) for tree in trees]
    parents, texts = [np.asarray([-1], np.int64)], [np.asarray([-1], np.int64)]
    size, several = 1, max(len(words), 1)
    for depth in range(1, max(map(len, levels))):
        rows = [own[depth] if depth < len(own) else np.empty(0, np.int64) for own in levels]
        keys = [place[i][trees[i].parent[rows[i]]] * several + codes[i][rows[i]] for i in range(2)]
        key, which = np.unique(np.concatenate(keys), return_inverse=True)
        which = which.ravel() + size
        place[0][rows[0]], place[1][rows[1]] = np.split(which, [len(rows[0])])
        parents.append(key // several)
        texts.append(key % several)
        size += len(key)
    found = np.full((2, size), -1, np.int64)
    for i in range(2):
        found[i, place[i]] = np.arange(len(trees[i]))
    listed = list(words)
    label = np.concatenate(texts)[1:].tolist()
    text = ("", *(listed[code] for code in label))
    return FlamePair(np.concatenate(parents), text, found[0], found[1])


def _codes(tree: Flame, words: dict[str, int]) -> I64:
    """A number for the text of each node; the same for both trees."""
    used, which = np.unique(tree.label[1:], return_inverse=True)
    known = [words.setdefault(tree.texts[label], len(words)) for label in used.tolist()]
    own = np.asarray(known, np.int64)[which.ravel()] if len(used) else np.empty(0, np.int64)
    return np.append(np.int64(0), own).astype(np.int64)


def _levels(tree: Flame) -> list[I64]:
    """Rows by depth. Two nodes of one parent never share a text, so levels match one to one."""
    rows = [np.zeros(1, np.int64)]
    while True:
        inside = np.zeros(len(tree), np.bool_)
        inside[rows[-1]] = True
        below = np.flatnonzero(np.append(False, inside[tree.parent[1:]]))
        if not len(below):
            return rows
        rows.append(below)


def callers(tree: Flame, is_named: Callable[[str], bool]) -> Flame:
    """The name first and its callers below it; a node's time is what the name took, called so.

    Only outermost nodes of the name count, so that a function which calls itself is not counted
    twice: a node inside another of the same name is one of its callees.
    """
    found = np.flatnonzero(_outermost(tree, is_named))
    return upwards(tree, found, tree.total_ps[found])


def callees(tree: Flame, is_named: Callable[[str], bool]) -> Flame:
    """The name first and what it calls below it, merged over all that call it."""
    found = np.flatnonzero(_outermost(tree, is_named))
    order = np.argsort(tree.parent, kind="stable")
    first = np.searchsorted(tree.parent[order], np.arange(len(tree) + 1))
    nodes = Nodes(len(tree.texts))
    at, above = found, np.full(len(found), ROOT, np.int64)
    rows, places = [], []
    while len(at):
        place = nodes.below(above, tree.label[at])
        rows.append(at)
        places.append(place)
        counts = first[at + 1] - first[at]
        # The children of all nodes at once: so many from the first of each.
        begin = np.repeat(first[at] - (np.cumsum(counts) - counts), counts)
        above = np.repeat(place, counts)
        at = order[begin + np.arange(len(begin))]
    row = np.concatenate([np.empty(0, np.int64), *rows])
    place = np.concatenate([np.empty(0, np.int64), *places])
    total = sum_at(place, tree.total_ps[row], nodes.size)
    total[ROOT] = tree.total_ps[found].sum()
    example = np.full(nodes.size, -1, np.int64)
    by_time = np.argsort(tree.self_ps[row], kind="stable")
    example[place[by_time]] = tree.example[row][by_time]
    return Flame(
        parent=np.concatenate(nodes.parent),
        label=np.concatenate(nodes.label),
        texts=tree.texts,
        count=sum_at(place, tree.count[row], nodes.size),
        self_ps=sum_at(place, tree.self_ps[row], nodes.size),
        total_ps=total,
        example=example,
        category=categories_of(nodes, tree),
    )


def _outermost(tree: Flame, is_named: Callable[[str], bool]) -> Bool:
    """Nodes of a name below no other node of it."""
    labels = np.asarray([is_named(text) for text in tree.texts] or [False], dtype=bool)
    named = labels[tree.label]
    named[ROOT] = False
    above = np.maximum(tree.parent, ROOT)
    is_within = named[above]
    # Each pass looks twice as far up: as many passes as the depth has binary digits.
    while above.any():
        is_within, above = is_within | is_within[above], above[above]
    found: Bool = named & ~is_within
    return found


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups from the root on, as ``flames.flame`` takes them, and their name for people."""

    by: tuple[str, ...]
    label: str


#: The first is the one to begin with.
GROUPINGS: Final = (
    Grouping(("stack",), "stack, all tracks merged"),
    Grouping(("track", "stack"), "track, then stack"),
    Grouping(("section", "stack"), "device or host, then stack"),
    Grouping(("category", "name"), "category, then name"),
    Grouping(("track", "category", "name"), "track, category, name"),
    Grouping(("section", "category", "name"), "device or host, category, name"),
    Grouping(("name",), "name"),
    Grouping(("name", "track"), "name, then track"),
    Grouping(("module", "name"), "module, then name"),
    Grouping(("module", "op", "name"), "module, framework op, name"),
    Grouping(("op", "name"), "framework op, then name"),
    Grouping(("step", "category", "name"), "step, category, name"),
    Grouping(("step", "module", "name"), "step, module, name"),
    Grouping(("name", "step"), "name, then step"),
)


def groupings(timeline: Timeline) -> tuple[Grouping, ...]:
    """Those whose groups the session has: no modules where none was recorded."""
    missing = set(OUTSIDE) - recorded_groups(timeline)
    return tuple(one for one in GROUPINGS if missing.isdisjoint(one.by))
