"""Steps where the program marked none: those of the optimizer, or of an engine that serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.slices import Slices
from stepscope.formats.xspace.event_bytes import I64
from stepscope.records import dataclass
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


# Optimizers that take turns: maximum number, maximum turns of a round, minimum rounds, share of
_MOST_OPTIMIZERS: Final = 4
_MOST_TURNS: Final = 16
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
    passes = np.flatnonzero(slices.of_name(lambda name: name.startswith(_BACKWARD)))
    if len(passes):
        passes = passes[np.argsort(slices.start_ns[passes], kind="stable")]
        backward = slices.start_ns[passes]
        ends = _last_updates(backward, ends)
        ends = _last_of_rounds(ends, backward, slices.name[passes], count)
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


def _last_of_rounds(
    ends_ns: I64, backward_ns: I64, backward_name: NDArray[Any], count: StepCount
) -> I64:
    """The updates without those of other optimizers of a round, if several take turns.

    Each optimizer has a backward pass of its own length. Several turns of one come before one of
    another, as of a critic before its generator. A pass that only has more or less in every tenth
    step, as for a logged gradient, makes no round.
    """
    edges = np.searchsorted(backward_ns, ends_ns)
    parts = np.diff(edges, prepend=0)
    if not count.last_backward:
        inner = parts[1:]  # the recording may begin within the first
        for turns in range(2, _MOST_TURNS + 1):
            if len(inner) < _FEWEST_ROUNDS * turns:
                break
            if np.mean(inner[turns:] == inner[:-turns]) < _ALIKE:
                continue
            if turns <= _MOST_OPTIMIZERS and np.mean(inner[1:] != inner[:-1]) >= _ALIKE:
                count.last_backward = int(parts[2 * turns - 1])
            else:
                count.last_backward = _rare_pass(np.split(backward_name, edges)[1:-1], turns)
            break
    return ends_ns[parts == count.last_backward] if count.last_backward else ends_ns


def _rare_pass(passes: Sequence[NDArray[Any]], turns: int) -> int:
    """Parts of the backward pass that each round has once, and which computes something else.

    0 if there is none. The last update of an epoch has fewer passes of the same kind, and one with
    a logged gradient has all that the others have.
    """
    lengths = np.asarray([len(each) for each in passes])
    values, first, often = np.unique(lengths, return_index=True, return_counts=True)
    rare, usual = int(np.argmin(often)), int(np.argmax(often))
    if len(values) != 2 or abs(often[rare] * turns - len(passes)) > turns:
        return 0
    kinds = int(max(each.max(initial=0) for each in passes)) + 1
    once, others = (np.bincount(passes[first[at]], minlength=kinds) for at in (rare, usual))
    return int(values[rare]) if (once < others).any() and (once > others).any() else 0


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
