"""Steps where the program marked none: from one end of the optimizer's step to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.formats.kineto.slices import Slices
from stepscope.formats.xspace.event_bytes import I64
from stepscope.schema import names

_OPTIMIZER: Final = "Optimizer.step#"


@dataclass(slots=True)
class StepCount:
    """How far the steps of a recording are, from one chunk to the next.

    Attributes:
        number: Of the next step.
        end_ns: Where the last one ended; None before the first.
    """

    number: int = 0
    end_ns: int | None = None


@dataclass(frozen=True, slots=True)
class StepMark:
    """A step that the program's loop reported once it had ended.

    Attributes:
        thread: The system's number of the thread.
        name: "train", "test" …
        number: Of the step.
        start_ns, duration_ns: Absolute.
    """

    thread: int
    name: str
    number: int
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, eq=False, slots=True)
class TrainingSteps:
    """Steps of one thread.

    Attributes:
        place: The thread.
        number: Of each step.
        start_ns, duration_ns: Absolute; one ends where the next begins.
    """

    place: int
    number: I64
    start_ns: I64
    duration_ns: I64


def training_steps(slices: Slices, count: StepCount) -> TrainingSteps | None:
    """The steps, and ``count`` moved on; None where the trace has ``ProfilerStep#`` or no step.

    Of several optimizers (a GAN has two) the one with the most steps counts, on the thread where
    it has them. The first step of a recording has no begin and is none.
    """
    if slices.of_name(lambda name: name.startswith(names.PYTORCH_STEP)).any():
        return None
    rows = np.flatnonzero(slices.of_name(lambda name: name.startswith(_OPTIMIZER)))
    rows = rows[slices.is_kind("annotation")[rows]]
    if not len(rows):
        return None
    pairs = slices.place[rows].astype(np.int64) * len(slices.names) + slices.name[rows]
    distinct, first, times = np.unique(pairs, return_index=True, return_counts=True)
    # The most frequent; of equals the one seen first.
    rows = rows[pairs == distinct[np.lexsort((first, -times))[0]]]
    ends = np.sort(slices.start_ns[rows] + slices.duration_ns[rows])
    if count.end_ns is not None:
        ends = np.concatenate([[count.end_ns], ends])
    steps = len(ends) - 1
    number = count.number + np.arange(steps)
    count.number, count.end_ns = count.number + steps, int(ends[-1])
    return TrainingSteps(int(slices.place[rows[0]]), number, ends[:-1], np.diff(ends))
