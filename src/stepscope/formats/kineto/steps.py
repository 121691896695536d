"""Steps where the program marked none: those of the optimizer, or of an engine that serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.formats.kineto.slices import Slices
from stepscope.formats.xspace.event_bytes import I64
from stepscope.schema import names
from stepscope.schema.serving_marks import is_engine_step

_OPTIMIZER: Final = "Optimizer.step#"
#: What synthesised steps are called: a name that every viewer takes for a step.
STEP_NAME: Final = "train"
_SERVE: Final = "serve"


@dataclass(slots=True)
class StepCount:
    """How far the steps of a recording are, from one chunk to the next.

    Attributes:
        number: Of the next step.
        end_ns: Where the last one ended; None before the first.
        last_backward: Parts of the backward pass before the last update of a round, if several
            optimizers take turns; 0 if none do.
    """

    number: int = 0
    end_ns: int | None = None
    last_backward: int = 0


# Optimizers that take turns: maximum number, minimum rounds, and share of the turns that recur.
_MOST_OPTIMIZERS: Final = 4
_FEWEST_ROUNDS: Final = 3
_ALIKE: Final = 0.9

# What autograd calls each part of a backward pass.
_BACKWARD: Final = "autograd::engine::evaluate_function"


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
class FoundSteps:
    """Steps of one thread.

    Attributes:
        name: What they are called.
        marked_by: What they were found by.
        place: The thread.
        number: Of each step.
        start_ns, duration_ns: Absolute; one ends where the next begins.
    """

    name: str
    marked_by: str
    place: int
    number: I64
    start_ns: I64
    duration_ns: I64


def training_steps(slices: Slices, count: StepCount) -> FoundSteps | None:
    """The steps, and ``count`` moved on; None where the trace has ``ProfilerStep#`` or no step.

    The optimizer with the most steps counts, on the thread where it has them. If several share a
    class, the last after each backward pass counts. If they take turns, as those of a GAN do, it is
    the last of each round. The first step of a recording has no begin; the others count from 1.
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
    backward = np.sort(slices.start_ns[slices.of_name(lambda name: name.startswith(_BACKWARD))])
    if len(backward):
        ends = _last_of_rounds(_last_updates(backward, ends), backward, count)
    if not len(ends):
        return None
    if count.end_ns is not None:
        ends = np.concatenate([[count.end_ns], ends])
    steps = len(ends) - 1
    number = count.number + 1 + np.arange(steps)
    count.number, count.end_ns = count.number + steps, int(ends[-1])
    return FoundSteps(
        STEP_NAME,
        names.MARKED_OPTIMIZER,
        int(slices.place[rows[0]]),
        number,
        ends[:-1],
        np.diff(ends),
    )


def _last_updates(backward_ns: I64, ends_ns: I64) -> I64:
    """The updates without those that another one follows before the next backward pass."""
    passed = np.searchsorted(backward_ns, ends_ns)
    last: I64 = ends_ns[np.append(passed[1:] > passed[:-1], True)]
    return last


def _last_of_rounds(ends_ns: I64, backward_ns: I64, count: StepCount) -> I64:
    """The updates without those of other optimizers of a round, if several take turns.

    Each optimizer has a backward pass of its own length. A pass that is longer in every tenth step,
    as for a logged gradient, makes no round: turns of a round differ from their neighbours.
    """
    parts = np.diff(np.searchsorted(backward_ns, ends_ns), prepend=0)
    if not count.last_backward:
        inner = parts[1:]  # the recording may begin within the first
        differ = np.mean(inner[1:] != inner[:-1]) if len(inner) > 1 else 0.0
        for turns in range(2, _MOST_OPTIMIZERS + 1):
            if len(inner) < _FEWEST_ROUNDS * turns or differ < _ALIKE:
                break
            if np.mean(inner[turns:] == inner[:-turns]) >= _ALIKE:
                count.last_backward = int(parts[2 * turns - 1])
                break
    return ends_ns[parts == count.last_backward] if count.last_backward else ends_ns


def engine_steps(slices: Slices, count: StepCount) -> FoundSteps | None:
    """The steps of an engine's loop, from one mark to the next, and ``count`` moved on.

    None where the trace has ``ProfilerStep#`` or no mark. Engines mark one step several times, one
    mark inside of the other; the outermost count, on the thread with the most.
    """
    if slices.of_name(lambda name: name.startswith(names.PYTORCH_STEP)).any():
        return None
    rows = np.flatnonzero(slices.of_name(is_engine_step))
    rows = rows[slices.is_kind("annotation")[rows]]
    if not len(rows):
        return None
    place = np.bincount(slices.place[rows]).argmax()
    rows = rows[slices.place[rows] == place]
    start = slices.start_ns[rows]
    end = start + slices.duration_ns[rows]
    outermost = np.append(True, start[1:] >= np.maximum.accumulate(end)[:-1])
    start, last = start[outermost], int(end.max())
    number = count.number + np.arange(len(start))
    count.number += len(start)
    length = np.diff(np.append(start, last))
    return FoundSteps(_SERVE, names.MARKED_ENGINE, int(place), number, start, length)
