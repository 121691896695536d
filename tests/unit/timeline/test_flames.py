"""Flames: stacks merged, grouped, inverted and compared, by hand and against brute force."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.timeline import Timeline, timeline
from stepscope.timeline.belonging import recorded_groups
from stepscope.timeline.flames import Flame, callees, callers, flame, groupings, inverted, paired
from stepscope.timeline.model import CATEGORIES
from tests.profiles import Event, gpu, host, line, space, stream
from tests.unit.analysis.test_module_tree import program as module_program
from tests.unit.formats.kineto.layout import profile as kineto_profile
from tests.unit.timeline.test_timeline import opened

US = 10**6
Ways = dict[tuple[str, ...], tuple[int, int, int]]


def ways(tree: Flame) -> Ways:
    """By way from the root: total µs, self µs, count."""
    way: list[tuple[str, ...]] = [()]
    for row in range(1, len(tree)):
        way.append((*way[tree.parent[row]], tree.texts[tree.label[row]]))
    assert len(set(way)) == len(way)
    columns = (tree.total_ps // US, tree.self_ps // US, tree.count)
    return {one: (int(a), int(b), int(c)) for one, a, b, c in zip(way, *columns, strict=True)}


def program() -> Timeline:
    return opened(
        space(
            host(
                line("main", ("f", 0, 100), ("g", 10, 30), ("h", 15, 5), ("g", 50, 20), id=1),
                line("worker", ("g", 0, 10), ("f", 20, 10), id=2),
            ),
            gpu(0, stream(7, ("sgemm", 30, 40))),
        )
    )


def test_stacks_of_the_same_names_are_one() -> None:
    assert ways(flame(program(), 0, 200 * US)) == {
        (): (160, 0, 0),
        ("f",): (110, 60, 2),
        ("f", "g"): (50, 45, 2),
        ("f", "g", "h"): (5, 5, 1),
        ("g",): (10, 10, 1),
        ("sgemm",): (40, 40, 1),
    }


def test_a_node_is_what_its_longest_event_is() -> None:
    tree = flame(program(), 0, 200 * US)
    kinds = {
        tree.texts[tree.label[row]]: CATEGORIES[tree.category[row]] for row in range(1, len(tree))
    }
    assert kinds == {"f": "other", "g": "other", "h": "other", "sgemm": "kernel"}
    assert tree.category[0] == -1
    turned = inverted(tree)
    assert turned.category[0] == -1
    for row in range(1, len(turned)):
        assert CATEGORIES[turned.category[row]] == kinds[turned.texts[turned.label[row]]]
    # A group has no event of its own.
    by_kind = flame(program(), 0, 200 * US, by=("category", "name"))
    heads = by_kind.category[by_kind.parent == 0]
    assert (heads == -1).all() and len(heads) == 2


def test_pytorchs_steps_are_one_so_that_two_of_them_can_be_compared() -> None:
    steps = [("ProfilerStep#7", 0, 50), ("f", 10, 20), ("ProfilerStep#8", 60, 50), ("f", 70, 30)]
    found = opened(space(host(line("main", *steps, id=1))))
    assert ways(flame(found, 0, 200 * US)) == {
        (): (100, 0, 0),
        ("ProfilerStep",): (100, 50, 2),
        ("ProfilerStep", "f"): (50, 50, 2),
    }
    both = paired(flame(found, 0, 50 * US), flame(found, 60 * US, 110 * US))
    assert len(both) == 3 and (both.before >= 0).all() and (both.after >= 0).all()
    # As names they stay apart.
    assert ("ProfilerStep#8",) in ways(flame(found, 0, 200 * US, by=("name",)))


def test_a_range_clips_and_tracks_choose() -> None:
    found = program()
    main = next(track.id for track in found.tracks if track.name == "main")
    assert ways(flame(found, 20 * US, 60 * US, [main])) == {
        (): (40, 0, 0),
        ("f",): (40, 10, 1),
        ("f", "g"): (30, 30, 2),
    }


def test_groups_within_groups_sum_to_the_whole() -> None:
    found = program()
    by_track = ways(flame(found, 0, 200 * US, by=("track", "name")))
    assert by_track["main", "g"] == (45, 45, 2)
    assert by_track["worker",] == (20, 0, 0)
    by_category = ways(flame(found, 0, 200 * US, by=("category", "name")))
    assert by_category["kernel", "sgemm"] == (40, 40, 1)
    assert sum(v[0] for way, v in by_category.items() if len(way) == 1) == 160
    stacks = ways(flame(found, 0, 200 * US, by=("track", "stack")))
    assert stacks["main", "f", "g", "h"] == (5, 5, 1)


def test_events_group_by_the_step_they_begin_in() -> None:
    events = [Event("train", 100 * i, 90, {"step_num": 7 + i, "_r": 1}) for i in range(2)]
    found = opened(
        space(host(line("main", *events, ("g", 80, 15), ("g", 92, 4), ("g", 120, 30), id=1)))
    )
    assert recorded_groups(found) == {"step"}
    got = ways(flame(found, 0, 300 * US, by=("name", "step")))
    # The first begins in step 7 and outlives it, the second begins between the steps.
    assert {way[1]: v for way, v in got.items() if way[:1] == ("g",) and len(way) == 2} == {
        "train 7": (15, 15, 1),
        "train 8": (30, 30, 1),
        "outside of steps": (4, 4, 1),
    }


def test_kernels_group_by_the_module_and_the_op_that_launched_them(tmp_path: Path) -> None:
    found = timeline(kineto_profile(tmp_path, module_program()))
    assert {"module", "op"} <= recorded_groups(found)
    devices = [track.id for track in found.tracks if track.kind == "stream"]
    got = ways(flame(found, *found.span(), devices, ("module", "name")))
    # As the tree of modules has them: forward 5 + backward 13 + once more 4, and 7 + 11.
    assert got["Linear_0", "gemm"] == (22, 22, 3)
    assert got["Linear_1", "gemm"] == (18, 18, 2)
    assert sum(one[0] for way, one in got.items() if len(way) == 1) == got[()][0]
    ops = ways(flame(found, *found.span(), devices, ("op",)))
    assert ops["addmm",] == (16, 16, 3)
    assert ops["relu",] == (2, 2, 1)


def test_what_runs_on_the_host_belongs_to_the_module_around_it(tmp_path: Path) -> None:
    found = timeline(kineto_profile(tmp_path, module_program()))
    threads = [track.id for track in found.tracks if track.kind == "thread"]
    got = ways(flame(found, *found.span(), threads, ("module", "name")))
    assert got["Linear_1", "aten::addmm"][2] == 1
    assert ("Net_0", "aten::relu") in got
    assert ("no module", "aten::mse_loss") in got


def test_only_ways_to_divide_that_were_recorded_are_offered() -> None:
    labels = [one.label for one in groupings(program())]
    assert labels[0] == "stack, all tracks merged"
    assert not any("module" in label for label in labels)
    for one in groupings(program()):
        tree = flame(program(), 0, 200 * US, by=one.by)
        assert int(tree.total_ps[0]) == 160 * US, one


@pytest.mark.parametrize(
    "by", [(), ("name", "name"), ("colour",), ("stack", "track"), ("category", "stack")]
)
def test_groups_that_make_no_tree_are_refused(by: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"groups|stack"):
        flame(program(), 0, 200 * US, by=by)


def test_inverted_it_is_what_took_the_time_and_who_called_it() -> None:
    assert ways(inverted(flame(program(), 0, 200 * US))) == {
        (): (160, 0, 7),
        ("f",): (60, 60, 2),
        ("g",): (55, 10, 3),
        ("g", "f"): (45, 45, 2),
        ("h",): (5, 0, 1),
        ("h", "g"): (5, 0, 1),
        ("h", "g", "f"): (5, 5, 1),
        ("sgemm",): (40, 40, 1),
    }


def test_two_flames_meet_by_the_texts_on_the_way() -> None:
    before = flame(program(), 0, 200 * US)
    after = flame(
        opened(space(host(line("m", ("new", 0, 10), ("f", 20, 50), ("g", 30, 30))))), 0, 99 * US
    )
    both = paired(before, after)
    way: list[tuple[str, ...]] = [()]
    for row in range(1, len(both)):
        way.append((*way[both.parent[row]], both.text[row]))
    old, new = ways(before), ways(after)
    assert set(way) == set(old) | set(new)
    for row, one in enumerate(way):
        assert (both.before[row] >= 0) == (one in old)
        assert (both.after[row] >= 0) == (one in new)
        if one in old:
            assert before.total_ps[both.before[row]] // US == old[one][0]
        if one in new:
            assert after.total_ps[both.after[row]] // US == new[one][0]


def test_nothing_in_a_range_is_a_root_alone() -> None:
    empty = flame(program(), 500 * US, 600 * US)
    assert ways(empty) == {(): (0, 0, 0)} == ways(inverted(empty))
    assert len(paired(empty, empty)) == 1


@st.composite
def nests(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Properly nested events of one thread."""
    found: list[tuple[str, int, int]] = []

    def fill(begin: int, end: int, depth: int) -> None:
        at = begin
        while at < end and draw(st.booleans()):
            start = draw(st.integers(at, end - 1))
            stop = draw(st.integers(start + 1, end))
            found.append((draw(st.sampled_from("abc")), start, stop - start))
            if depth < 4:
                fill(start, stop, depth + 1)
            at = stop

    fill(0, 60, 0)
    return found


@given(nests(), st.integers(0, 59), st.integers(1, 60))
def test_it_is_what_a_walk_over_every_moment_finds(
    events: list[tuple[str, int, int]], begin: int, length: int
) -> None:
    """Brute force: at each µs, the stack of the events that are open."""
    end = begin + length
    want: dict[tuple[str, ...], int] = defaultdict(int)
    for moment in range(begin, end):
        stack: tuple[str, ...] = ()
        want[stack] += 0
        for name, start, duration in events:
            if start <= moment < start + duration:
                stack = (*stack, name)
                want[stack] += 1
    found = opened(space(host(line("main", ("z", 500, 1), *events))))
    tree = flame(found, begin * US, end * US)
    got = {way: total for way, (total, _own, _count) in ways(tree).items() if way}
    assert got == {way: total for way, total in want.items() if way and total}
    turned = inverted(tree)
    assert int(turned.total_ps[0]) == int(tree.total_ps[0]) == int(tree.self_ps.sum())
    own: dict[str, int] = defaultdict(int)
    for row in range(1, len(tree)):
        own[tree.texts[tree.label[row]]] += int(tree.self_ps[row])
    tops = np.flatnonzero(turned.parent == 0)
    assert {turned.texts[turned.label[i]]: int(turned.total_ps[i]) for i in tops} == {
        name: value for name, value in own.items() if value
    }


def test_a_name_has_its_callers_on_one_side_and_its_callees_on_the_other() -> None:
    tree = flame(program(), 0, 200 * US)
    assert ways(callers(tree, "g".__eq__)) == {
        (): (60, 0, 3),
        ("g",): (60, 10, 3),
        ("g", "f"): (50, 50, 2),
    }
    assert ways(callees(tree, "g".__eq__)) == {
        (): (60, 0, 0),
        ("g",): (60, 55, 3),
        ("g", "h"): (5, 5, 1),
    }


def test_a_function_that_calls_itself_counts_once() -> None:
    calls = [("f", 0, 100), ("g", 10, 80), ("f", 20, 60), ("h", 30, 10)]
    tree = flame(opened(space(host(line("main", *calls, id=1)))), 0, 200 * US)
    assert ways(callees(tree, "f".__eq__)) == {
        (): (100, 0, 0),
        ("f",): (100, 20, 1),
        ("f", "g"): (80, 20, 1),
        ("f", "g", "f"): (60, 50, 1),
        ("f", "g", "f", "h"): (10, 10, 1),
    }
    assert ways(callers(tree, "f".__eq__))["f",] == (100, 100, 1)
    assert ways(callers(tree, "h".__eq__))["h", "f", "g", "f"][0] == 10


def test_a_name_that_did_not_run_is_a_root_alone() -> None:
    tree = flame(program(), 0, 200 * US)
    assert ways(callers(tree, "z".__eq__)) == {(): (0, 0, 0)} == ways(callees(tree, "z".__eq__))
    nothing = flame(program(), 500 * US, 600 * US)
    assert len(callers(nothing, "f".__eq__)) == len(callees(nothing, "f".__eq__)) == 1


@given(nests(), st.sampled_from("abc"))
def test_both_sides_are_what_a_walk_over_every_moment_finds(
    events: list[tuple[str, int, int]], name: str
) -> None:
    """Brute force: at each µs, the open events outside and inside of the outermost of the name."""
    out: dict[tuple[str, ...], int] = defaultdict(int)
    into: dict[tuple[str, ...], int] = defaultdict(int)
    for moment in range(60):
        stack = [one for one, start, length in events if start <= moment < start + length]
        if name not in stack:
            continue
        first = stack.index(name)
        for end in range(1, first + 2):
            out[tuple(stack[: first + 1][::-1][:end])] += 1
        for end in range(first + 1, len(stack) + 1):
            into[tuple(stack[first:end])] += 1
    found = opened(space(host(line("main", ("z", 500, 1), *events))))
    tree = flame(found, 0, 60 * US)
    for side, want in ((callers, out), (callees, into)):
        got = ways(side(tree, name.__eq__))
        assert {way: one[0] for way, one in got.items() if way and one[0]} == want
        assert got[()][0] == want[(name,)]
    assert inverted(tree).total_ps[0] == tree.total_ps[0]
