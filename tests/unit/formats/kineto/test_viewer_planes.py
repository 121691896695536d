"""Traces that viewers derived from XSpaces have their planes and lines again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.formats.kineto.open_trace import open_trace
from stepscope.formats.xspace import decode
from stepscope.surfaces.export.chrome_json import chrome_trace
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import timeline
from tests.profiles import async_gpu, overlapping_streams, pytorch_like, worked_example
from tests.unit.formats.exported import shown
from tests.unit.formats.kineto.layout import lines, xspace


def named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def test_processes_are_planes_and_threads_are_lines(tmp_path: Path) -> None:
    said = {"hlo_category": "fusion", "bytes_accessed": "4096", "long_name": "%fusion = f32[2]"}
    events = [
        named("process_name", 3, 0, "/device:TPU:0"),
        named("thread_name", 3, 2, "XLA Ops"),
        {"ph": "X", "name": "fusion", "pid": 3, "tid": 2, "ts": 5.0, "dur": 2.0, "args": said},
        named("process_name", 7, 0, "/host:CPU"),
        named("thread_name", 7, 1, "main"),
        {"ph": "X", "name": "run", "pid": 7, "tid": 1, "ts": 1.0, "dur": 9.0},
    ]
    found = lines(xspace(tmp_path, events))
    assert list(found) == [("/device:TPU:0", "XLA Ops"), ("/host:CPU", "main")]
    (op,) = found["/device:TPU:0", "XLA Ops"]
    assert (op["name"], op["length"]) == ("fusion", 2)
    assert (op["bytes_accessed"], op["hlo_category"]) == (4096, "fusion")
    (note,) = open_trace([json.dumps({"traceEvents": events}).encode()]).warnings
    assert "derived" in note


def test_our_own_export_says_the_same_of_devices(tmp_path: Path) -> None:
    original = tmp_path / "host.xplane.pb"
    original.write_bytes(worked_example(gpu=True))
    session = stepscope.open(original)
    events = timeline(session.profile)
    data = b"".join(chrome_trace(events, -(10**15), 10**15))
    exported = tmp_path / "exported.json"
    exported.write_bytes(data)
    (wanted,) = session.overview_page().window.devices
    (found,) = stepscope.open(exported).overview_page().window.devices
    assert (found.device, found.events) == (wanted.device, wanted.events)
    assert (found.busy_ns, found.span_ns) == (wanted.busy_ns, wanted.span_ns)


@pytest.mark.parametrize(
    "build",
    [
        worked_example,
        lambda: worked_example(gpu=True),
        overlapping_streams,
        async_gpu,
        pytorch_like,
    ],
)
def test_our_own_export_comes_back_as_it_was(build: Callable[[], bytes]) -> None:
    first = timeline(Profile("p", (Host("h", decode(build())),)))
    data = b"".join(chrome_trace(first, first.span()[0], first.span()[1] + 1))
    second = timeline(Profile("p", (Host("h", open_trace([data])),)))
    before, after = shown(first), shown(second)
    # The text counts from the recording's begin, which is not in it.
    assert from_begin(before[0]) == from_begin(after[0])
    assert sum(before[1].values()) == sum(after[1].values())
    assert before[2].keys() == after[2].keys()


def from_begin(events: Counter[Any]) -> dict[Any, int]:
    begin = min(key[2] for key in events)
    return {(*key[:2], key[2] - begin, *key[3:]): count for key, count in events.items()}
