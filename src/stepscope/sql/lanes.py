"""Rows of an answer as stretches on the timeline: a track that a query makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import pyramid
from stepscope.errors import UsageError
from stepscope.records import dataclass

if TYPE_CHECKING:
    import polars as pl

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

_PS: Final = {"_ps": 1.0, "_ns": 1e3, "_us": 1e6, "_ms": 1e9, "_s": 1e12}
# Without a suffix these are nanoseconds, as Perfetto's tables have them.
_BARE: Final = {"ts": 1e3, "dur": 1e3}
_BEGINS: Final = ("start", "begin", "ts")
_LENGTHS: Final = ("duration", "dur", "length")
_ENDS: Final = ("end",)
_LATEST_PS: Final = 4e18


@dataclass(frozen=True, eq=False, slots=True)
class QueryLanes:
    """Stretches of time in the order of their begins; rows without times are left out.

    Attributes:
        name: What each is called: the column ``name``, else the first of text.
        begin_ps, end_ps: On the timeline's axis.
        lane: Where it is drawn, so that none covers another that it does not contain.
        lanes: How many there are.
        event: Id of its event on the timeline; -1 where the answer has no column ``event``.
    """

    name: list[str]
    begin_ps: I64
    end_ps: I64
    lane: I64
    lanes: int
    event: I64


def has_times(columns: list[str]) -> bool:
    """Whether columns of these names say when each row begins and how long it is."""
    return _find(columns, _BEGINS) is not None and (
        _find(columns, _LENGTHS) is not None or _find(columns, _ENDS) is not None
    )


def lanes_of(frame: pl.DataFrame) -> QueryLanes:
    """The rows of an answer as a track.

    Raises:
        UsageError: No columns say when its rows begin and end.
    """
    begin, length = _find(frame.columns, _BEGINS), _find(frame.columns, _LENGTHS)
    end = _find(frame.columns, _ENDS)
    if begin is None or (length is None and end is None):
        raise UsageError(
            "The answer has no times to draw.",
            where=", ".join(frame.columns),
            hint="Select a begin (start_us, ts) and a length or an end (duration_us, end_us, dur).",
            slug="sql",
        )
    begins = _times_ps(frame, begin)
    ends = begins + _times_ps(frame, length) if length is not None else _times_ps(frame, end)
    known = (np.abs(begins) < _LATEST_PS) & (np.abs(ends) < _LATEST_PS)  # not NaN, either
    rows = np.flatnonzero(known)
    rows = rows[np.argsort(begins[rows], kind="stable")]
    begin_ps = np.rint(begins[rows]).astype(np.int64)
    duration_ps = np.maximum(np.rint(ends[rows]).astype(np.int64) - begin_ps, 0)
    laid = pyramid.build(begin_ps, duration_ps)
    lane = np.empty(len(rows), np.int64)
    place = laid.order if len(laid.order) else np.arange(len(rows))
    lane[place] = np.repeat(np.arange(laid.lanes), np.diff(laid.lane_begin))
    return QueryLanes(
        name=_names(frame, rows),
        begin_ps=begin_ps,
        end_ps=begin_ps + duration_ps,
        lane=lane,
        lanes=laid.lanes,
        event=_events(frame)[rows],
    )


def _find(columns: list[str], wanted: tuple[str, ...]) -> tuple[str, float] | None:
    """The first column of such a name, and how many ps its unit has."""
    for name in columns:
        suffix = max((one for one in _PS if name.endswith(one)), key=len, default="")
        if suffix and name.removesuffix(suffix) in wanted:
            return name, _PS[suffix]
        if name in wanted and name in _BARE:
            return name, _BARE[name]
    return None


def _times_ps(frame: pl.DataFrame, column: tuple[str, float] | None) -> F64:
    import polars as pl

    assert column is not None
    name, ps = column
    values = frame[name].cast(pl.Float64, strict=False).to_numpy()
    return np.asarray(values, np.float64) * ps


def _names(frame: pl.DataFrame, rows: I64) -> list[str]:
    import polars as pl

    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    chosen = "name" if "name" in texts else next(iter(texts), None)
    if chosen is None:
        return [""] * len(rows)
    return frame[chosen].fill_null("")[rows].to_list()


def _events(frame: pl.DataFrame) -> I64:
    import polars as pl

    if "event" not in frame.columns or not frame["event"].dtype.is_integer():
        return np.full(len(frame), -1, np.int64)
    return frame["event"].cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
