"""A recording that is cut, or that lost events, tells the same period of the loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import HostSteps, steps
from tests.profiles.model import Event, gpu, host, line, space, stream
from tests.profiles.rounds import cpu_runs, every, fetches, jit, marks, tf_function

ROUNDS = 20
PERIOD = 2_000.0
US = 1_000_000
Tracks = dict[str, list[Event]]


def functions_called_twice() -> Tracks:
    """Eleven jitted functions, one of them twice a round."""
    names = [
        "conv",
        "relu",
        "pool",
        "add",
        "norm",
        "loss",
        "grad",
        "add",
        "update",
        "metric",
        "sum_up",
    ]
    found = []
    for at in every(PERIOD, ROUNDS):
        for place, name in enumerate(names):
            found += jit(name, [at + 150 * place], 120)
    return {"python": found}


def fetched() -> Tracks:
    """A loop over a dataset, with a metric called three times."""
    starts = every(PERIOD, ROUNDS)
    found = fetches(starts, 500)
    found += tf_function("train_step", [at + 600 for at in starts], 700)
    for turn in range(3):
        found += tf_function("metric", [at + 1_400 + 100 * turn for at in starts], 80)
    return {"python": found}


def dispatched() -> Tracks:
    """JAX: calls return at once, the pool works behind them, never more than a round late."""
    starts = every(PERIOD, ROUNDS)
    pool = cpu_runs("jit_step", [at + 900 for at in starts], 1_950)
    return {"python": jit("step", starts, 30), "tf_XLAPjRtCpuClient/9": list(pool.events)}


def eager() -> Tracks:
    """Ops one by one: four layers, a loss, an update."""
    found = []
    for at in every(PERIOD, ROUNDS):
        for layer in range(4):
            found.append(Event("EagerLocalExecute: MatMul", at + 300 * layer, 200))
            found.append(Event("EagerLocalExecute: Tanh", at + 300 * layer + 210, 50))
        found.append(Event("EagerLocalExecute: Mean", at + 1_300, 50))
        found.append(Event("EagerLocalExecute: AssignSubVariableOp", at + 1_500, 50))
    return {"python": found}


def marked() -> Tracks:
    """Marks that leave out the fetch of the next batch."""
    starts = every(PERIOD, ROUNDS)
    return {"python": marks(starts, 400) + fetches([at + 400 for at in starts], 1_500)}


def launched() -> Tracks:
    """Nothing but kernels."""
    names = ["conv", "bn", "relu", "conv", "bn", "relu", "pool", "sgd"]
    kernels = [
        Event(name, at + 200 * place, 150)
        for at in every(PERIOD, ROUNDS)
        for place, name in enumerate(names)
    ]
    return {"stream": kernels}


LOOPS: list[Callable[[], Tracks]] = [
    functions_called_twice,
    fetched,
    dispatched,
    eager,
    marked,
    launched,
]


def found(tracks: Tracks, keep: Callable[[Event], bool]) -> HostSteps | None:
    kept = {name: [one for one in events if keep(one)] for name, events in tracks.items()}
    threads = [line(name, *events) for name, events in kept.items() if name != "stream"]
    devices = [gpu(0, stream(7, *kept["stream"]))] if "stream" in kept else []
    return steps(Host("h", decode(space(host(*threads), *devices))))


def period(one: HostSteps | None) -> float:
    assert one is not None
    assert not one.markers.is_window
    return float(np.median(one.duration_ps[one.kept])) / US


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
@settings(max_examples=10, deadline=None)
@given(first=st.floats(0, 0.5), share=st.floats(0.3, 0.5))
def test_a_cut_recording_has_the_period_of_the_whole(
    loop: Callable[[], Tracks], first: float, share: float
) -> None:
    tracks = loop()
    length = PERIOD * ROUNDS
    begin, end = first * length, (first + share) * length
    whole = found(tracks, lambda _: True)
    # What began before a recording, or had not ended with it, is not in it.
    part = found(
        tracks, lambda one: begin <= one.start_us and one.start_us + one.duration_us <= end
    )
    assert period(whole) == pytest.approx(PERIOD, rel=0.02)
    assert period(part) == pytest.approx(PERIOD, rel=0.02)
    assert part is not None
    rounds = share * ROUNDS
    assert rounds - 2 <= len(part) <= rounds + 1 or part.markers.certainty == "uncertain"


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1 << 16))
@example(seed=30289)  # which leaves most of a kernel that runs twice a round
def test_lost_events_do_not_change_the_period(loop: Callable[[], Tracks], seed: int) -> None:
    """One in fifty is lost, as where a buffer is full."""
    rng = np.random.default_rng(seed)
    assert period(found(loop(), lambda _: bool(rng.random() > 0.02))) == pytest.approx(
        PERIOD, rel=0.02
    )
