"""Callers and callees of a name, by hand and against a walk over every moment."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from stepscope.timeline.flames import flame, inverted
from stepscope.timeline.sandwich import callees, callers
from tests.profiles import host, line, space
from tests.unit.timeline.test_flames import US, nests, program, ways
from tests.unit.timeline.test_timeline import opened


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
