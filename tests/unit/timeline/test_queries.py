"""Search, range statistics, flows and details, against answers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.columns.trim import touching, trimmed
from stepscope.timeline import Timeline
from stepscope.timeline.details import details
from stepscope.timeline.flows import KINDS, flows
from stepscope.timeline.ranges import range_totals
from stepscope.timeline.search import InvalidPattern, search
from tests.profiles import Event, gpu, host, line, space, stream, u, worked_example
from tests.unit.timeline.test_timeline import opened, track

US = 10**6


def nested() -> Timeline:
    return opened(
        space(
            host(
                line(
                    "python",
                    ("outer", 0, 100),
                    ("inner", 10, 30),
                    ("leaf", 15, 5),
                    ("inner", 50, 20),
                    ("alone", 150, 50),
                )
            )
        )
    )


def by_name(found: Timeline, begin: int, end: int) -> dict[str, tuple[int, int, int]]:
    totals = range_totals(found, begin * US, end * US).names
    return {
        found.names[name]: (count, total // US, own // US)
        for name, count, total, own in zip(
            totals.name.tolist(),
            totals.count.tolist(),
            totals.total_ps.tolist(),
            totals.self_ps.tolist(),
            strict=True,
        )
    }


def test_the_whole_range_counts_every_event_and_self_time_sums_to_busy_time() -> None:
    found = nested()
    assert by_name(found, 0, 200) == {
        "outer": (1, 100, 50),
        "inner": (2, 50, 45),
        "leaf": (1, 5, 5),
        "alone": (1, 50, 50),
    }
    totals = range_totals(found, 0, 200 * US)
    assert [one.busy_ps for one in totals.tracks] == [150 * US] == [int(totals.names.self_ps.sum())]


def test_a_range_clips_what_it_cuts() -> None:
    assert by_name(nested(), 20, 60) == {"outer": (1, 40, 10), "inner": (2, 30, 30)}
    assert by_name(nested(), 110, 140) == {}


def test_the_longest_of_a_name_is_named() -> None:
    found = nested()
    totals = range_totals(found, 0, 200 * US).names
    row = totals.name.tolist().index(found.names.index("inner"))
    assert (totals.longest_ps[row], totals.example[row]) == (30 * US, 1)


def in_use(*samples: tuple[int, int]) -> Timeline:
    """A counter with these values at these microseconds."""
    stats = [(at, {"allocator_name": "GPU_0", "bytes_allocated": value}) for at, value in samples]
    return opened(space(host(line("python", *(Event("Alloc", at, 0, own) for at, own in stats)))))


def test_a_counter_of_a_range_is_summed_up_by_how_long_it_holds() -> None:
    found = in_use((10, 100), (20, 300), (40, 50), (90, 70))
    counter = track(found, "Memory in use: GPU_0")
    (one,) = range_totals(found, 15 * US, 50 * US, [counter.id]).counters
    # 100 for 5 µs, 300 for 20, 50 for 10.
    assert one.mean == pytest.approx((100 * 5 + 300 * 20 + 50 * 10) / 35)
    assert (one.track, one.first, one.last, one.least, one.most) == (counter.id, 100, 50, 50, 300)
    assert (one.most_at_ps, one.changes, one.unit) == (20 * US, 2, "bytes")


def test_a_counter_has_no_value_before_its_first_and_keeps_its_last() -> None:
    found = in_use((10, 100), (20, 300))
    assert range_totals(found, 0, 10 * US).counters == ()
    (early,) = range_totals(found, 0, 15 * US).counters
    assert (early.first, early.mean, early.changes) == (100, 100, 1)
    (late,) = range_totals(found, 60 * US, 70 * US).counters
    assert (late.first, late.last, late.changes, late.most_at_ps) == (300, 300, 0, 60 * US)


def test_of_values_at_one_time_the_last_is_the_one_that_holds() -> None:
    found = in_use((10, 100), (10, 900), (20, 300))
    (one,) = range_totals(found, 10 * US, 30 * US).counters
    assert (one.first, one.most) == (900, 900)


def test_search_reads_everything_and_walks_both_ways() -> None:
    found = nested()
    hits = search(found, "INNER")
    assert len(hits) == 2
    assert hits.columns(0, 100 * US, 4).tolist() == [1, 0, 1, 0]
    first, second = hits.first(9)
    assert (first, second) == ((10 * US, 1), (50 * US, 3))
    assert hits.after(0) == first and hits.after(*first) == second and hits.after(*second) is None
    assert hits.before(*second) == first and hits.before(*first) is None
    assert hits.first(1, begin_ps=11 * US) == [second]


def test_search_by_pattern_and_by_track() -> None:
    found = opened(worked_example(gpu=True))
    assert len(search(found, "^IteratorGetNext$", mode="regex")) == 8
    assert len(search(found, "iterator", tracks=[track(found, "python").id])) == 0
    with pytest.raises(InvalidPattern):
        search(found, "(", mode="regex")


def test_search_by_the_value_of_a_stat() -> None:
    found = opened(worked_example())
    hits = search(found, "^3$", mode="regex", stat="step_num")
    assert [event for _begin, event in hits.first(9)] == [6]
    assert len(search(found, "x", stat="no such stat")) == 0


def test_launches_point_at_what_they_launched() -> None:
    found = opened(worked_example(gpu=True))
    arrows = flows(found.profile)
    launch = KINDS.index("launch")
    assert int((arrows.kind == launch).sum()) == 16
    totals = range_totals(found, *found.span())
    # Copy at 260 launched at 240; kernel at 400 launched at 300 for 50.
    assert sorted(set((totals.launch_delay_ps // US).tolist())) == [20, 100]
    assert sorted(set((totals.launch_gap_ps // US).tolist())) == [0, 50]


def test_producers_and_consumers_are_linked_by_type_and_id() -> None:
    def end(kind: str, type_: int, id_: int) -> dict[str, int]:
        return {f"_{kind}t": type_, f"_{kind}": id_}

    found = opened(
        space(
            host(
                line(
                    "main",
                    ("p1", 0, 2, end("p", 1, 7)),
                    ("p2", 10, 2, end("p", 1, 7)),
                    ("q", 11, 2, end("p", 2, 7)),
                ),
                line("pool", ("c1", 5, 2, end("c", 1, 7)), ("c2", 15, 2, end("c", 1, 7)), id=2),
            )
        )
    )
    arrows = flows(found.profile)
    # Each consumer takes the latest producer of its type and id before it.
    assert list(zip(arrows.source.tolist(), arrows.target.tolist(), strict=True)) == [
        (0, 3),
        (1, 4),
    ]
    assert [arrows.source[row] for row in arrows.into(4)] == [1]
    assert arrows.around(3, 3) == arrows.out_of(0)


def test_recorded_flows_go_from_out_to_in() -> None:
    out, into = 9 << 2 | 2, 9 << 2 | 1
    found = opened(
        space(host(line("a", ("s", 0, 1, {"flow": u(out)}), ("t", 5, 1, {"flow": u(into)}))))
    )
    arrows = flows(found.profile)
    assert (arrows.source.tolist(), arrows.target.tolist()) == ([0], [1])


def test_details_know_the_family_and_the_other_occurrences() -> None:
    found = nested()
    inner = details(found, 1)
    assert inner.place.lane == 1 and inner.self_ps == 25 * US
    assert inner.parent is not None and inner.parent.event == 0
    assert inner.children.tolist() == [2]
    again = inner.occurrences
    assert (again.count, again.previous, again.next, again.longest) == (2, -1, 3, 1)
    assert int(again.bin_count.sum()) == 2
    with pytest.raises(KeyError):
        details(found, 99)


def test_details_hold_stats_and_both_ends_of_a_launch() -> None:
    found = opened(
        space(
            host(line("main", Event("cuLaunchKernel", 0, 5, {"correlation_id": 3, "grid": "8x1"}))),
            gpu(0, stream(7, ("sgemm", 9, 5, {"correlation_id": 3}))),
        )
    )
    launch = track(found, "main").first_event
    shown = details(found, launch)
    assert dict(shown.stats) == {"correlation_id": 3, "grid": "8x1"}
    assert [found.names[link.other.name] for link in shown.out_of] == ["sgemm"]
    back = details(found, shown.out_of[0].other.event)
    assert [link.other.event for link in back.into] == [launch]


def test_trimming_keeps_what_touches_the_range_and_its_stats() -> None:
    found = opened(worked_example(gpu=True))
    one = found.profile.hosts[0]
    keep = touching(one.space, 2000 * US, 3000 * US)
    cut = trimmed(one.space, keep)
    assert len(cut.events) == int(keep.sum()) < len(one.space.events)
    assert len(cut.event_stats) == int(np.diff(one.space.events.stat_begin)[keep].sum())
    assert [line.name for line in cut.lines] == [line.name for line in one.space.lines]
    assert cut.events.start_ps.tolist() == one.space.events.start_ps[keep].tolist()


def test_another_search_does_not_answer_for_this_one() -> None:
    found = nested()
    assert search(found, "inner") is search(found, "inner")
    assert len(search(found, "outer")) == 1
    assert len(search(found, "inner", tracks=[])) == 0
    assert len(search(found, "inner")) == 2
