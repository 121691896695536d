"""The JSON of rocprof 1 and 2 opens as a recording of ROCm, to the nanosecond."""

from __future__ import annotations

import json
import random
from pathlib import Path

import stepscope
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats import FORMATS
from stepscope.store import find, read_pieces
from tests.unit.formats.layout import lines
from tests.unit.formats.rocprof.files import KERNEL, SECRET, old_trace


def opened(path: Path) -> Space:
    ((source,),) = (one.sources for one in find(path).runs)
    assert source.format == "rocprof-trace"
    return FORMATS[source.format].open(read_pieces(str(path)), str(path))


def test_work_has_its_launch_and_its_range(tmp_path: Path) -> None:
    found = lines(opened(old_trace(tmp_path / "results.json")))
    kernel, copy = found["/device:GPU:0", "Stream #2(Compute,MemcpyH2D)"]
    assert (kernel["name"], kernel["start"], kernel["length"]) == (KERNEL, 2_000_777, 599_223)
    assert (kernel["correlation_id"], kernel["tf_op"]) == (7, "forward:forward")
    assert (copy["name"], copy["correlation_id"]) == ("MemcpyH2D", 8)
    mark, launch, other = found["/host:CPU", "python"]
    assert (mark["name"], mark["length"]) == ("forward", 600_000)
    assert (launch["name"], launch["start"], launch["correlation_id"]) == (
        "hipLaunchKernel",
        1_000_123,
        7,
    )
    assert other["correlation_id"] == 8


def test_every_page_of_kernels_has_them(tmp_path: Path) -> None:
    with stepscope.open(old_trace(tmp_path / "results.json")) as session:
        (row,) = session.kernel_stats().kernels.records()
        assert row.name == KERNEL
        assert SECRET not in json.dumps(session.overview_page().to_dict(), default=str)


def test_copies_in_a_layer_of_their_own_are_on_the_gpu_that_they_name(tmp_path: Path) -> None:
    path = old_trace(tmp_path / "results.json")
    value = json.loads(path.read_text())
    said = {"pid": 1, "name": "process_name", "ph": "M", "args": {"name": "3 COPY"}}
    value["traceEvents"].append(said)
    for at, name in enumerate(("CopyDeviceToHost", "FillBuffer", "async-copy")):
        times = {"BeginNs": f"{4_000_000 + 1000 * at}", "EndNs": "4100000"}
        more = {"dev-id": "1", "stream-id": "2"} if at < 2 else {}
        event = {"ph": "X", "name": name, "pid": 1, "tid": 0, "args": {**times, **more}}
        value["traceEvents"].append(event)
    path.write_text(json.dumps(value))
    found = lines(opened(path))
    on_second = [one for key, some in found.items() if "GPU:1" in key[0] for one in some]
    assert [one["name"] for one in on_second] == ["MemcpyD2H", "Memset"]
    on_first = [one for key, some in found.items() if "GPU:0" in key[0] for one in some]
    assert "Memcpy" in [one["name"] for one in on_first]


def test_events_without_exact_times_or_of_other_layers_are_counted(tmp_path: Path) -> None:
    path = old_trace(tmp_path / "results.json")
    value = json.loads(path.read_text())
    value["traceEvents"] += [
        {
            "ph": "X",
            "name": "a",
            "pid": 2,
            "tid": 1,
            "ts": 1,
            "args": {"BeginNs": "9", "EndNs": ""},
        },
        {"ph": "X", "name": "b", "pid": 99, "tid": 1, "args": {"BeginNs": "9", "EndNs": "10"}},
    ]
    path.write_text(json.dumps(value))
    said = opened(path).warnings
    assert "1 events have no times in ns; they are left out." in said
    assert "1 events are of layers that are not shown." in said


def test_broken_texts_open_or_say_why_not(tmp_path: Path) -> None:
    data = old_trace(tmp_path / "results.json").read_bytes()
    rng = random.Random(5)
    path = tmp_path / "broken.json"
    for _ in range(200):
        broken = bytearray(data[: rng.randrange(1, len(data))])
        for _ in range(rng.randrange(4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        path.write_bytes(bytes(broken))
        try:
            FORMATS["rocprof-trace"].open(read_pieces(str(path)), str(path))
        except FormatError as error:
            assert error.why
