"""What to do about a call of a library's that the program makes, by its name."""

from __future__ import annotations

import re
from typing import Final

from stepscope.advice.parts.hints.libraries import of_library

_SEARCHES: Final = ("index", "count", "remove")
_LOOK_UP: Final = (
    "It looks through a list one by one (in, index, count, remove): a dict or a set, made once, "
    "finds the same at once."
)
# A clock alone ends these.
_SLEEPS: Final = ("time.sleep", "sleep", "asyncio.sleep")
_WOKEN: Final = (
    "Instead of sleeping and asking again, wait to be woken: queue.get with a timeout, an Event, a "
    "Condition. A limit of calls, or a wait after a failure, is another matter: let another thread "
    "make these calls."
)
# Drawing by these goes over all there is. With replacement and without weights, choice takes no
# time that a step would notice.
_DRAWS_ALL: Final = re.compile(r"^numpy\.random\.(?:\w+\.)*(?:choice|permutation|shuffle)$")
_OF_ALL: Final = (
    "It goes over all there is, however few are taken: without replacement it puts all in random "
    "order, with weights (p=…) it adds all of them up. Draw indices with replacement "
    "(rng.integers), keep the sums of weights from draw to draw (a sum tree), or draw for many "
    "batches at once."
)
# Sums over a window, one for each place.
_CONVOLVES: Final = re.compile(
    r"^(?:numpy\.(?:convolve|correlate)|scipy\.(?:signal|ndimage)\.(?:\w+\.)*"
    r"(?:convolve2?d?|correlate2?d?|convolve1d|correlate1d))$"
)
_BY_FOURIER: Final = (
    "It multiplies each value with the whole window: over a window of hundreds, "
    "scipy.signal.fftconvolve (oaconvolve for a long signal) gives the same for far less."
)
_CONVERTS: Final = ("torch.tensor", "torch.as_tensor", "torch.asarray", "numpy.array")
_STACKED: Final = (
    "From a list or a tuple it converts one number at a time; from a list of arrays it makes an "
    "object of each number first. Keep the data as one array, or stack it (np.stack), and hand "
    "that over[pytorch:  (torch.from_numpy)]."
)


# Packages of metrics, which a step may update, and seldom has to compute.
_METRICS: Final = re.compile(
    r"^(?:(?:torchmetrics|torcheval|evaluate|ignite)\."
    r"|sklearn\.(?:\w+_(?:score|error|curve|matrix)|auc|classification_report)$)"
)
_SELDOM: Final = (
    "It is a metric: update it in each step, and compute it once an epoch, or every n-th step "
    "(Lightning: self.log(…, on_step=False, on_epoch=True)). One over bins (thresholds=…) keeps "
    "no predictions to sort."
)


def metric(call: str) -> str:
    """What to do about a metric that each step computes, by the call that does; "" of others."""
    return _SELDOM if _METRICS.match(call) else ""


def of_call(call: str, *, is_most: bool) -> tuple[str, ...]:
    """What to do first about a function that calls it; () of calls that say nothing by their name.

    Args:
        call: As people know it, ``time.sleep``.
        is_most: Whether most of the function's time is in it.
    """
    if call in _SEARCHES:
        return (_LOOK_UP,)
    if not is_most:
        return ()
    if known := metric(call):
        return (known,)
    if _DRAWS_ALL.match(call):
        return (_OF_ALL,)
    if _CONVOLVES.match(call):
        return (_BY_FOURIER,)
    if call in _SLEEPS:
        return (_WOKEN,)
    if call in _CONVERTS:
        return (_STACKED,)
    known = of_library(call)
    return (known,) if known else ()
