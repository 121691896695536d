"""Steps where the program marked none: from one end of the optimizer's step to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.capture.event_bytes import I64
from stepscope.capture.kineto.slices import Slices
from stepscope.schema import names

_OPTIMIZER: Final = "Optimizer.step#"


@dataclass(frozen=True, slots=True)
class TrainingSteps:
    """Steps of one thread.

    Attributes:
        place: The thread.
        start_ns, duration_ns: Absolute; one ends where the next begins.
    """

    place: int
    start_ns: I64
    duration_ns: I64


def training_steps(slices: Slices) -> TrainingSteps | None:
    """The steps; None where the trace has ``ProfilerStep#``, or fewer than two optimizer steps.

    Of several optimizers (a GAN has two) the one with the most steps counts, on the thread where
    it has them.
    """
    if slices.of_name(lambda name: name.startswith(names.PYTORCH_STEP)).any():
        return None
    rows = np.flatnonzero(slices.of_name(lambda name: name.startswith(_OPTIMIZER)))
    rows = rows[slices.is_kind("annotation")[rows]]
    if len(rows) < 2:
        return None
    pairs = slices.place[rows] * len(slices.names) + slices.name[rows]
    distinct, first, count = np.unique(pairs, return_index=True, return_counts=True)
    # The most frequent; of equals the one seen first.
    best = distinct[np.lexsort((first, -count))[0]]
    rows = rows[pairs == best]
    if len(rows) < 2:
        return None
    end = np.sort(slices.start_ns[rows] + slices.duration_ns[rows])
    return TrainingSteps(int(slices.place[rows[0]]), end[:-1], np.diff(end))
