"""Pairs the rows of two runs, and says of each pair what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.comparison.breakdown import OP, WAITING, Breakdown
from stepscope.comparison.comparison import PartRow
from stepscope.comparison.levels import Key, Label, Level
from stepscope.comparison.names import natural_key, stem
from stepscope.records import dataclass
from stepscope.result import Table
from stepscope.tables.steps.statistics import (
    F64,
    FEWEST_STEPS,
    MIN_EFFECT_FRAC,
    PartChange,
    PartSample,
    part_change,
)

# How rows were matched, by the key that did it.
_HOW: Final = ("number", "path", "type", "class")


@dataclass(frozen=True, slots=True)
class Pair:
    """Rows of both runs that are the same thing; one side may be empty."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    how: str


@dataclass(frozen=True, eq=False, slots=True)
class _Rows:
    """A breakdown added up to the rows of a level."""

    labels: list[Label]
    mean_ms: F64
    block_ms: F64
    variance: F64
    freedom: F64
    runs: F64
    busy_ms: F64

    def sample(self, rows: list[int]) -> PartSample:
        """The time of some rows together; what occurs nowhere does not vary."""
        block_ms = self.block_ms[rows].sum(axis=0)
        if not rows:
            return PartSample(block_ms, 0.0, inf)
        return PartSample(
            block_ms, float(self.variance[rows].sum()), float(self.freedom[rows].sum())
        )


def changes(before: Breakdown, after: Breakdown, level: Level) -> Table[PartRow]:
    """The rows of a level, largest change first; they sum to the difference of the steps."""
    first, second = _rows(before, level), _rows(after, level)
    waits = before.slowest, after.slowest
    pairs = match(first.labels, second.labels)
    test = partial(
        part_change,
        is_few=min(len(before.sample), len(after.sample)) < FEWEST_STEPS,
        least_ms=MIN_EFFECT_FRAC * before.sample.mean,
        among=len(pairs),
    )
    rows = [_row(pair, first, second, waits, test) for pair in pairs]
    rows = [row for row in rows if row["before_ms"] or row["after_ms"]]
    rows.sort(key=lambda row: (-abs(row["delta_ms"]), -row["after_ms"], row["name"]))
    names = PartRow.__annotations__
    return Table(PartRow, {name: [row[name] for row in rows] for name in names})


def _rows(run: Breakdown, level: Level) -> _Rows:
    labels = [level(item) for item in run.items]
    index = {label: row for row, label in enumerate(dict.fromkeys(labels))}
    row_of: I64 = np.asarray([index[label] for label in labels], dtype=np.int64)

    def added(values: F64) -> F64:
        total = np.zeros((len(index), *values.shape[1:]))
        np.add.at(total, row_of, values)
        return total

    return _Rows(
        list(index),
        added(run.mean_ms),
        added(run.block_ms),
        added(run.variance),
        added(run.freedom),
        added(run.runs),
        added(run.busy_ms),
    )


def match(before: Sequence[Label], after: Sequence[Label]) -> list[Pair]:
    """Pair the rows of two runs: key by key, each on what the finer keys left over."""
    free = [list(range(len(before))), list(range(len(after)))]
    sides = (before, after)
    pairs: list[Pair] = []
    depth = max((len(label.keys) for side in sides for label in side), default=0)
    for level in range(depth):
        groups = [
            _rows_by_key(labels, rows, level) for labels, rows in zip(sides, free, strict=True)
        ]
        found = [
            pair
            for key in groups[0]
            if key in groups[1]
            for pair in _paired(before, after, groups[0][key], groups[1][key], level)
        ]
        pairs += found
        taken = (
            {row for pair in found for row in pair.before},
            {row for pair in found for row in pair.after},
        )
        free = [
            [row for row in rows if row not in gone] for rows, gone in zip(free, taken, strict=True)
        ]
    pairs += [Pair((row,), (), "") for row in free[0]]
    pairs += [Pair((), (row,), "") for row in free[1]]
    return pairs


def _rows_by_key(labels: Sequence[Label], rows: list[int], level: int) -> dict[Key, list[int]]:
    groups: dict[Key, list[int]] = {}
    for row in rows:
        if len(labels[row].keys) > level:
            groups.setdefault(labels[row].keys[level], []).append(row)
    return groups


def _paired(
    before: Sequence[Label], after: Sequence[Label], own: list[int], other: list[int], level: int
) -> list[Pair]:
    """Pairs within one key.

    The finest key ignores numbers that frameworks give: where both runs use the same names, names
    decide; where they do not but are as many, their order does (``dense, dense_1`` is
    ``dense_2, dense_3`` of another process). Ops that cannot be distinguished become one row.
    """
    names = [
        {_spelled(before[row]): row for row in own},
        {_spelled(after[row]): row for row in other},
    ]
    pairs: list[Pair] = []
    if level == 0:
        shared = names[0].keys() & names[1].keys()
        if len(own) != len(other) or len(shared) == len(own):
            pairs = [
                Pair((names[0][one],), (names[1][one],), "name")
                for one in names[0]
                if one in shared
            ]
            own = [row for row in own if _spelled(before[row]) not in shared]
            other = [row for row in other if _spelled(after[row]) not in shared]
    if not own or not other:
        return pairs
    if len(own) == len(other):
        ordered = [
            sorted(rows, key=lambda row: natural_key(labels[row].name))
            for labels, rows in ((before, own), (after, other))
        ]
        return pairs + [
            Pair((one,), (two,), _HOW[level]) for one, two in zip(*ordered, strict=True)
        ]
    return [*pairs, Pair(tuple(own), tuple(other), _HOW[level])]


def _spelled(label: Label) -> tuple[str, str, str]:
    return label.where, label.name, label.type


def _row(
    pair: Pair,
    first: _Rows,
    second: _Rows,
    slowest: tuple[str, str],
    test: Callable[[PartSample, PartSample], tuple[float, PartChange]],
) -> dict[str, Any]:
    before, after = list(pair.before), list(pair.after)
    labels = [first.labels[row] for row in before], [second.labels[row] for row in after]
    label = (labels[1] or labels[0])[0]
    ms = float(first.mean_ms[before].sum()), float(second.mean_ms[after].sum())
    noise, changed = test(first.sample(before), second.sample(after))
    return {
        "kind": _kind(label.kind, pair, ms),
        "name": _name(labels, pair.how, slowest, ms),
        "where": label.where,
        "type": label.type,
        "delta_ms": ms[1] - ms[0],
        "noise_ms": noise,
        "significant": changed,
        "before_ms": ms[0],
        "after_ms": ms[1],
        "runs_before": float(first.runs[before].sum()),
        "runs_after": float(second.runs[after].sum()),
        "busy_before_ms": float(first.busy_ms[before].sum()),
        "busy_after_ms": float(second.busy_ms[after].sum()),
        "matched": pair.how,
    }


def _kind(kind: str, pair: Pair, ms: tuple[float, float]) -> str:
    if kind != OP:
        return kind
    if not pair.before:
        return "added"
    if not pair.after:
        return "removed"
    return "slower" if ms[1] > ms[0] else "faster" if ms[1] < ms[0] else "same"


def _name(
    labels: tuple[list[Label], list[Label]],
    how: str,
    slowest: tuple[str, str],
    ms: tuple[float, float],
) -> str:
    """How the row is called: by its name in the new run, with the old one where it was renamed."""
    before, after = ([label.name for label in side] for side in labels)
    if WAITING in (*before[:1], *after[:1]):
        host = slowest[1] if ms[1] >= ms[0] else slowest[0]
        return f"{WAITING} ({host})" if host else WAITING
    if len(before) > 1 or len(after) > 1:
        # Of different frameworks only the class of the ops is the same.
        common = labels[0][0].keys[-1][-1] if how == "class" else stem((after or before)[0])
        counts = f"{len(before)} → {len(after)}" if before and after else f"{len(before or after)}"
        return f"{common} ({counts} ops)"
    if before and after and stem(before[0]) != stem(after[0]):
        return f"{before[0]} → {after[0]}"
    return (after or before)[0]
