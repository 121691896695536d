"""One name of a flame between those who call it and those it calls.

Only outermost nodes of the name count, so that a function which calls itself is not counted
twice: a node inside another of the same name is one of its callees.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stepscope.columns.space import Bool
from stepscope.timeline.flames import ROOT, Flame, Nodes, categories_of, sum_at, upwards


def callers(tree: Flame, is_named: Callable[[str], bool]) -> Flame:
    """The name first and its callers below it; a node's time is what the name took, called so."""
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
