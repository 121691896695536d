"""Clocks of recordings, brought together by what ends everywhere at once.

Model: a recording's clock shows true time + offset + drift × (time − middle). Neighbours in each
meeting give the difference of two recordings' ends; its median over their meetings is one equation
about their offsets. All equations are solved together by weighted least squares, reweighted so that
a few wrong ones do not count (Huber). Offsets are relative to the median recording.

``uncertainty_ps`` is u = 2 σ + b: σ from the normal equations, b half the median transfer of the
shortest class of meetings used, because who is served first by a collective ends first every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64
from stepscope.pod.meetings import Meetings, Units
from stepscope.pod.rows import grouped, offsets, runs, whole_units
from stepscope.records import dataclass
from stepscope.summary.summary import Who

F64 = NDArray[np.float64]
_PS_PER_NS: Final = 1000
_FAR_NS: Final = 10**15  # more than a week, and no overflow in ps
_ROUNDS: Final = 6
_HUBER: Final = 1.5
# Pairs of neighbours that are looked at together.
_MOST_PAIRS: Final = 1 << 21
# A stamp is accurate to this at best.
_FLOOR_PS: Final = 1e5
#: From this length on clocks can be told to drift.
DRIFT_FROM_PS: Final = 2e12
# Exact errors cost the cube of the number of recordings.
_EXACT_UP_TO: Final = 600


@dataclass(frozen=True, eq=False, slots=True)
class Clocks:
    """By recording.

    Attributes:
        offset_ps: What its wall clock shows more than the median one's, in the middle of the time
            it is fitted on.
        drift: By how much faster it runs, as a fraction; 0 where recordings are short.
        uncertainty_ps: u; infinite where it meets nobody.
        meetings: How many equations it is in.
        component: Recordings with different numbers meet neither directly nor through others.
        bias_ps: b.
    """

    offset_ps: F64
    drift: F64
    uncertainty_ps: F64
    meetings: I64
    component: I64
    bias_ps: float


def clocks_of(found: Meetings, units: Units, who: Sequence[Who]) -> Clocks:
    """Fit the clocks of all recordings."""
    count = len(who)
    origin = np.asarray([one.origin_ns for one in who], dtype=np.int64)
    apart = np.clip(origin - (origin[0] if count else 0), -_FAR_NS, _FAR_NS) * _PS_PER_NS
    edges, lasted_ps = _edges(_Ends(found, units.recording, apart), count)
    component = _components(edges.one, edges.other, count)
    offset, error = _solve(edges.one, edges.other, edges.middle, edges.sigma, count, component)
    drift = np.zeros(count)
    if lasted_ps > DRIFT_FROM_PS:
        good = np.isfinite(edges.slope)
        drift, _ = _solve(
            edges.one[good],
            edges.other[good],
            edges.slope[good],
            edges.slope_sigma[good],
            count,
            component,
        )
    bias = _shortest_ps(found) / 2
    counts = np.bincount(edges.one, edges.pairs, count) + np.bincount(
        edges.other, edges.pairs, count
    )
    return Clocks(
        offset_ps=offset,
        drift=drift,
        uncertainty_ps=np.where(counts > 0, 2 * error + bias, np.inf),
        meetings=counts.astype(np.int64),
        component=component,
        bias_ps=bias,
    )


def _shortest_ps(found: Meetings) -> float:
    """The median transfer of the communicator that has the shortest; 0 where there is none.

    A meeting counts once for each member.
    """
    told = np.flatnonzero(found.tells)
    communicator, transfer = found.communicator[told], found.transfer_ps[told]
    order = np.lexsort((transfer, communicator))
    communicator, transfer = communicator[order], transfer[order]
    begin = runs(communicator)
    many = np.cumsum(found.size[told][order])
    before = np.append(0, many)[begin]
    size = np.append(before[1:], many[-1:]) - before
    # The members in the middle, counted from the shortest transfer on.
    low, high = (
        np.searchsorted(many, before + middle, side="right")
        for middle in ((size - 1) // 2, size // 2)
    )
    return float(((transfer[low] + transfer[high]) / 2).min()) if len(begin) else 0.0


@dataclass(frozen=True, eq=False, slots=True)
class _Edges:
    """Equations: by two recordings that are neighbours, what their clocks differ by."""

    one: I64
    other: I64
    pairs: I64
    middle: F64
    sigma: F64
    slope: F64
    slope_sigma: F64


class _Ends:
    """The ends of meetings on the clocks of their recordings, some meetings at a time."""

    def __init__(self, found: Meetings, recording: I64, apart_ps: I64) -> None:
        self._found, self._apart_ps = found, apart_ps
        self._recording = recording.astype(np.int32)
        low = np.full(len(found.size), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full(len(found.size), -1, dtype=np.int32)
        for piece in found.pieces():
            node, mine = found.node[piece], self._recording[found.unit[piece]]
            np.minimum.at(low, node, mine)
            np.maximum.at(high, node, mine)
        # Rows of meetings whose ends compare clocks, by meeting.
        crosses = found.of_node(found.tells & (low < high))
        crosses &= found.duration_ps >= 0
        rows = grouped(found.node, offsets(found.node, len(found.size)))
        self._rows = rows[crosses[rows]]

    def __len__(self) -> int:
        return len(self._rows)

    def pairs(self) -> Iterator[tuple[I32, I32, F64, F64]]:
        """Neighbours in meetings: two recordings, difference of ends, when."""
        found = self._found
        for piece in whole_units(found.node[self._rows]):
            row = self._rows[piece]
            recording = self._recording[found.unit[row]]
            end = found.start_ps[row] + found.duration_ps[row] + self._apart_ps[recording]
            yield _pairs(found.node[row], recording, end)


def _pairs(node: I32, recording: I32, end: I64) -> tuple[I32, I32, F64, F64]:
    """Neighbours in a ring through each meeting: two recordings, difference of ends, when."""
    order = np.lexsort((-end, recording, node))
    node, recording, end = node[order], recording[order], end[order]
    is_first = np.append(True, (np.diff(node) != 0) | (np.diff(recording) != 0))[: len(node)]
    node, recording, end = node[is_first], recording[is_first], end[is_first]
    begin = np.flatnonzero(np.diff(node, prepend=-1))
    size = np.diff(np.append(begin, len(node)))
    following = np.arange(1, len(node) + 1)
    following[begin + size - 1] = begin
    # Two members are one pair, not two.
    kept = np.repeat(size > 2, size)
    kept[begin[size == 2]] = True
    here = np.flatnonzero(kept)
    there = following[here]
    low = np.where(recording[here] < recording[there], here, there)
    high = np.where(recording[here] < recording[there], there, here)
    difference = (end[high] - end[low]).astype(np.float64)
    return recording[low], recording[high], difference, end[low].astype(np.float64)


def _edges(ends: _Ends, count: int) -> tuple[_Edges, float]:
    """One equation for every two neighbours: medians, and how sure they are; how long all lasts."""
    parts = max(-(-len(ends) // _MOST_PAIRS), 1)
    found: list[_Edges] = []
    first, last = np.inf, -np.inf
    for part in range(parts):  # some recordings at a time: medians need all pairs of two
        keys, differences, whens = [], [], []
        for one, other, difference, when in ends.pairs():
            first, last = min(first, when.min(initial=np.inf)), max(last, when.max(initial=-np.inf))
            mine = one % parts == part
            keys.append(one[mine].astype(np.int64) * count + other[mine])
            differences.append(difference[mine])
            whens.append(when[mine])
        if keys:
            columns = np.concatenate(keys), np.concatenate(differences), np.concatenate(whens)
            found.append(_equations(*columns, count))
    nothing = np.zeros(0)
    found = found or [_equations(nothing.astype(np.int64), nothing, nothing, max(count, 1))]
    whole = _Edges(
        *(np.concatenate([getattr(one, name) for one in found]) for name in _Edges.__slots__)
    )
    return whole, last - first


def _equations(key: I64, difference: F64, when: F64, count: int) -> _Edges:
    order = np.lexsort((when, key))
    begin = runs(key[order])
    parts = np.split(order, begin[1:]) if len(begin) else []
    pairs = np.asarray([len(rows) for rows in parts], dtype=np.int64)
    middle, sigma, slope, slope_sigma = (np.zeros(len(parts)) for _ in range(4))
    for place, rows in enumerate(parts):
        values = difference[rows]
        middle[place] = np.median(values)
        spread = 1.4826 * np.median(np.abs(values - middle[place]))
        noise = max(float(spread) * 1.2533, _FLOOR_PS)
        sigma[place] = noise / np.sqrt(len(rows))
        slope[place], slope_sigma[place] = _slope(when[rows], values, noise)
    both = key[order[begin]]
    return _Edges(both // count, both % count, pairs, middle, sigma, slope, slope_sigma)


def _slope(when: F64, values: F64, noise: float) -> tuple[float, float]:
    """Change over time between the first and the last third; NaN where too short to tell."""
    third = len(when) // 3
    if third < 3:
        return float("nan"), float("inf")
    early, late = slice(None, third), slice(-third, None)
    apart = float(np.median(when[late]) - np.median(when[early]))
    if apart <= 0:
        return float("nan"), float("inf")
    change = float(np.median(values[late]) - np.median(values[early]))
    return change / apart, noise * np.sqrt(2 / third) / apart


def _components(one: I64, other: I64, count: int) -> I64:
    """The lowest number of those that each is connected with."""
    found: I64 = np.arange(count)
    while len(one):
        low = np.minimum(found[one], found[other])
        before = found.copy()
        np.minimum.at(found, one, low)
        np.minimum.at(found, other, low)
        found = found[found]  # what it points at points on
        if (found == before).all():
            break
    return found


def _solve(
    one: I64, other: I64, value: F64, sigma: F64, count: int, component: I64
) -> tuple[F64, F64]:
    """Find x with x[other] − x[one] ≈ value, 0 in the median of components; its standard error."""
    found = np.zeros(count)
    weight = 1 / sigma**2
    for _ in range(_ROUNDS if len(one) else 0):
        found = _least_squares(one, other, value, weight, found)
        error = np.abs(found[other] - found[one] - value) / sigma
        weight = np.where(error > _HUBER, _HUBER / np.maximum(error, _HUBER), 1.0) / sigma**2
    for part in np.unique(component):
        mine = component == part
        found[mine] -= np.median(found[mine])
    return found, _standard_error(one, other, weight, count)


def _least_squares(one: I64, other: I64, value: F64, weight: F64, start: F64) -> F64:
    """Conjugate gradients on the normal equations, which are a graph's Laplacian."""
    size = len(start)

    def laplacian(x: F64) -> F64:
        flow = weight * (x[other] - x[one])
        return _sums(other, flow, size) - _sums(one, flow, size)

    diagonal = _sums(other, weight, size) + _sums(one, weight, size)
    scale = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300), 0.0)
    wanted = _sums(other, weight * value, size) - _sums(one, weight * value, size)
    found = start.copy()
    residual = wanted - laplacian(found)
    direction = scale * residual
    now = float(residual @ direction)
    enough = max(now, float(wanted @ (scale * wanted))) * 1e-18
    for _ in range(10 * size):
        if now <= enough:
            break
        step = laplacian(direction)
        along = float(direction @ step)
        if along <= 0:
            break
        found += now / along * direction
        residual -= now / along * step
        scaled = scale * residual
        following = float(residual @ scaled)
        direction = scaled + following / now * direction
        now = following
    return found


def _sums(place: I64, values: F64, size: int) -> F64:
    return np.bincount(place, values, size).astype(np.float64)


def _standard_error(one: I64, other: I64, weight: F64, count: int) -> F64:
    """Of each x against the mean of all; a lower bound where there are too many to be exact."""
    diagonal = _sums(other, weight, count) + _sums(one, weight, count)
    if count > _EXACT_UP_TO:
        return np.where(diagonal > 0, 1 / np.sqrt(np.maximum(diagonal, 1e-300)), np.inf)
    matrix = np.diag(diagonal)
    np.add.at(matrix, (one, other), -weight)
    np.add.at(matrix, (other, one), -weight)
    # In units of the largest weight, or the smallest eigenvalues are taken for zero.
    largest = float(diagonal.max()) if count and diagonal.max() > 0 else 1.0
    inverse = np.linalg.pinv(matrix / largest, hermitian=True) / largest
    return np.sqrt(np.maximum(np.diag(inverse), 0.0))
