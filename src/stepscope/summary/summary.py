"""What is kept of one recording: a few tables of columns, and how those of many add up.

Times are picoseconds on the recording's own clock, counted from ``Who.origin_ns``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.records import dataclass
from stepscope.tables.steps.attribution import PARTS

#: A summary of another version is made again, never converted.
VERSION: Final = 8

Columns = dict[str, NDArray[Any]]
Schema = dict[str, type]

STEPS: Final[Schema] = {
    "device": np.uint16,
    "step": np.int64,
    "begin_ps": np.int64,
    "duration_ps": np.int64,
    "counts": np.bool_,
    **{f"{part}_ps": np.int64 for part in PARTS},
}
MEETINGS: Final[Schema] = {
    "device": np.uint16,
    "communicator": np.uint32,
    "number": np.int64,
    "step": np.int64,
    "start_ps": np.int64,
    "duration_ps": np.int64,
    "exposed_ps": np.int64,
}
COMMUNICATORS: Final[Schema] = {
    "key": str,
    "label": str,
    "kind": str,
    "size": np.uint32,
    "ranks": list,
    "is_guess": np.bool_,
    "numbered": np.bool_,
}
OPS: Final[Schema] = {
    "device": np.uint16,
    "op": str,
    "count": np.int64,
    "total_ps": np.int64,
    "min_ps": np.int64,
    "max_ps": np.int64,
}


def columns_of(schema: Schema, values: Mapping[str, Any] | None = None) -> Columns:
    """Return the columns of a table in the types of its schema; without values an empty table."""
    return {
        name: np.fromiter((values or {}).get(name, ()), dtype=object)
        if kind in (str, list)
        else np.asarray((values or {}).get(name, ()), dtype=kind)
        for name, kind in schema.items()
    }


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
    """

    who: Who
    steps: Columns
    meetings: Columns
    communicators: Columns
    ops: Columns
