"""Traces of tracers of one's own: no category is Kineto's, the answer is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.formats.kineto.kinds_by_name import OF_AUTOGRAD
from stepscope.formats.kineto.open_trace import open_trace
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read
from stepscope.result import Finding
from stepscope.schema import names
from stepscope.tables.device.events import device_events
from stepscope.tables.recording.completeness import completeness
from stepscope.tables.steps.attribution import steps
from tests.unit.formats.kineto.layout import profile

Events = list[dict[str, Any]]
KERNEL = "void at::native::vectorized_elementwise_kernel<4, float>(int, float)"


def x(
    name: str, at: float, lasts: float, tid: Any = 1, pid: Any = 1, **more: Any
) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": at, "dur": lasts, "pid": pid, "tid": tid, **more}


def saved(folder: Path, events: Events) -> Path:
    path = folder / "own.json"
    path.write_text(json.dumps(events))
    return path


def first(path: Path) -> Finding:
    with stepscope.open(path) as session:
        return session.advice().findings[0]


def test_ranges_of_a_loop_are_its_steps_and_the_largest_is_named(tmp_path: Path) -> None:
    events = [
        event
        for at in range(0, 24_000, 1000)
        for event in (
            x("iteration", at, 990),
            x("tokenise", at + 10, 700),
            x("model", at + 720, 200),
        )
    ]
    path = saved(tmp_path, events)
    with stepscope.open(path) as session:
        overview = session.overview_page()
    assert overview.steps.count in range(22, 25)
    assert overview.steps.time_ms.mean == pytest.approx(1.0, rel=0.01)
    assert first(path).title == "tokenise: 70 % of the step"


def test_calls_of_python_have_their_place(tmp_path: Path) -> None:
    """As viztracer writes them: functions with file and line, those of C without."""
    events = [
        event
        for at in range(0, 20_000, 1000)
        for event in (
            x("train (/a/train.py:8)", at, 990, cat="fee"),
            x("load (/a/data.py:3)", at + 10, 900, cat="fee"),
            x("time.sleep", at + 20, 880, cat="fee"),
        )
    ]
    found = first(saved(tmp_path, events))
    assert found.place is not None
    assert (found.place.function, found.place.file, found.place.line) == ("load", "/a/data.py", 3)
    assert "time.sleep" in found.title


def test_times_of_another_unit_are_the_first_finding(tmp_path: Path) -> None:
    seconds = [x("load", at / 100, 0.009) for at in range(20)]
    found = first(saved(tmp_path, seconds))
    assert (found.rule, found.cause) == ("incomplete-profile", "implausible-times")
    assert found.actions[0] == "Write ts and dur in microseconds."


def test_calls_with_their_line_in_arguments_nest_as_they_began(tmp_path: Path) -> None:
    """As py-spy writes them: begins and ends at one time, whose order alone says who calls."""

    def sample(phase: str, name: str, line: int, at: int) -> dict[str, Any]:
        args = {"filename": "/a/train.py", "line": line}
        return {"ph": phase, "name": name, "ts": at, "pid": 1, "tid": 1, "args": args}

    events = [
        event
        for at in range(0, 20_000, 1000)
        for event in (
            sample("B", "train", 8, at),
            sample("B", "load", 3, at),
            sample("E", "load", 3, at + 900),
            sample("E", "train", 8, at + 900),
        )
    ]
    found = first(saved(tmp_path, events))
    assert found.place is not None
    assert (found.place.function, found.place.file, found.place.line) == ("load", "/a/train.py", 3)
    assert found.title.startswith("load: ")


def test_a_list_of_kernels_and_copies_is_a_device(tmp_path: Path) -> None:
    events = [
        event
        for at in range(0, 24_000, 1000)
        for event in (
            x("[MEMCPY] HtoD", at, 100, 7, 4711),
            x(KERNEL, at + 150, 50, 7, 4711),
            x("[MEMCPY] DtoH", at + 250, 700, 7, 4711),
        )
    ]
    path = saved(tmp_path, events)
    with stepscope.open(path) as session:
        (device,) = session.overview_page().window.devices
        parts = {row.kind: row.time_ms for row in session.step_account().parts.records()}
    assert device.copy_ns == 24 * 800_000
    assert device.compute_ns == 24 * 50_000
    assert parts["copy"] == pytest.approx(0.8)
    assert first(path).rule == "host-copies"


def test_copies_of_a_recording_without_steps_are_one_finding(tmp_path: Path) -> None:
    events, at = [], 0.0
    for lasts in (900, 400, 1300, 700, 2100, 300, 1700):
        events.append(x("Memcpy HtoD (Pageable -> Device)", at, lasts, tid=7))
        at += lasts
        if lasts in (400, 2100):
            events.append(x(KERNEL, at, 300, tid=7))
            at += 300
    with stepscope.open(saved(tmp_path, events)) as session:
        found = session.advice().findings
    assert [one.cause for one in found] == ["pageable-copies"]


def test_processes_with_streams_are_counted_as_devices(tmp_path: Path) -> None:
    events = [x(KERNEL, at, 50, 7, pid) for pid in (31_337, 31_338) for at in range(0, 2000, 100)]
    with stepscope.open(saved(tmp_path, events)) as session:
        names = [plane.name for plane in session.profile.hosts[0].space.planes]
    assert [name for name in names if "GPU" in name] == ["/device:GPU:0", "/device:GPU:1"]


def test_a_thread_with_few_kernels_is_a_thread(tmp_path: Path) -> None:
    events = [x("decode", 100 * at, 90) for at in range(20)] + [x(KERNEL, 2000, 90)]
    with stepscope.open(saved(tmp_path, events)) as session:
        names = [plane.name for plane in session.profile.hosts[0].space.planes]
    assert not any("GPU" in name for name in names)


def test_one_known_category_means_that_categories_say_it() -> None:
    events = [x("aten::mm", 0, 50, cat="cpu_op"), x("load (/a/data.py:3)", 60, 50, cat="mine")]
    space = open_trace([json.dumps(events).encode()])
    assert any("unknown categories" in text and "mine" in text for text in space.warnings)


def test_that_names_tell_is_said_and_spoils_nothing(tmp_path: Path) -> None:
    with stepscope.open(saved(tmp_path, [x("decode", 100 * at, 90) for at in range(9)])) as session:
        said = session.overview_page().diagnostics
    assert [one.severity for one in said if "recognised by their names" in one.message] == ["info"]


LONG = "9" * 400
FAR = 100_000
NAMES = [
    "void f" + "(" * FAR,
    "a<" + ">(" * FAR,
    "a." * FAR + "!",
    "",
    "(:1)",
    "void (",
    "f (" * 200,
    "a" * 5000 + "(b.py:1)",
    "<<<>>>()",
    f"x (y.py:{LONG})",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_may_be_anything(tmp_path: Path, name: str) -> None:
    with stepscope.open(saved(tmp_path, [x(name, 100 * at, 90) for at in range(9)])) as session:
        assert session.advice() is not None


def slice_(name: str, ts: float, dur: float, process: str) -> dict[str, Any]:
    return {
        "name": name,
        "ph": "X",
        "ts": ts,
        "dur": dur,
        "tid": 0 if process[1] == "U" else 1,
        "pid": process,
        "args": {},
    }


def conv(process: str, ts: float, dur: float) -> list[dict[str, Any]]:
    """An op, the op that it calls, and what that calls first."""
    return [
        slice_("aten::conv2d", ts, dur, process),
        slice_("aten::cudnn_convolution", ts + 1, dur - 2, process),
        slice_("aten::contiguous", ts + 2, 1, process),
    ]


def test_outermost_ops_of_a_device_are_what_ran_on_it(tmp_path: Path) -> None:
    """Ten convolutions of 90 µs, launched in 40: "net" is a range, on the device as well."""
    events = [slice_("net", 0, 1000, "CPU functions"), slice_("net", 50, 960, "CUDA functions")]
    for at in range(10):
        events += conv("CPU functions", 100.0 * at, 40)
        events += conv("CUDA functions", 100.0 * at + 50, 90)
    (host,) = profile(tmp_path, events).hosts
    found = device_events(host)
    names = [host.space.event_metadata.name[one] for one in host.space.events.metadata[found.rows]]
    assert names == ["aten::conv2d"] * 10
    assert (found.end_ps - found.start_ps).tolist() == [90_000_000] * 10
    whole = steps(host)
    assert whole is not None and int(whole.parts_ps["device_compute_32"].sum()) > 0
    assert OF_AUTOGRAD in [one.message for one in completeness(host).diagnostics]


def test_a_trace_in_which_nothing_ran_is_kinetos(tmp_path: Path) -> None:
    """A chunk of a recording may lie between two steps; its one span is the profiler's."""
    span = x("PyTorch Profiler (0)", 0.0, 9.0, "PyTorch Profiler", "Traces", cat="Trace")
    for event, told in ((span, 0), ({**span, "name": "mine"}, 1)):
        planes, _events = to_xspace(read(saved(tmp_path, [event])))
        assert planes.count(names.PROGRAM_RANGES.encode()) == told
