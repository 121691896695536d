"""Conservation laws of tf.data's calls, against definitions written out instant by instant."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.tf_data.calls import pipelines, traced_calls
from stepscope.tables.tf_data.events import iterator_calls
from tests.kernels import examples
from tests.profiles import host, line, space
from tests.profiles.model import EventLike

# (long name, id, parent id) of a pipeline with two branches, downstream first.
_NODES = (
    ("Iterator::Root", 1, 0),
    ("Iterator::Root::Prefetch", 2, 1),
    ("Iterator::Root::Prefetch::Zip", 3, 2),
    ("Iterator::Root::Prefetch::Zip[0]::Map", 4, 3),
    ("Iterator::Root::Prefetch::Zip[1]::Range", 5, 3),
)
_spans = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 25)), max_size=6)


def one_after_the_other(spans: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Calls of one iterator take turns."""
    at, found = 0.0, []
    for gap, length in spans:
        found.append((at + gap, float(length)))
        at += gap + length
    return found


def recorded(calls: list[list[tuple[int, int]]]) -> Host:
    """Every iterator on a thread of its own, so that causes are found by id and time."""
    lines = []
    for (name, id_, parent), spans in zip(_NODES, calls, strict=True):
        stats = {"id": id_} | ({"parent_id": parent} if parent else {})
        events: list[EventLike] = [
            (name, start, length, stats) for start, length in one_after_the_other(spans)
        ]
        lines.append(line(f"tf_data_{id_}", *events))
    return Host("h", decode(space(host(*lines))))


_calls = st.tuples(_spans, _spans, _spans, _spans, _spans).map(list)


@settings(deadline=None, max_examples=examples(150))
@given(_calls)
def test_waits_inside_a_call_sum_to_the_call(calls: list[list[tuple[int, int]]]) -> None:
    opened = recorded(calls)
    found = iterator_calls(opened)
    for pipeline in pipelines(opened):
        duration = (found.end_ps - found.start_ps)[pipeline.calls]
        assert (pipeline.critical_ps.sum(axis=1) == duration).all()
        assert (pipeline.critical_ps >= 0).all()


@settings(deadline=None, max_examples=examples(150))
@given(_calls)
def test_every_instant_belongs_to_the_deepest_that_kept_it_waiting(
    calls: list[list[tuple[int, int]]],
) -> None:
    opened = recorded(calls)
    found, traced = iterator_calls(opened), traced_calls(opened)
    unit = 1_000_000
    for pipeline in pipelines(opened):
        place = {node: rank for rank, node in enumerate(pipeline.nodes.tolist())}
        for row, root in enumerate(pipeline.calls.tolist()):
            expected = np.zeros(len(place), dtype=np.int64)
            for at in range(int(found.start_ps[root]), int(found.end_ps[root]), unit):
                waiting = {root}
                for _ in range(len(_NODES)):
                    waiting |= {
                        call
                        for call in range(len(found))
                        if found.cause[call] in waiting
                        and found.start_ps[call] <= at < found.end_ps[call]
                    }
                expected[max(place[int(found.node[call])] for call in waiting)] += unit
            assert pipeline.critical_ps[row].tolist() == expected.tolist()
    assert (traced.self_ps >= 0).all()


@settings(deadline=None, max_examples=examples(100))
@given(_calls)
def test_self_time_is_what_no_direct_child_covers(calls: list[list[tuple[int, int]]]) -> None:
    opened = recorded(calls)
    found, traced = iterator_calls(opened), traced_calls(opened)
    unit = 1_000_000
    for call in range(len(found)):
        children = np.flatnonzero(found.cause == call)
        instants = range(int(found.start_ps[call]), int(found.end_ps[call]), unit)
        free = sum(
            not any(found.start_ps[c] <= at < found.end_ps[c] for c in children.tolist())
            for at in instants
        )
        assert traced.self_ps[call] == free * unit


def test_a_pipeline_of_a_hundred_stages() -> None:
    """More stages than the sweep has classes: each waits 1 µs longer than the next."""
    count = 100
    events: list[EventLike] = []
    name = "Iterator"
    for depth in range(count):
        name += f"::Stage{depth}"
        stats = {"id": depth + 1} | ({"parent_id": depth} if depth else {})
        events.append((name, float(depth), 2.0 * (count - depth), stats))
    opened = Host("h", decode(space(host(line("python", *events)))))
    (pipeline,) = pipelines(opened)
    assert pipeline.critical_ps.tolist() == [[2_000_000] * count]
