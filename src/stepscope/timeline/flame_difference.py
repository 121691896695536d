"""Two flames as one: where each node's time went up or down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I64
from stepscope.timeline.flames import Flame


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
