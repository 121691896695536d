"""Laws of steps that are played again, and a slow twin of the kernel in absolute times."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.columns.space import F64, I64
from stepscope.formats.xspace import decode
from stepscope.kernels import core
from stepscope.tables.account.account import Account, account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import parts
from stepscope.tables.parts.replay import dependencies, saved_ps, what_if
from tests.kernels import examples
from tests.property.test_conservation import spaces


@dataclass
class Recorded:
    """Stretches of some steps, as the kernel takes them."""

    step: list[int] = field(default_factory=list)
    waits_for: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    gone: list[tuple[int, int, int]] = field(default_factory=list)
    slack: list[int] = field(default_factory=list)


@st.composite
def recordings(draw: st.DrawFn) -> Recorded:
    made = Recorded()
    for step in range(draw(st.integers(1, 4))):
        for _stretch in range(draw(st.integers(1, 6))):
            length = draw(st.integers(1, 50))
            made.step.append(step)
            made.length.append(length)
            made.waits_for.append(draw(st.integers(0, 2)))
            made.gaps.append((draw(st.integers(-1, 30)), draw(st.integers(-1, 30))))
            goes = st.integers(0, length)
            made.gone.append((draw(goes), draw(goes), draw(goes)))
        made.slack.append(draw(st.integers(-1, 40)))
    return made


def kernel(made: Recorded) -> list[int]:
    saved = np.zeros(len(made.slack), dtype=np.int64)
    core.wait.replay(
        np.asarray(made.step, dtype=np.int64),
        np.asarray(made.waits_for, dtype=np.uint8),
        np.asarray(made.length, dtype=np.int64),
        np.ascontiguousarray(np.asarray(made.gaps, dtype=np.int64).T),
        np.ascontiguousarray(np.asarray(made.gone, dtype=np.int64).T),
        np.asarray(made.slack, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
        saved,
    )
    return [int(one) for one in saved]


def by_hand(made: Recorded) -> list[int]:
    """Walks the stretches with a clock each for thread, work and input; how early steps end."""
    thread = work = made_input = begin = 0  # when each is where it was at ``begin``
    early = []
    for at, length in enumerate(made.length):
        if made.gaps[at][0] >= 0:  # it queued behind what ended a pause ago
            work = max(thread, work - made.gaps[at][0])
        if made.gaps[at][1] >= 0:
            made_input = max(thread, made_input - made.gaps[at][1])
        own, less_work, less_input = made.gone[at]
        end = begin + length
        work += length - less_work
        made_input += length - less_input
        waits_for = made.waits_for[at]
        if waits_for:
            thread = max(thread, work if waits_for == 1 else made_input)
        else:
            thread += length - own
        if at + 1 == len(made.length) or made.step[at + 1] != made.step[at]:
            slack = made.slack[made.step[at]]
            if slack >= 0:
                thread = max(thread, work - slack)
            early.append(end - thread)
        begin = end
    return early


@given(recordings())
def test_the_kernel_agrees_with_clocks_that_are_moved_by_hand(made: Recorded) -> None:
    assert kernel(made) == by_hand(made)


# What the runtime does around ops goes with each part that is made of them.
_OF_OPS = ("op", "function", "layer", "line", "program")


def accounted(data: bytes) -> Account | None:
    return account(Host("h", decode(data)))


def lead(found: Account, share: F64) -> float:
    return float(saved_ps(found, dependencies(found), share).sum())


@settings(max_examples=examples(60), deadline=None)
@given(spaces(), st.randoms(use_true_random=False))
def test_less_to_do_never_makes_the_steps_longer(data: bytes, random: Random) -> None:
    found = accounted(data)
    if found is None or len(found.kind) == 0:
        return
    more = np.asarray([random.random() for _one in found.kind])
    less = more * np.asarray([random.random() for _one in found.kind])
    whole = float(found.found.duration_ps[found.found.kept].sum())
    rounding = len(found.timeline.start_ps)
    assert lead(found, np.zeros(len(found.kind))) == 0
    assert 0 <= lead(found, less) <= lead(found, more) + rounding
    assert lead(found, more) <= whole + rounding


@settings(max_examples=examples(60), deadline=None)
@given(spaces())
def test_a_part_saves_alone_no_more_than_it_has(data: bytes) -> None:
    found = accounted(data)
    if found is None:
        return
    made = parts(found)
    count = int(found.found.kept.sum())
    step_ps = _mean(found.found.duration_ps[found.found.kept])
    around = sum(part.total_ps for part in made if part.kind == "runtime")
    for part, without in zip(made, what_if(found, made), strict=False):
        own = part.total_ps + (around if part.kind in _OF_OPS else 0)
        assert without.alone_ps <= own / count + len(found.timeline.start_ps)
        assert without.alone_ps <= without.most_ps + 1
        assert without.typical_ps <= step_ps + 1


def _mean(times: I64) -> float:
    return float(times.mean())
