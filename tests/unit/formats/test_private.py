"""Environment, command lines, users, hosts and paths of files stay in the files, in every format.

Each file is built with a word of its own in every field that its format has for such things; no
text of the columns, page or export of what is opened may hold one.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.columns.space import Space
from stepscope.session import Session
from stepscope.surfaces.cli.main import run
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.timeline import timeline
from stepscope.wire import write as wire
from tests.unit.formats.nccl.dumps import dump, entry, log, perf, write_dumps
from tests.unit.formats.nsight import export as nsight
from tests.unit.formats.perfetto.traces import small
from tests.unit.formats.rocprof.files import rocpd, tool_json
from tests.unit.formats.rocprof.files import run as rocprof_run
from tests.unit.formats.stacks.files import PERF, gecko, speedscope
from tests.unit.formats.torch_memory.snapshot import training, written

WORD = "zqkanari"
ENVIRONMENT = f"WANDB_API_KEY={WORD}env"
COMMAND = f"python train.py --token={WORD}command"
USER, HOST, PATH = f"{WORD}user", f"{WORD}host", f"/home/{WORD}path/run/train.py"
PRIVATE = {
    "environment": ENVIRONMENT, "env": {"TOKEN": ENVIRONMENT}, "command": COMMAND,
    "command_line": COMMAND, "cmdline": COMMAND, "argv": [COMMAND], "user": USER,
    "username": USER, "hostname": HOST, "host_name": HOST, "cwd": PATH, "executable": PATH,
}  # fmt: skip


def _nsight(folder: Path) -> Path:
    said = [
        {"name": f"PROCESS_0:{name}", "value": value}
        for name, value in (
            ("ENVIRONMENT_VARIABLE", ENVIRONMENT), ("ARGUMENT", COMMAND), ("USER", USER),
            ("WORKING_DIRECTORY", PATH),
        )
    ]  # fmt: skip
    system = [
        {"name": "DeviceEnvironment", "nameEnum": 1, "value": ENVIRONMENT},
        {"name": "Hostname", "nameEnum": 2, "value": HOST},
    ]
    return nsight.export(
        folder / "a.sqlite", ("gemm",),
        kernels=[nsight.kernel(1, 2, 1, 1)],
        META_DATA_CAPTURE=said, TARGET_INFO_SYSTEM_ENV=system,
        PROCESSES=[{"globalPid": nsight.pid(10), "pid": 10, "name": f"/opt/{WORD}path/python"}],
        ANALYSIS_FILE=[{"id": 1, "filename": PATH, "content": COMMAND}],
        DIAGNOSTIC_EVENT=[{"text": f"{COMMAND} {USER}@{HOST}"}],
    )  # fmt: skip


def _rocpd(folder: Path) -> Path:
    path = rocpd(folder / "r.db")
    with sqlite3.connect(path) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            for column in set(columns) & {"command", "environment", "hostname", "machine_id"}:
                database.execute(f'UPDATE "{table}" SET "{column}" = ?', (COMMAND,))
    database.close()
    return path


def _rocprof_json(folder: Path) -> Path:
    found = rocprof_run()
    found["metadata"].update({**PRIVATE, "node": PRIVATE, "config": PRIVATE})
    return tool_json(folder / "j_results.json", found)


def _snapshot(folder: Path) -> Path:
    found = {**training(), "environment": PRIVATE, **PRIVATE}
    return written(folder / "m.pickle", found, protocol=4)


def _kineto(folder: Path) -> Path:
    event = {"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    labels = {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": COMMAND}}
    trace = {"schemaVersion": 1, "traceName": PATH, **PRIVATE, "traceEvents": [event, labels]}
    return _json(folder / "p.json", trace)


def _chrome(folder: Path) -> Path:
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    trace = {"otherData": PRIVATE, "metadata": PRIVATE, **PRIVATE, "traceEvents": [event]}
    return _json(folder / "c.json", trace)


def _viztracer(folder: Path) -> Path:
    event = {"ph": "X", "cat": "FEE", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    trace = {
        "viztracer_metadata": {"version": "1.0.2", **PRIVATE},
        "file_info": {"files": {PATH: [COMMAND, 1]}, "functions": {}},
        "traceEvents": [event],
    }
    return _json(folder / "v.json", trace)


def _speedscope(folder: Path) -> Path:
    return _json(folder / "a.speedscope.json", {**speedscope(), "name": COMMAND, **PRIVATE})


def _gecko(folder: Path) -> Path:
    found = gecko()
    found["meta"].update({**PRIVATE, "arguments": COMMAND, "profilingStartTime": 1.0, "misc": USER})
    return _json(folder / "g.json", found)


def _perf(folder: Path) -> Path:
    head = f"# hostname : {HOST}\n# cmdline : {COMMAND}\n# os release : {USER}\n#\n"
    path = folder / "a.perf"
    path.write_text(head + PERF)
    return path


def _perfetto(folder: Path) -> Path:
    inner = wire.number(1, 1) + wire.text(2, COMMAND) + wire.text(6, "python")
    described = wire.number(1, 77) + wire.blob(3, inner)
    # 89 is the machine's description: kernel, user and host.
    system = wire.blob(45, wire.blob(1, wire.text(2, HOST) + wire.text(3, USER)))
    path = folder / "t.pftrace"
    path.write_bytes(small() + wire.blob(1, wire.blob(60, described)) + wire.blob(1, system))
    return path


def _flight(folder: Path) -> Path:
    dumps = folder / "dumps"
    dumps.mkdir()
    write_dumps(dumps, {**dump([entry(1, 0)], 1), "hostname": HOST, "environment": PRIVATE})
    return dumps / "nccl_trace_rank_0"


def _inspector(folder: Path) -> Path:
    one = perf(1, 8192, 10)
    one["metadata"].update(PRIVATE)
    return log(folder / "i-pid7.log", one)


FILES: dict[str, Callable[[Path], Path]] = {
    "nsight": _nsight, "rocpd": _rocpd, "rocprof-json": _rocprof_json, "torch-memory": _snapshot,
    "kineto": _kineto, "chrome": _chrome, "viztracer": _viztracer, "speedscope": _speedscope,
    "gecko": _gecko, "perf": _perf, "perfetto": _perfetto, "nccl-flight": _flight,
    "nccl-inspector": _inspector,
}  # fmt: skip


def _json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def texts(space: Space) -> Iterator[str]:
    yield from (one.name for one in space.planes)
    for one in space.lines:
        yield from (one.name, one.display_name)
    yield from space.event_metadata.name
    yield from space.event_metadata.display_name
    yield from space.stat_metadata.name
    yield from space.warnings
    yield from space.hostnames


@pytest.mark.parametrize("format_", FILES)
def test_what_is_private_stays_in_the_file(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = FILES[format_](tmp_path)
    assert WORD.encode() in path.read_bytes()
    with stepscope.open(path) as session:
        said = [*texts(session.profile.hosts[0].space), *_exports(session), *_results(session)]
    assert run(["doctor", str(path)]) == 0
    assert run(["ls", str(path.parent)]) == 0
    said.append(capsys.readouterr().out)
    assert sorted({one for text in said for one in re.findall(f"{WORD}\\w*", text)}) == []


def _exports(session: Session) -> Iterator[str]:
    events = timeline(session.profile)
    for name, one in RECORDING_FORMATS.items():
        if name != "chrome":  # the same, packed
            data = b"".join(one.write(events, -(10**18), 10**18))
            yield (gzip.decompress(data) if name == "pprof" else data).decode("utf-8", "replace")


def _results(session: Session) -> Iterator[str]:
    for tool in TOOLS:
        if tool.available(session.profile) is None:
            yield json.dumps(session.run(tool.id).to_dict(), default=str)


def test_the_search_sees_a_word_that_is_shown(tmp_path: Path) -> None:
    path = nsight.export(
        tmp_path / "a.sqlite", (f"{WORD}kernel",), kernels=[nsight.kernel(1, 2, 1, 1)]
    )
    with stepscope.open(path) as session:
        said = [*texts(session.profile.hosts[0].space)], [*_exports(session)], [*_results(session)]
    assert all(any(WORD in text for text in some) for some in said)
