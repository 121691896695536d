"""Stacks for viewers of flames, read back by protobuf and by our own readers."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import stepscope
from stepscope.analysis import TOOLS
from stepscope.errors import StoreError
from stepscope.formats import FORMATS
from stepscope.formats.xspace import decode
from stepscope.result import tables_of
from stepscope.store import read_pieces
from stepscope.store.atomic import write_atomic
from stepscope.surfaces.cli.main import run
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import Timeline, timeline
from stepscope.timeline.flames import flame
from stepscope.timeline.threads import threads
from tests.profiles import async_gpu, hostile_names, overlapping_streams, worked_example
from tests.unit.formats.layout import lines

BUILDS = [lambda: worked_example(gpu=True), overlapping_streams, async_gpu, hostile_names]
every_profile = pytest.mark.parametrize("build", BUILDS)


def opened(data: bytes) -> Timeline:
    return timeline(Profile("s", (Host("h", decode(data)),)))


def written(found: Timeline, format: str) -> bytes:
    begin, end = found.span()
    return b"".join(RECORDING_FORMATS[format].write(found, begin, end + 1))


def self_ns(found: Timeline) -> dict[tuple[str, ...], int]:
    """Self time by stack, section and track first."""
    begin, end = found.span()
    tree = flame(found, begin, end + 1, by=("section", "track", "stack"))
    paths: list[tuple[str, ...]] = [()]
    for parent, label in zip(tree.parent.tolist()[1:], tree.label.tolist()[1:], strict=True):
        paths.append((*paths[parent], tree.texts[label]))
    own = (tree.self_ps // 1000).tolist()
    return {path: time for path, time in zip(paths, own, strict=True) if time}


def plain(path: tuple[str, ...]) -> str:
    text = ";".join(
        part.replace(";", ":").replace("\n", " ").replace("\r", " ").strip() or "(no name)"
        for part in path
    )
    return text.encode("utf-8", "replace").decode()


@every_profile
def test_collapsed_stacks_hold_all_self_time(build: Callable[[], bytes]) -> None:
    found = opened(build())
    rows = [line.rpartition(" ") for line in written(found, "collapsed").decode().split("\n")[:-1]]
    told: Counter[str] = Counter()
    for stack, _, number in rows:
        told[stack] += int(number)
    wanted: Counter[str] = Counter()
    for path, time in self_ns(found).items():
        wanted[plain(path)] += time
    assert told == wanted


def profile_message() -> Any:
    """Profile of ``profile.proto``, of which protobuf makes a class."""
    file = descriptor_pb2.FileDescriptorProto(name="p.proto", package="p", syntax="proto3")
    kind = descriptor_pb2.FieldDescriptorProto
    messages = {
        "ValueType": {"type": (1, ""), "unit": (2, "")},
        "Sample": {"location_id": (1, "*"), "value": (2, "*")},
        "Line": {"function_id": (1, ""), "line": (2, "")},
        "Location": {"id": (1, ""), "line": (4, "*Line")},
        "Function": {"id": (1, ""), "name": (2, "")},
        "Profile": {
            "sample_type": (1, "*ValueType"),
            "sample": (2, "*Sample"),
            "location": (4, "*Location"),
            "function": (5, "*Function"),
            "string_table": (6, "*text"),
            "duration_nanos": (10, ""),
            "default_sample_type": (14, ""),
        },
    }
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, what) in fields.items():
            one = message.field.add(name=field, number=number)
            one.label = kind.LABEL_REPEATED if what.startswith("*") else kind.LABEL_OPTIONAL
            inner = what.lstrip("*")
            one.type = kind.TYPE_STRING if inner == "text" else kind.TYPE_INT64
            if inner in messages:
                one.type, one.type_name = kind.TYPE_MESSAGE, f".p.{inner}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))()


@every_profile
def test_protobuf_reads_the_same_totals_from_pprof(build: Callable[[], bytes]) -> None:
    found = opened(build())
    profile = profile_message()
    profile.ParseFromString(gzip.decompress(written(found, "pprof")))
    texts = profile.string_table
    assert texts[0] == ""
    assert [(texts[one.type], texts[one.unit]) for one in profile.sample_type] == [
        ("events", "count"),
        ("time", "nanoseconds"),
    ]
    assert texts[profile.default_sample_type] == "time"
    name = {one.id: texts[one.name] for one in profile.function}
    frame = {one.id: name[one.line[0].function_id] for one in profile.location}
    told = {
        tuple(frame[place] for place in reversed(one.location_id)): one.value[1]
        for one in profile.sample
        if one.value[1]
    }
    wanted = {
        tuple(part.encode("utf-8", "replace").decode() for part in path): time
        for path, time in self_ns(found).items()
    }
    assert told == wanted


@every_profile
def test_speedscope_holds_every_slice(tmp_path: Path, build: Callable[[], bytes]) -> None:
    found = opened(build())
    data = written(found, "speedscope")
    value = json.loads(data)
    frames = [one["name"] for one in value["shared"]["frames"]]
    told: Counter[Any] = Counter()
    for profile in value["profiles"]:
        stack: list[tuple[int, int]] = []
        before = profile["startValue"]
        for event in profile["events"]:
            assert before <= event["at"] <= profile["endValue"]
            before = event["at"]
            if event["type"] == "O":
                stack.append((event["frame"], event["at"]))
            else:
                frame, at = stack.pop()
                assert frame == event["frame"]
                told[profile["name"], frames[frame], at, event["at"]] += 1
        assert not stack
    begin, _ = found.span()
    wanted: Counter[Any] = Counter()
    for one in threads(found, begin, found.span()[1] + 1):
        lane = f" #{one.lane + 1}" if one.lane >= 0 else ""
        label = f"{found.sections[one.track.section].name} · {one.track.name}{lane}"
        for row in np.flatnonzero(one.end_ps > one.begin_ps).tolist():
            start, stop = ((int(at[row]) - begin) // 1000 for at in (one.begin_ps, one.end_ps))
            wanted[label, found.names[one.name[row]], start, stop] += 1
    assert told == wanted


def test_speedscope_of_ours_opens_again(tmp_path: Path) -> None:
    found = opened(worked_example(gpu=True))
    path = tmp_path / "a.speedscope.json"
    path.write_bytes(written(found, "speedscope"))
    space = FORMATS["speedscope"].open(read_pieces(str(path)), str(path))
    told = Counter(
        (one["name"], one["length"]) for events in lines(space).values() for one in events
    )
    wanted: Counter[Any] = Counter()
    begin, end = found.span()
    for one in threads(found, begin, end + 1):
        for row in np.flatnonzero(one.end_ps > one.begin_ps).tolist():
            start, stop = ((int(at[row]) - begin) // 1000 for at in (one.begin_ps, one.end_ps))
            wanted[found.names[one.name[row]], stop - start] += 1
    assert told == wanted


def test_a_folder_of_tables_has_all_of_them(tmp_path: Path) -> None:
    recording = tmp_path / "h.xplane.pb"
    recording.write_bytes(worked_example(gpu=True))
    assert run(["export", str(recording), "--format", "parquet", "-o", str(tmp_path / "t")]) == 0
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    session = stepscope.open(recording)
    tools = {tool.id for tool in TOOLS if session.available(tool.id) is None}
    assert set(manifest["values"]) == tools
    assert set(manifest["unavailable"]) == set(TOOLS.ids) - tools
    wanted = {
        (tool, name): table
        for tool in tools
        for name, table in tables_of(session.run(tool)).items()
    }
    assert {(one["tool"], one["table"]) for one in manifest["tables"]} == set(wanted)
    for one in manifest["tables"]:
        frame = pl.read_parquet(tmp_path / "t" / one["file"])
        assert list(frame.columns) == list(one["columns"])
        assert frame.equals(wanted[one["tool"], one["table"]].to_polars())
        assert len(frame) == one["rows"]


def test_a_folder_of_tables_that_the_disk_refuses_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, folder = tmp_path / "h.xplane.pb", tmp_path / "t"
    recording.write_bytes(worked_example())
    room = iter(range(3))

    def write(path: Path, data: Any) -> None:
        if next(room, None) is None:
            raise StoreError("The file cannot be written.", where=str(path))
        write_atomic(path, data)

    monkeypatch.setattr("stepscope.surfaces.export.table_folder.write_atomic", write)
    assert run(["export", str(recording), "--format", "parquet", "-o", str(folder)]) == 4
    assert not folder.exists()
    folder.mkdir()
    (folder / "mine.txt").write_text("kept")
    room = iter(range(3))
    assert run(["export", str(recording), "--format", "parquet", "-o", str(folder)]) == 4
    assert [one.name for one in folder.iterdir()] == ["mine.txt"]


def test_tables_have_no_range(tmp_path: Path) -> None:
    recording = tmp_path / "h.xplane.pb"
    recording.write_bytes(worked_example())
    assert run(["export", str(recording), "--format", "parquet", "--from", "1ms"]) == 2
