"""How fast a pipeline delivers, how long a step takes without it, and both together."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from stepscope.errors import UsageError
from stepscope.quantities import time_words
from stepscope.records import dataclass

#: Calls of the step that are not counted: they compile.
_WARM_UP_STEPS: Final = 3
Step = Callable[[Any], Any]

# Alone, a pipeline has the whole machine; beside the step it has what that leaves. What is not
# clearly faster than the step may still hold it up.
_AMPLE: Final = 0.7
# A turn of the loop this much longer than its longer part: the parts do not overlap.
_OVERLAPS: Final = 1.2
LoaderStatus = Literal["fast enough", "close", "too slow", "not compared"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a pipeline delivered.

    Attributes:
        batches: Batches that were counted.
        seconds: How long they took in all.
        first_seconds: How long the first batch took, which is not counted.
        waits_ms: How long each took, in order of length.
        elements: Examples in them; None where batches do not tell.
        bytes: Bytes of their arrays; None where one does not tell.
        starts: How often the pipeline was restarted at its end.
        start_seconds: How long the restarts took; they are in ``seconds``.
    """

    batches: int
    seconds: float
    first_seconds: float
    waits_ms: tuple[float, ...]
    elements: int | None
    bytes: int | None
    starts: int
    start_seconds: float

    @property
    def batch_ms(self) -> float:
        """Mean time per batch."""
        return 1e3 * self.seconds / self.batches

    def wait_ms(self, share: float) -> float:
        """The wait that this share of batches did not exceed."""
        return self.waits_ms[min(int(share * len(self.waits_ms)), len(self.waits_ms) - 1)]


def deliver(open_: Callable[[], Iterable[Any]], seconds: float) -> tuple[Delivery, Any]:
    """Take batches for some seconds, from the beginning again where they end.

    Args:
        open_: Gives the pipeline from its beginning.
        seconds: How long; one batch at least.

    Returns:
        What it delivered, and its first batch.

    Raises:
        UsageError: It delivers nothing, or only one batch.
    """
    clock = time.perf_counter
    source = _Source(open_)
    begin = clock()
    first = source.take()
    if first is _END:
        raise _empty("It ended before its first batch.")
    first_seconds = clock() - begin
    waits: list[float] = []
    sizes: list[int | None] = []
    counts: list[int | None] = []
    took = 0.0
    while took < seconds:
        before = clock()
        batch = source.take()
        wait = clock() - before
        if batch is _END:
            break
        took += wait  # what counting costs is not the pipeline's
        waits.append(wait)
        counts.append(elements_of(batch))
        sizes.append(bytes_of(batch))
    if not waits:
        raise _empty("It ended after its first batch and cannot be restarted.")
    delivery = Delivery(
        len(waits),
        took,
        first_seconds,
        tuple(sorted(1e3 * wait for wait in waits)),
        _sum(counts),
        _sum(sizes),
        source.starts,
        source.start_seconds,
    )
    return delivery, first


def synthetic_step_ms(step: Step, batch: Any, seconds: float) -> float:
    """Mean time of a step that is given one batch again and again: what it takes without input."""
    return _loop_ms(step, _again(batch), seconds)


def fed_step_ms(step: Step, open_: Callable[[], Iterable[Any]], seconds: float) -> float:
    """Mean time of a turn of the loop: the pipeline's batch and the step on it."""
    return _loop_ms(step, _Source(open_).all(), seconds)


def _loop_ms(step: Step, batches: Iterator[Any], seconds: float) -> float:
    """Mean time of a turn, to when the last result is there."""
    clock = time.perf_counter
    turns, began = -_WARM_UP_STEPS, clock()
    result: Any = None
    for batch in batches:
        result = step(batch)
        turns += 1
        if turns <= 0:
            wait_for(result)
            began = clock()
        elif clock() - began >= seconds:
            break
    wait_for(result)
    if turns <= 0:
        raise _empty("It ended before the step was warm.")
    return 1e3 * (clock() - began) / turns


def wait_for(result: Any) -> None:
    """Until a result is there: devices run behind the program."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        cuda.synchronize()
    for array in _arrays(result):
        for name in ("block_until_ready", "numpy", "item"):
            wait = getattr(array, name, None)
            if wait is None or (name == "item" and not _is_single(array)):
                continue
            try:
                wait()
                break
            except (RuntimeError, TypeError, ValueError):  # it has gradients, or is on a device
                continue


def _is_single(array: Any) -> bool:
    return all(int(length) == 1 for length in tuple(array.shape))


_END: Final = object()


class _Source:
    """Batch after batch, from the beginning again where they end.

    Attributes:
        starts: How often it was restarted.
        start_seconds: How long that took, to the first batch each.
    """

    def __init__(self, open_: Callable[[], Iterable[Any]]) -> None:
        self._open = open_
        self._iterator = iter(open_())
        self.starts = 0
        self.start_seconds = 0.0

    def all(self) -> Iterator[Any]:
        """Every batch there is, again and again."""
        while (batch := self.take()) is not _END:
            yield batch

    def take(self) -> Any:
        """The next batch; ``_END`` where there is none, from the beginning neither."""
        batch = next(self._iterator, _END)
        if batch is not _END:
            return batch
        before = time.perf_counter()
        self._iterator = iter(self._open())
        batch = next(self._iterator, _END)
        if batch is not _END:
            self.starts += 1
            self.start_seconds += time.perf_counter() - before
        return batch


def _again(batch: Any) -> Iterator[Any]:
    while True:
        yield batch


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _empty(why: str) -> UsageError:
    return UsageError(
        "The pipeline delivers too little to be measured.",
        why=why,
        hint="Name a pipeline with several batches, or a function that makes a new one.",
    )


def _arrays(batch: Any) -> Iterator[Any]:
    """The arrays and tensors in a batch of nested dictionaries, lists, tuples and dataclasses."""
    if hasattr(batch, "shape") and hasattr(batch, "dtype"):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _arrays(value)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            yield from _arrays(value)
    elif hasattr(batch, "__dataclass_fields__"):
        for name in batch.__dataclass_fields__:
            yield from _arrays(getattr(batch, name))


def elements_of(batch: Any) -> int | None:
    """How many examples a batch has: the first dimension that all of its arrays share.

    None where they share none, as in the single element of an unbatched dataset.
    """
    firsts = set()
    for array in _arrays(batch):
        shape = tuple(array.shape)
        if not shape or shape[0] is None:
            return None
        firsts.add(int(shape[0]))
    return firsts.pop() if len(firsts) == 1 else None


def bytes_of(batch: Any) -> int | None:
    """Bytes of all of its arrays; None where one does not tell (texts, ragged tensors)."""
    total = 0
    found = False
    for array in _arrays(batch):
        size = _bytes(array)
        if size is None:
            return None
        total, found = total + size, True
    return total if found else None


def _bytes(array: Any) -> int | None:
    if getattr(array.dtype, "kind", "") == "O":  # NumPy's objects: these are their addresses
        return None
    known = getattr(array, "nbytes", None)
    if isinstance(known, int):
        return known
    width = getattr(array.dtype, "size", None) or getattr(array.dtype, "itemsize", None)
    if not isinstance(width, int) or width <= 0 or "string" in str(array.dtype):
        return None
    count = 1
    for length in tuple(array.shape):
        if length is None:
            return None
        count *= int(length)
    return count * width


@dataclass(frozen=True, slots=True)
class LoaderVerdict:
    """What the measurements say.

    Attributes:
        status: Whether the pipeline keeps up with the step.
        summary: One sentence.
        next_steps: What to do about it.
    """

    status: LoaderStatus
    summary: str
    next_steps: tuple[str, ...]


def judge(delivery: Delivery, step_ms: float | None, loop_ms: float | None = None) -> LoaderVerdict:
    """Compare a pipeline with a step.

    Args:
        delivery: The pipeline by itself.
        step_ms: Time of a step without its input; None if it is not known.
        loop_ms: Time of a turn of the loop with both; None if it was not measured.
    """
    batch_ms = delivery.batch_ms
    if step_ms is None or step_ms <= 0:
        return LoaderVerdict(
            "not compared",
            f"The pipeline delivers a batch every {time_words(batch_ms)} by itself.",
            ("Compare it with a step: give --step-ms, --recording or --step.",),
        )
    ratio = batch_ms / step_ms
    times = f"a batch takes {time_words(batch_ms)}, a step without input {time_words(step_ms)}"
    if ratio > 1:
        return LoaderVerdict(
            "too slow",
            f"The pipeline is too slow: {times}, so each step waits "
            f"{time_words(batch_ms - step_ms)} or more.",
            (
                f"Make the pipeline {ratio:.1f} times faster: parallel map or workers, cache, "
                "larger reads; a faster device would not help.",
                "Record the program and look at tf_data_bottleneck_analysis or host_activity.",
            ),
        )
    if loop_ms is not None and loop_ms > _OVERLAPS * step_ms:
        return LoaderVerdict(
            "too slow",
            f"The pipeline could keep up, but does not overlap with the step: {times}, and both "
            f"in a loop {time_words(loop_ms)}.",
            (
                "Prepare the next batch while the step runs: dataset.prefetch(tf.data.AUTOTUNE), "
                "or DataLoader(num_workers=…).",
                "If it does already, the step and the pipeline compete for the processors.",
            ),
        )
    if ratio > _AMPLE:
        return LoaderVerdict(
            "close",
            f"The pipeline just keeps up: {times}. While the step runs it has fewer processors.",
            ("Measure both together: give --step, or record the program.",),
        )
    return LoaderVerdict(
        "fast enough",
        f"The pipeline is fast enough: {times}.",
        ("Look for the time in the step itself: stepscope record, then stepscope advise.",),
    )
