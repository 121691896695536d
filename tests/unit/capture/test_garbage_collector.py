"""Collections of garbage as events: which generation, how long, on which thread."""

from __future__ import annotations

import gc
import threading

import pytest

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorders.garbage_collector import GarbageCollector
from stepscope.schema import names
from tests.profiles import parse


def test_each_collection_is_an_event_of_its_thread() -> None:
    recorder = GarbageCollector()
    recorder.start(ProfilerOptions())
    for _ in range(10):
        cycle: list[object] = []
        cycle.append(cycle)
    del cycle
    gc.collect()
    other = threading.Thread(target=gc.collect, args=(1,))
    other.start()
    other.join()
    recorded = recorder.collect()
    (plane,) = parse(recorded.xspace).planes
    assert plane.name == names.GARBAGE_PLANE
    stat = {key: value.name for key, value in plane.stat_metadata.items()}
    mine = next(line for line in plane.lines if line.id == threading.get_native_id())
    assert mine.name == threading.current_thread().name
    full = [
        {stat[value.metadata_id]: value.int64_value for value in one.stats}
        for one in mine.events
        if plane.event_metadata[one.metadata_id].name == f"{names.COLLECTION} 2"
    ]
    assert full[0][names.GC_GENERATION] == 2
    assert full[0][names.GC_COLLECTED] >= 9
    assert all(one.duration_ps > 0 for one in mine.events)
    assert f"{names.COLLECTION} 1" in {value.name for value in plane.event_metadata.values()}
    assert {line.id for line in plane.lines} >= {threading.get_native_id(), other.native_id}
    assert recorded.events == sum(len(line.events) for line in plane.lines)


@pytest.mark.parametrize("ending", ["collect", "drop", "forked"])
def test_nothing_stays_behind(ending: str) -> None:
    before = list(gc.callbacks)
    recorder = GarbageCollector()
    recorder.start(ProfilerOptions())
    assert len(gc.callbacks) == len(before) + 1
    getattr(recorder, ending)()
    assert gc.callbacks == before
    gc.collect()
    assert recorder.collect().xspace == b""


def test_where_python_is_not_sampled_nothing_is_heard() -> None:
    before = list(gc.callbacks)
    recorder = GarbageCollector()
    recorder.start(ProfilerOptions(sample_hz=0))
    assert gc.callbacks == before
    assert recorder.collect().events == 0
