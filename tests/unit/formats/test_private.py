"""Environment, command lines, users, hosts and paths of files stay in the files, in every format.

Each file is built with a word of its own in every field that its format has for such things; no
text of the columns, page or export of what is opened may hold one.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.columns.private import _private_rows, is_private
from stepscope.columns.space import Space
from stepscope.formats.xspace.encode import encode
from stepscope.session import Session
from stepscope.surfaces.cli.main import run
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.surfaces.http.app import STATIC_FOLDER
from stepscope.surfaces.report import make_report
from stepscope.tables.recording.recorder_costs import recorder_levels
from stepscope.timeline import timeline
from stepscope.wire import write as wire
from tests.profiles import environment, host, line, parse, plane, ref, space, worked_example
from tests.unit.formats.nccl.dumps import dump, entry, log, perf, write_dumps
from tests.unit.formats.nsight import export as nsight
from tests.unit.formats.nsight.folder import folder_of
from tests.unit.formats.perfetto.traces import small
from tests.unit.formats.rocprof.files import kernel_csv, old_database, old_trace, rocpd, tool_json
from tests.unit.formats.rocprof.files import run as rocprof_run
from tests.unit.formats.stacks.files import (
    COLLAPSED,
    HOME,
    PERF,
    gecko,
    pprof,
    speedscope,
    tachyon,
)
from tests.unit.formats.torch_memory.snapshot import training, written
from tests.unit.surfaces.test_report import unpacked

WORD = "zqkanari"
ENVIRONMENT = f"WANDB_API_KEY={WORD}env"
COMMAND = f"python train.py --token={WORD}command"
USER, HOST, PATH = f"{WORD}user", f"{WORD}host", f"/home/{WORD}path/run/train.py"
PRIVATE = {
    "environment": ENVIRONMENT,
    "env": {"TOKEN": ENVIRONMENT},
    "command": COMMAND,
    "command_line": COMMAND,
    "cmdline": COMMAND,
    "argv": [COMMAND],
    "user": USER,
    "username": USER,
    "hostname": HOST,
    "host_name": HOST,
    "cwd": PATH,
    "executable": PATH,
}


def _nsight(folder: Path) -> Path:
    said = [
        {"name": f"PROCESS_0:{name}", "value": value}
        for name, value in (
            ("ENVIRONMENT_VARIABLE", ENVIRONMENT),
            ("ARGUMENT", COMMAND),
            ("USER", USER),
            ("WORKING_DIRECTORY", PATH),
        )
    ]
    system = [
        {"name": "DeviceEnvironment", "nameEnum": 1, "value": ENVIRONMENT},
        {"name": "Hostname", "nameEnum": 2, "value": HOST},
    ]
    return nsight.export(
        folder / "a.sqlite",
        ("gemm",),
        kernels=[nsight.kernel(1, 2, 1, 1)],
        META_DATA_CAPTURE=said,
        TARGET_INFO_SYSTEM_ENV=system,
        PROCESSES=[{"globalPid": nsight.pid(10), "pid": 10, "name": f"/opt/{WORD}path/python"}],
        ANALYSIS_FILE=[{"id": 1, "filename": PATH, "content": COMMAND}],
        DIAGNOSTIC_EVENT=[{"text": f"{COMMAND} {USER}@{HOST}"}],
    )


def _nsight_folder(folder: Path) -> Path:
    made = folder / "made"
    made.mkdir()
    path = folder_of(_nsight(made), folder / "logs" / "a_pqtdir")
    shutil.rmtree(made)
    return path


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


def _csv(folder: Path) -> Path:
    path = kernel_csv(folder / "x_kernel_trace.csv")
    head, *rows = path.read_text().splitlines()
    more = {
        "Command": COMMAND,
        "Hostname": HOST,
        "User": USER,
        "Environment": ENVIRONMENT,
        "Working_Directory": PATH,
    }
    names, cells = (",".join(f'"{one}"' for one in side) for side in (more, more.values()))
    path.write_text("\n".join([f"{head},{names}", *(f"{row},{cells}" for row in rows)]) + "\n")
    return path


def _old_rocprof(folder: Path) -> Path:
    path = old_trace(folder / "o.json")
    value = json.loads(path.read_text())
    value["otherData"] = PRIVATE
    value["traceEvents"][5]["args"] |= PRIVATE
    return _json(path, value)


def _old_rocprof_database(folder: Path) -> Path:
    path = old_database(folder / "o.db")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE HIP SET args = ?, Data = ?", (COMMAND, PATH))
    database.close()
    return path


def _pprof(folder: Path) -> Path:
    data = gzip.decompress(pprof()).replace(HOME.encode(), _moved(HOME).encode())
    words = 10
    mapping = wire.number(1, 1) + wire.number(5, words)
    label = wire.blob(3, wire.number(1, words + 1) + wire.number(2, words + 2))
    values = wire.varint(1) + wire.varint(10)
    sample = wire.blob(2, wire.blob(1, bytes([1])) + wire.blob(2, values) + label)
    comments = wire.number(13, words + 3) + wire.number(15, words + 4)
    texts = (PATH, "hostname", HOST, COMMAND, f"https://{HOST}/{USER}")
    data += wire.blob(3, mapping) + sample + comments
    path = folder / "a.pb.gz"
    path.write_bytes(gzip.compress(data + b"".join(wire.text(6, one) for one in texts)))
    return path


def _moved(home: str) -> str:
    """A home of the same length, so that lengths in messages stay right."""
    return f"/home/{WORD}"[: len(home) - 2] + "/w"


def _collapsed(folder: Path) -> Path:
    path = folder / "a.collapsed"
    text = COLLAPSED.replace(HOME, f"/home/{WORD}path/a/b")
    # Several processes, as py-spy writes them; a library by its path.
    text += f'process 4711:"{COMMAND}";main ({PATH}:3);/home/{WORD}path/lib/x.so 2\n'
    path.write_text(text)
    return path


def _tachyon(folder: Path) -> Path:
    path = folder / "a.bin"
    path.write_bytes(tachyon(path=PATH))
    return path


def _xspace_message() -> Any:
    """A training with private metadata wherever an XSpace has strings for it."""
    options = wire.number(2, 3) + wire.text(10, f"gs://{WORD}bucket/logs") + wire.number(4, 1)
    facts = environment(
        profile_start_time=1,
        profile_options=options,
        command_line=COMMAND,
        environment=ENVIRONMENT,
        user=USER,
        hostName=ref(HOST),
        working_directory=ref(PATH),
        dumped_to=PATH,
        profilerLogDir=f"gs://{WORD}bucket",
        cpu_version="1.2",
    )
    said = {"hostname": HOST, "login_user": ref(USER), "cwd": PATH, "env": ENVIRONMENT.encode()}
    more = space(
        facts,
        plane("/host:metadata", stats={"task_cmdline": COMMAND, "cache": f"C:\\{WORD}path\\x"}),
        host(line("python", ("step", 0, 5, said))),
        hostnames=[HOST, f"{WORD}host-2"],
        errors=[f"cannot open {PATH} on {HOST}"],
        warnings=[f"slow disk '/home/{WORD}path/run', see https://example.org/why"],
    )
    message = parse(worked_example(gpu=True, steps=2))
    message.MergeFromString(more)
    entry = next(iter(message.planes[0].event_metadata.values()))
    message.planes[0].stat_metadata[990].id = 990
    message.planes[0].stat_metadata[990].name = "executable"
    entry.stats.add(metadata_id=990).str_value = PATH
    return message


def _xspace(folder: Path) -> Path:
    path = folder / "h.xplane.pb"
    path.write_bytes(_xspace_message().SerializeToString())
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "nsight": _nsight, "rocpd": _rocpd, "rocprof-json": _rocprof_json, "torch-memory": _snapshot,
    "kineto": _kineto, "chrome": _chrome, "viztracer": _viztracer, "speedscope": _speedscope,
    "gecko": _gecko, "perf": _perf, "perfetto": _perfetto, "nccl-flight": _flight,
    "nccl-inspector": _inspector, "rocprof-csv": _csv, "pprof": _pprof, "collapsed": _collapsed,
    "rocprof-trace": _old_rocprof, "tachyon": _tachyon, "xspace": _xspace,
    "nsight-tables": _nsight_folder, "rocprof-database": _old_rocprof_database,
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
    files = [one for one in sorted(path.iterdir())] if path.is_dir() else [path]
    data = b"".join(one.read_bytes() for one in files)
    assert WORD.encode() in (gzip.decompress(data) if path.suffix == ".gz" else data)
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
    if (STATIC_FOLDER / "index.html").is_file():
        made = make_report(session).html
        yield from (one.decode("utf-8", "replace") for one in (made, *unpacked(made).values()))


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


def test_what_is_private_in_an_xspace_is_there_for_who_asks(tmp_path: Path) -> None:
    path = _xspace(tmp_path)
    with stepscope.open(path, private=True) as session:
        kept = encode(session.profile.hosts[0].space)
    with stepscope.open(path) as session:
        left = encode(session.profile.hosts[0].space)
    for word in (ENVIRONMENT, COMMAND, USER, HOST, PATH, f"gs://{WORD}bucket/logs"):
        assert word.encode() in kept
    assert WORD.encode() not in left


def test_exports_and_reports_hold_what_is_private_only_if_told(tmp_path: Path) -> None:
    path, target = _xspace(tmp_path), tmp_path / "out.pb"
    for more, is_there in ((), False), (("--private",), True):
        assert run(["export", str(path), "-f", "xspace", "-o", str(target), *more]) == 0
        assert (WORD.encode() in target.read_bytes()) is is_there
    assert run(["export", str(path), "--private", "--redact", "paths"]) == 2


def test_everything_else_of_an_xspace_stays(tmp_path: Path) -> None:
    path = _xspace(tmp_path)
    with stepscope.open(path) as session:
        left = parse(encode(session.profile.hosts[0].space))
        assert [note for note in left.warnings] == ["slow disk 'run', see https://example.org/why"]
        assert [note for note in left.errors] == ["cannot open train.py on this host"]
        levels = recorder_levels(session.profile.hosts[0])
        assert levels is not None and (levels.host, levels.python) == (3, 1)
        assert "1.2" in session.overview_page().environment.versions.values()
    with stepscope.open(path, private=True) as session:
        whole = parse(encode(session.profile.hosts[0].space))
    assert [one.name for one in left.planes] == [one.name for one in whole.planes]
    for one, other in zip(left.planes, whole.planes, strict=True):
        assert [[_placed(event) for event in line.events] for line in one.lines] == [
            [_placed(event) for event in line.events] for line in other.lines
        ]
        assert len(one.stats) == len(other.stats)
        assert one.event_metadata.keys() == other.event_metadata.keys()


def _placed(event: Any) -> tuple[int, int, int, int]:
    return event.metadata_id, event.offset_ps, event.duration_ps, len(event.stats)


@pytest.mark.parametrize(
    ("stat", "is_one"),
    [
        ("command_line", True), ("hostname", True), ("HostName", True), ("task_user_name", True),
        ("USER", True), ("TargetEnvironment", True), ("api_key", True), ("working directory", True),
        ("command_buffer", False), ("user_metadata", False), ("group_id", False),
        ("superuser", False), ("venv", False), ("num_tokens", False), ("chrome", False),
        ("recommand", False), ("", False),
    ],
)  # fmt: skip
def test_names_of_stats_tell_what_is_private(stat: str, is_one: bool) -> None:
    assert is_private(stat) is is_one


@pytest.mark.parametrize("more", [[], ["two\nlines"]], ids=["one line each", "several lines"])
def test_private_names_are_found_among_many(more: list[str]) -> None:
    stats = ["host_name", "Command Line", "user", "superuser", "shape", "envVars", *more, "user"]
    assert _private_rows(stats).tolist() == [is_private(stat) for stat in stats]
    assert _private_rows(stats)[[1, 2, -1]].all()
