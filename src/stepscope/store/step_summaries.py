"""The summaries of a job's step logs: of each log the file beside it, else its own lines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from stepscope.errors import StoreError
from stepscope.formats.step_log import SUMMARY_ENDING, parsed, summaries_in, summary_of

_ENDING: Final = ".steps"
# A line's host and rank come first in it.
_HEAD_BYTES: Final = 1 << 16
# Network file systems answer several at once.
_READERS: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class StepSummaries:
    """The summaries of one step log.

    Attributes:
        name: Rank of its process, else the name of the file.
        host: Machine of its process; "" if unknown.
        records: ``formats.step_log.SUMMARY``, in the order of time; not empty.
    """

    name: str
    host: str
    records: NDArray[Any]


def read_summaries(path: Path) -> list[StepSummaries]:
    """Read the summaries of a step log, or of all in a folder, by rank.

    Raises:
        StoreError: There is no log with a step.
    """
    logs = sorted(path.glob(f"*{_ENDING}")) if path.is_dir() else [path]
    with ThreadPoolExecutor(_READERS) as readers:
        found = [one for one in readers.map(_read, logs) if one is not None]
    if not found:
        raise StoreError(
            "There is no step log with a step.",
            where=str(path),
            hint="Log steps: stepscope record --steps-log run.steps train.py.",
            slug="step-log",
        )
    return sorted(found, key=lambda one: (not one.name.isdecimal(), one.name.zfill(9)))


def _read(log: Path) -> StepSummaries | None:
    try:
        beside = log.with_suffix(SUMMARY_ENDING)
        data = beside.read_bytes() if beside.is_file() else _from_lines(log)
        with log.open("rb") as file:
            first = file.read(_HEAD_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    records = summaries_in(data)
    if not len(records):
        return None
    head = (parsed(first) or {}).get("chunk", {})
    return StepSummaries(str(head.get("rank", log.stem)), str(head.get("host", "")), records)


def _from_lines(log: Path) -> bytes:
    """Summaries from the lines of a log that has none beside it."""
    found = []
    with log.open("rb") as file:
        for line in file:
            try:
                found.append(summary_of((parsed(line.rstrip(b"\n")) or {})["chunk"]))
            except (KeyError, TypeError, ValueError, OverflowError):
                continue
    return b"".join(found)
