"""What is kept of one recording: a few tables of columns, and how those of many add up.

Times are picoseconds on the recording's own clock, counted from ``Who.origin_ns``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from stepscope.summary import histogram
from stepscope.tables.steps.attribution import PARTS

#: A summary of another version is made again, never converted.
VERSION: Final = 7

STEPS: Final[dict[str, Any]] = {
    "device": pl.UInt16,
    "step": pl.Int64,
    "begin_ps": pl.Int64,
    "duration_ps": pl.Int64,
    "counts": pl.Boolean,
    **{f"{part}_ps": pl.Int64 for part in PARTS},
}
MEETINGS: Final[dict[str, Any]] = {
    "device": pl.UInt16,
    "communicator": pl.UInt32,
    "number": pl.Int64,
    "step": pl.Int64,
    "start_ps": pl.Int64,
    "duration_ps": pl.Int64,
    "exposed_ps": pl.Int64,
}
COMMUNICATORS: Final[dict[str, Any]] = {
    "key": pl.String,
    "label": pl.String,
    "kind": pl.String,
    "size": pl.UInt32,
    "ranks": pl.List(pl.Int32),
    "is_guess": pl.Boolean,
    "numbered": pl.Boolean,
}
OPS: Final[dict[str, Any]] = {
    "device": pl.UInt16,
    "op": pl.String,
    "count": pl.Int64,
    "total_ps": pl.Int64,
    "min_ps": pl.Int64,
    "max_ps": pl.Int64,
}
HISTOGRAMS: Final[dict[str, Any]] = {"op": pl.String, "bucket": pl.Int16, "count": pl.Int64}


@dataclass(frozen=True, slots=True)
class Who:
    """Whose recording it is.

    Attributes:
        host: Its name in the run.
        machine: What it shares with the other processes of its computer; its own name if unknown.
        rank: Of the process in its job; -1 if unknown.
        world_size: Processes of the job; 0 if unknown.
        origin_ns: What its times count from, nanoseconds of its clock.
        devices: Names of what ran; ``device`` in the tables is a place in it.
        kinds: What each of them is.
        confidence: How sure the steps are: "certain", "likely", "uncertain", or "" without steps.
        notes: What is damaged or left out, as sentences.
    """

    host: str
    machine: str
    rank: int
    world_size: int
    origin_ns: int
    devices: tuple[str, ...]
    kinds: tuple[str, ...]
    confidence: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """One recording.

    Attributes:
        who: Whose it is.
        steps: One row per device and step (``STEPS``); ``counts`` is false for steps that were not
            recorded whole, or warm up.
        meetings: One row per device and collective, by device, then start (``MEETINGS``).
            ``number`` is the how-manieth of its communicator, in all or, where
            ``communicators.numbered`` is false, in its step; ``exposed_ps`` is the part in which
            the device did nothing else; of a collective that is started and waited for in two
            ops, the waiting.
        communicators: What ``meetings.communicator`` are (``COMMUNICATORS``).
        ops: Totals by device and op (``OPS``).
        histograms: Durations of the ops that take most time (``HISTOGRAMS``).
    """

    who: Who
    steps: pl.DataFrame
    meetings: pl.DataFrame
    communicators: pl.DataFrame
    ops: pl.DataFrame
    histograms: pl.DataFrame


def merged_ops(summaries: list[Summary]) -> pl.DataFrame:
    """Totals by op over all devices of several recordings: exact, whatever their order."""
    whole = pl.concat([one.ops for one in summaries])
    return (
        whole.group_by("op")
        .agg(
            pl.col("count").sum(),
            pl.col("total_ps").sum(),
            pl.col("min_ps").min(),
            pl.col("max_ps").max(),
        )
        .sort("op")
    )


def merged_histograms(summaries: list[Summary]) -> pl.DataFrame:
    """Durations by op over several recordings: exact, whatever their order."""
    return histogram.merged([one.histograms for one in summaries], ["op"])
