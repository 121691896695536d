"""A selection clips as slow arithmetic does, and its parts add up to the whole."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.columns.space import Space
from stepscope.columns.trim import clipped
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.steps.attribution import PARTS, steps
from stepscope.timeline.selection import Selection, selected
from tests.profiles.loops import Collective, Kernel, Loop, record
from tests.property.test_conservation import spaces

PS_PER_US = 10**6
edges = st.integers(-10, 540)


def events(space: Space) -> list[tuple[str, str, int, int]]:
    """Line, name, start and end of each event."""
    found = []
    for line in space.lines:
        for row in range(line.begin, line.end):
            name = space.event_metadata.name[int(space.events.metadata[row])]
            start = int(space.events.start_ps[row])
            found.append((line.name, name, start, start + int(space.length_ps[row])))
    return found


def slowly_clipped(
    every: list[tuple[str, str, int, int]], begin: int, end: int
) -> list[tuple[str, str, int, int]]:
    """The events of a range, one by one."""
    found = []
    for line, name, start, stop in every:
        low, high = max(start, begin), min(stop, end)
        if high > low or (start == stop and begin <= start < end):
            found.append((line, name, low, high))
    return found


@settings(deadline=None, max_examples=150)
@given(spaces(), edges, edges)
def test_clipping_equals_its_slow_twin(data: bytes, first: int, second: int) -> None:
    space = decode(data)
    begin, end = sorted((first * PS_PER_US, second * PS_PER_US))
    found = clipped(space, begin, end, facts=[])
    assert sorted(events(found)) == sorted(slowly_clipped(events(space), begin, end))
    assert [line.name for line in found.lines] == [line.name for line in space.lines]
    stats = np.diff(found.events.stat_begin)
    assert int(stats.sum()) == len(found.event_stats)


@settings(deadline=None, max_examples=100)
@given(spaces(), st.sets(edges, max_size=4))
def test_parts_of_the_time_add_up_to_all_of_it(data: bytes, cuts: set[int]) -> None:
    space = decode(data)
    every = [-(10**12), *(cut * PS_PER_US for cut in sorted(cuts)), 10**12]
    total: Counter[tuple[str, str]] = Counter()
    instants = 0
    for begin, end in pairwise(every):
        for line, name, start, stop in events(clipped(space, begin, end, facts=[])):
            total[line, name] += stop - start
            instants += start == stop
    whole: Counter[tuple[str, str]] = Counter()
    for line, name, start, stop in events(space):
        whole[line, name] += stop - start
    assert +total == +whole
    assert instants == sum(start == stop for _line, _name, start, stop in events(space))


loops = st.builds(
    Loop,
    kernels=st.just((Kernel("sgemm", 400, "a/MatMul:MatMul"), Kernel("relu", 100, "b/Relu:Relu"))),
    input_us=st.integers(0, 300),
    python_us=st.integers(0, 200),
    collective=st.sampled_from([None, Collective(80.0)]),
    steps=st.integers(3, 9),
)


@settings(deadline=None, max_examples=25)
@given(loops, st.data())
def test_single_steps_add_up_to_a_stretch_of_steps(loop: Loop, data: st.DataObject) -> None:
    (made,) = record(loop).values()
    whole = Profile("loop", (Host("h0", decode(made)),))
    every = steps(whole.hosts[0])
    assert every is not None
    numbers = every.markers.num.tolist()
    first, last = sorted(data.draw(st.sampled_from(numbers)) for _ in range(2))
    stretch = steps(selected(whole, Selection(steps=f"{first}-{last}")).hosts[0])
    singles = [
        steps(selected(whole, Selection(steps=str(number))).hosts[0])
        for number in range(first, last + 1)
    ]
    assert stretch is not None
    assert stretch.markers.num.tolist() == list(range(first, last + 1))
    for part in PARTS:
        parts = [int(one.parts_ps[part].sum()) for one in singles if one is not None]
        assert sum(parts) == int(stretch.parts_ps[part].sum()), part
