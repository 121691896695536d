"""Proof that nothing is lost: tiles of random views against brute force over the file's events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import LaneRange, Tile, Timeline, tile, timeline
from stepscope.timeline.tiles import ENDS_AFTER, STARTS_BEFORE
from tests.kernels import examples
from tests.profiles import Event, gpu, host, line, space, stream

_EVENT = st.tuples(st.integers(0, 900), st.one_of(st.just(0), st.integers(0, 300)))
_LINES = st.lists(st.lists(_EVENT, max_size=40), min_size=1, max_size=4)


def _opened(lines: list[list[tuple[int, int]]]) -> Timeline:
    made = [
        line(f"t{i}", *[Event(f"n{s % 5}", s, d) for s, d in events], id=i + 1)
        for i, events in enumerate(lines)
    ]
    data = space(host(*made), gpu(0, stream(7, ("k", 5, 5))))
    return timeline(Profile("s", (Host("h", decode(data)),)))


def _seen(found: Timeline, begin: int, end: int) -> tuple[int, int]:
    """Count and busy time of all events that touch a view."""
    count = busy = 0
    for track in found.tracks:
        start, length = track.start_ps, np.maximum(track.duration_ps, 0)
        inside = (start < end) & ((start + length > begin) | (start >= begin))
        count += int(inside.sum())
        busy += int(length[inside].sum())
    return count, busy


@settings(max_examples=examples(150), deadline=None)
@given(_LINES, st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 300))
def test_slices_hold_every_event_that_touches_the_view(
    lines: list[list[tuple[int, int]]], begin: int, length: int, width: int
) -> None:
    found = _opened(lines)
    made = tile(found, [LaneRange(one.id) for one in found.tracks], begin, begin + length, width)
    count, _busy = _seen(found, begin, begin + length)
    assert int(made.count.sum()) == count
    assert made.row_begin[-1] == len(made.event)
    for row in range(len(made.row_track)):
        part = slice(int(made.row_begin[row]), int(made.row_begin[row + 1]))
        assert np.all(made.x0[part][1:] >= made.x1[part][:-1].astype(int) - 1)
        assert part.stop > part.start
        for event in made.event[part].tolist():
            assert found.track_of(event)[0].id == made.row_track[row]
    _marks_are_right(found, made)


def _marks_are_right(found: Timeline, made: Tile) -> None:
    for at in np.flatnonzero(made.count == 1).tolist():
        track, index = found.track_of(int(made.event[at]))
        start = int(track.start_ps[index]) - made.begin_ps
        stop = start + int(track.duration_ps[index])
        length = made.end_ps - made.begin_ps
        assert bool(made.kind[at] & STARTS_BEFORE) == (start < 0)
        assert bool(made.kind[at] & ENDS_AFTER) == (stop > length)
        assert int(made.x0[at]) == max(start, 0) // made.unit_ps
        assert int(made.x1[at]) == -(-min(stop, length) // made.unit_ps)
        assert (
            found.names[made.names[made.name[at]]]
            == found.names[int(track.labels.name[track.code[index]])]
        )


@settings(max_examples=examples(50), deadline=None)
@given(_LINES, st.integers(1, 40))
def test_a_tile_never_has_more_slices_than_asked_for_and_loses_none(
    lines: list[list[tuple[int, int]]], most: int
) -> None:
    found = _opened(lines)
    begin, end = found.span()
    wanted = [LaneRange(one.id) for one in found.tracks]
    made = tile(found, wanted, begin, end + 1, 4000, max_slices=most)
    lanes = sum(found.pyramid(one).lanes for one in found.tracks)
    assert len(made.event) <= max(most, 3 * lanes)
    assert int(made.count.sum()) == _seen(found, begin, end + 1)[0]


def test_every_event_of_a_large_profile_is_reached_by_zooming() -> None:
    random, count = np.random.default_rng(7), examples(100_000)
    start = np.sort(random.integers(0, 10**6, count))
    length = random.integers(0, 40, count)
    made = line("t", *[Event("e", int(s), int(d)) for s, d in zip(start, length, strict=True)])
    found = timeline(Profile("s", (Host("h", decode(space(host(made)))),)))
    reached: set[int] = set()
    views = [(0, found.span()[1] + 1)]
    while views:
        begin, end = views.pop()
        shown = tile(found, [LaneRange(0)], begin, end, 1500)
        reached.update(shown.event[shown.count == 1].tolist())
        merged = np.flatnonzero(shown.count > 1)
        if len(merged):
            middle = (begin + end) // 2
            views += [(begin, middle), (middle, end)]
    assert len(reached) == count


def test_a_view_that_is_none_is_refused() -> None:
    found = _opened([[(0, 1)]])
    for begin, end, width in ((5, 5, 10), (0, 1 << 62, 10), (0, 9, 0), (0, 9, 99_999)):
        with pytest.raises(ValueError, match="must"):
            tile(found, [LaneRange(0)], begin, end, width)
