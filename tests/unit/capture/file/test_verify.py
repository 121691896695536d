"""What is checked after a recording is written, and what becomes of its chunks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.capture.file import compact as compacting
from stepscope.capture.file import verify as verifying
from stepscope.capture.file.compact import child_environment, compact
from stepscope.capture.file.recording_gaps import Gap, RecordingGaps
from stepscope.capture.file.verify import slowdown, verify
from stepscope.capture.file.writer import Writer
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorders.jax import JaxRecorder
from stepscope.capture.recorders.tensorflow import TensorFlowRecorder
from stepscope.columns.merge import merged
from stepscope.formats.xspace import decode
from stepscope.schema import names
from tests.profiles import host, line, parse, space

CHUNK = space(host(line("python", ("op", 0, 1), id=1)))
HOST, DEVICE = "/host:CPU", "/device:GPU:0"


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    found = Writer.open(str(tmp_path), "run", "host")
    found.append([CHUNK])
    return found


def slugs(
    writer: Writer,
    planes: tuple[str, ...] = (HOST,),
    events: int = 1,
    has_gpu: bool = False,
    level: int = 1,
) -> list[str]:
    options = ProfilerOptions(device_tracer_level=level)
    return [note.slug for note in verify(writer, events, planes, options, lambda: has_gpu)]


def test_a_whole_file_with_events_gives_no_note(writer: Writer) -> None:
    assert slugs(writer) == []


def test_a_gpu_without_an_event_is_said_loudly(writer: Writer) -> None:
    assert slugs(writer, has_gpu=True) == ["no-device-events"]
    assert slugs(writer, (HOST, DEVICE), has_gpu=True) == []
    assert slugs(writer, has_gpu=True, level=0) == []
    # Without a framework nothing could have run on it.
    assert slugs(writer, (), has_gpu=True) == []


def test_an_empty_recording_is_said_to_be(writer: Writer) -> None:
    assert slugs(writer, events=0) == ["no-events"]


@pytest.mark.parametrize("change", ["cut", "torn", "gone", "empty"])
def test_a_file_that_is_not_what_was_written_is_found_out(writer: Writer, change: str) -> None:
    data = writer.path.read_bytes()
    if change == "gone":
        writer.path.unlink()
    else:
        broken = {"cut": data[:-4], "torn": b"\x0a\xff" + data[2:], "empty": b""}[change]
        writer.path.write_bytes(broken)
    assert slugs(writer) == ["not-verified"]


def test_a_file_other_viewers_cannot_read_is_said_to_be(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "LARGEST_MESSAGE_BYTES", 10)
    assert slugs(writer) == ["larger-than-2gb"]


def test_chunks_are_put_together_by_a_process_of_its_own(writer: Writer) -> None:
    writer.append([CHUNK])
    assert compact(writer, 60) == []
    whole = decode(writer.path.read_bytes(), strict=True)
    assert len(whole.planes) == 1
    assert len(whole.events) == 2
    assert writer.size == writer.path.stat().st_size


@pytest.mark.parametrize("trouble", ["code", "time", "system", "interpreter"])
def test_chunks_that_cannot_be_put_together_stay_and_are_told(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        if trouble == "time":
            raise subprocess.TimeoutExpired(command, 1)
        if trouble == "system":
            raise OSError("no more processes")
        return subprocess.CompletedProcess(command, 1, b"", b"out of memory")

    monkeypatch.setattr(subprocess, "run", run)
    if trouble == "interpreter":
        monkeypatch.setattr(sys, "executable", "")
    (note,) = compact(writer, 1)
    assert note.slug == "left-in-chunks"
    assert "stepscope repair" in note.message
    assert writer.path.read_bytes() == CHUNK


def test_a_process_of_ours_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compacting.RECORD_VARIABLE, "{}")
    assert compacting.RECORD_VARIABLE not in child_environment()


def test_gaps_are_events_of_a_track_and_their_share_decides_how_loud_they_are() -> None:
    gaps = RecordingGaps()
    gaps.found = [
        Gap("tensorflow", 1_000, 3_000),
        Gap("tensorflow", 9_000, 10_000),
        Gap("jax", 1_000, 1_500),
    ]
    found = merged(decode(gaps.plane()))
    assert [plane.name for plane in found.planes] == ["Stepscope recording"]
    assert sorted(found.events.duration_ps.tolist()) == [500_000, 1_000_000, 2_000_000]
    assert [line.name for line in found.lines] == [names.GAPS_LINE]
    (note,) = gaps.notes(20_000, is_whole=True)  # 3,000 of 20,000 ns
    assert (note.slug, note.severity) == ("gaps", "warning")
    assert "tensorflow" in note.message
    assert "15 %" in note.message
    assert gaps.notes(100_000, is_whole=True)[0].severity == "info"
    assert gaps.notes(20_000, is_whole=False) == []  # some steps were to be recorded


def test_a_gap_says_which_recorder_saw_nothing_and_why() -> None:
    gaps = RecordingGaps()
    gaps.pause(at_step=True)
    gaps.resume(["torch"])
    gaps.resume(["torch"])  # nothing was paused
    gaps.found.append(Gap("jax", 5_000, 6_000))
    plane = parse(gaps.plane()).planes[0]
    stat_names = {key: value.name for key, value in plane.stat_metadata.items()}
    said = [
        {stat_names[stat.metadata_id]: stat_names[stat.ref_value] for stat in entry.stats}
        for entry in plane.event_metadata.values()
    ]
    assert said == [
        {names.GAP_RECORDER: "torch", names.GAP_REASON: names.GAP_PAUSE},
        {names.GAP_RECORDER: "jax", names.GAP_REASON: names.GAP_CHUNK},
    ]
    told = [[stat_names[stat.metadata_id] for stat in one.stats] for one in plane.lines[0].events]
    assert sorted(told) == [[], [names.GAP_AT_STEP]]
    assert [note.message.split()[0] for note in gaps.notes(1, is_whole=True)] == [
        "Recording",
        "jax",
    ]


@pytest.mark.parametrize(
    ("events", "event_ns", "said"),
    [
        (500_000, 400, None),  # 200 of 1,000 ms
        (1_000_000, 400, "up to 1.7 times"),
        (1_000_000_000, 400, "up to 10.0 times"),
        (1_000_000_000, 0, None),
    ],
)
def test_recording_that_takes_much_of_the_time_is_told(
    events: int, event_ns: int, said: str | None
) -> None:
    recorder: Any = SimpleNamespace(name="torch", event_ns=event_ns)
    notes = slowdown(recorder, events, 1_000_000_000)
    assert [said in note.message for note in notes if said] == ([] if said is None else [True])
    assert bool(notes) is bool(said)


def module(name: str, *, importing: bool = False) -> ModuleType:
    made = ModuleType(name)
    made.__spec__ = SimpleNamespace(_initializing=importing)  # type: ignore[assignment]
    return made


@pytest.mark.parametrize(
    ("recorder", "name"), [(TensorFlowRecorder(), "tensorflow"), (JaxRecorder(), "jax")]
)
def test_a_framework_is_recorded_only_once_the_program_has_imported_it(
    recorder: TensorFlowRecorder | JaxRecorder, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, name, raising=False)
    assert "not loaded" in (recorder.unavailable() or "")
    assert name not in sys.modules  # to ask is not to import
    monkeypatch.setitem(sys.modules, name, module(name, importing=True))
    assert "being imported" in (recorder.unavailable() or "")


def test_jax_is_used_once_it_has_chosen_devices_and_stays_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bridge = module("jax._src.xla_bridge")
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)
    recorder = JaxRecorder()
    assert not recorder.is_settled()
    bridge._backends = {"cpu": object()}  # type: ignore[attr-defined]
    assert recorder.is_settled()
    bridge._backends = {}  # type: ignore[attr-defined]  # as JAX leaves it at exit
    assert recorder.is_settled()
