"""What a snapshot of memory says first: who holds its peak."""

from pathlib import Path

import stepscope
from stepscope.result import Finding
from tests.unit.formats.torch_memory.snapshot import MB, event, segment, written

STEP, MODEL = "train.py:12 step", "model.py:40 forward"


def told(path: Path) -> Finding:
    with stepscope.open(path) as session:
        return next(one for one in session.advice().findings if one.rule == "memory-at-peak")


def test_the_function_that_holds_most_is_named_with_its_line(tmp_path: Path) -> None:
    events = [
        event("alloc", 0, 10 * MB, 1, STEP),
        event("alloc", 10 * MB, 60 * MB, 2, MODEL),
        event("alloc", 70 * MB, 20 * MB, 3, "model.py:44 forward"),
        event("free_completed", 10 * MB, 60 * MB, 4),
    ]
    value = {"segments": [segment(0, 100 * MB)], "device_traces": [events]}
    found = told(written(tmp_path / "a.pickle", value))
    assert found.place is not None
    assert (found.place.file, found.place.line) == ("work/model.py", 40)
    assert found.measured["held_bytes"] == 80 * MB
    assert found.measured["kept_bytes"] == 20 * MB
    assert found.measured["peak_bytes"] == 90 * MB
    assert found.severity == "medium"
    assert found.saving_ms is None


def test_each_line_of_a_script_is_a_holder(tmp_path: Path) -> None:
    events = [
        event("alloc", 0, 30 * MB, 1, "train.py:8 <module>"),
        event("alloc", 30 * MB, 50 * MB, 2, "train.py:13 <module>"),
    ]
    value = {"segments": [segment(0, 100 * MB)], "device_traces": [events]}
    found = told(written(tmp_path / "a.pickle", value))
    assert found.place is not None
    assert (found.place.file, found.place.line) == ("work/train.py", 13)


def test_memory_from_before_asks_for_a_longer_history(tmp_path: Path) -> None:
    block = {"address": 0, "size": 90 * MB, "requested_size": 90 * MB, "state": "active_allocated"}
    events = [event("alloc", 90 * MB, 5 * MB, 2, MODEL)]
    value = {"segments": [segment(0, 100 * MB, block)], "device_traces": [events]}
    found = told(written(tmp_path / "a.pickle", value))
    assert found.measured["before_recording_bytes"] == 90 * MB
