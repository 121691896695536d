"""``ls`` and ``doctor`` say what a file is, who wrote it, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.surfaces.cli.main import run
from stepscope.wire import write as wire
from tests.profiles import worked_example
from tests.unit.formats.nccl.dumps import dump, entry, log, perf, write_dumps
from tests.unit.formats.nsight.export import export, kernel
from tests.unit.formats.perfetto.traces import small
from tests.unit.formats.rocprof.files import kernel_csv, old_database, old_trace, rocpd, tool_json
from tests.unit.formats.stacks.files import PERF, gecko, speedscope, tachyon
from tests.unit.formats.test_step_log import chunk
from tests.unit.formats.torch_memory.snapshot import training, written


def folder(path: Path) -> dict[str, str]:
    """A file of each format, and what it is to be called."""
    version = {"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2.1"}
    schema = {"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"}
    export(
        path / "n.sqlite", ("k",), kernels=[kernel(1, 2, 1, 1)], META_DATA_EXPORT=[version, schema]
    )
    rocpd(path / "r.db")
    tool_json(path / "j_results.json")
    kernel_csv(path / "c_kernel_trace.csv")
    old_trace(path / "o.json")
    old_database(path / "q.db")
    written(path / "m.pickle", training(), protocol=2)
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    trace: dict[str, Any] = {"viztracer_metadata": {"version": "1.0.2"}, "traceEvents": [event]}
    (path / "v.json").write_text(json.dumps(trace))
    (path / "p.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    write_dumps(path, dump([entry(1, 0)], 1))
    log(path / "i-pid7.log", perf(1, 8192, 10))
    exported = {**speedscope(), "exporter": "py-spy@0.4.3"}
    (path / "a.speedscope.json").write_text(json.dumps(exported))
    (path / "b.bin").write_bytes(tachyon())
    (path / "c.perf").write_text(f"# perf version : 6.8.12\n#\n{PERF}")
    (path / "a.gecko.json").write_text(json.dumps(gecko()))
    (path / "l.steps").write_bytes(chunk([10_000] * 4))
    service = wire.text(4, "Perfetto v47.0-10adfd0 (10adfd0a4)")
    machine = wire.blob(1, wire.text(4, "x86_64"))
    system = wire.blob(1, wire.blob(45, machine + service))
    (path / "t.pftrace").write_bytes(small() + system)
    return {
        "l": "Stepscope step log · Stepscope",
        "t": "Perfetto trace · Perfetto v47.0",
        "a.speedscope": "speedscope profile · py-spy@0.4.3",
        "a.gecko": "Firefox profile · python",
        "b": "profile of Python's sampler · Python 3.15.1 (profiling.sampling)",
        "c": "perf script output · perf 6.8.12",
        "nccl_trace_rank_0": "NCCL flight recorder dump · PyTorch (flight recorder 2.10)",
        "i-pid7": "NCCL Inspector log · NCCL Inspector v4.0",
        "n": "Nsight Systems export (SQLite) · Nsight Systems 2026.2.1 (export schema 3.25.0)",
        "r": "rocprofv3 database (rocpd) · rocprofv3 (schema 3.0.3)",
        "j_results": "rocprofv3 JSON · rocprofv3",
        "c_kernel_trace": "rocprofv3 CSV · rocprofv3",
        "o": "rocprof JSON · rocprof 1 or 2",
        "q": "rocprof database · rocprof 1 or 2",
        "m": "PyTorch memory snapshot · PyTorch (pickle protocol 2)",
        "v": "Chrome trace (JSON) · viztracer 1.0.2",
        "p": "Chrome trace (JSON) · PyTorch's profiler (Kineto)",
    }


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 0
    return capsys.readouterr().out


def test_ls_names_every_format_with_its_writer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = folder(tmp_path)
    out = told(capsys, "ls", str(tmp_path))
    for text in wanted.values():
        assert text in out
    runs = json.loads(told(capsys, "ls", str(tmp_path), "--format", "json"))["runs"]
    found = {
        host: text for one in runs for host, text in zip(one["hosts"], one["formats"], strict=True)
    }
    assert found == wanted


def test_ls_calls_an_xspace_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(worked_example())
    assert "XSpace" in told(capsys, "ls", str(tmp_path))


def test_doctor_says_what_a_file_has_and_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder(tmp_path)
    body = json.loads(told(capsys, "doctor", str(tmp_path / "m.pickle"), "--format", "json"))
    assert body["formats"] == ["PyTorch memory snapshot · PyTorch (pickle protocol 2)"]
    assert "memory_profile" in body["has"]
    lacking = {one["tool"]: one for one in body["lacks"]}
    assert "kernel" in lacking["kernel_stats"]["missing"]
    assert lacking["kernel_stats"]["record"]
    page = told(capsys, "doctor", str(tmp_path / "r.db"))
    assert "It has something to show in" in page and "kernel_stats" in page
    assert "It lacks" in page


def test_a_file_that_breaks_is_named_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rocpd(tmp_path / "r.db")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert "rocprofv3 database (rocpd)" in told(capsys, "ls", str(tmp_path))
