"""Files of one run that lie together open as one recording on one clock, or a note says why not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.redaction import Redaction
from stepscope.session import Session
from stepscope.store import find
from stepscope.surfaces.cli.main import run
from stepscope.timeline import timeline
from tests.profiles import Event, environment, gpu, host, line, space, stream, u
from tests.unit.formats.kineto.layout import BASE_NS, x
from tests.unit.formats.layout import lines
from tests.unit.formats.nsight.export import call, export, kernel, range_
from tests.unit.formats.torch_memory.snapshot import MB, START_US, training, written

STREAM = ("/device:GPU:0", "Stream #7(Compute)")
# What results say of how a session was opened.
AS_OPENED = dict.fromkeys(("session", "hosts", "files_used"))
MEMORY = ("/host:CPU", "Memory of GPU 0")


def kineto(folder: Path, offset_us: float = 0.0) -> Path:
    """A step of 100 us from when the snapshot's events begin."""
    events = [
        x("user_annotation", "ProfilerStep#1", offset_us, 100),
        x("cpu_op", "aten::mm", offset_us + 5, 20),
    ]
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": events}
    path = folder / "p.json"
    path.write_text(json.dumps(trace))
    return path


def xspace(folder: Path, *, with_gpu: bool, started_ns: int = BASE_NS) -> Path:
    """Five steps of 100 us, recorded from a known time on; times count from it."""
    steps = [Event("train", 100 * n, 90, {"step_num": n, "_r": u(1)}) for n in range(1, 6)]
    work = gpu(0, stream(7, ("gemm", 110, 50), ("gemm", 210, 50)))
    data = space(
        host(line("python", *steps)),
        *([work] if with_gpu else []),
        environment(profile_start_time=u(started_ns), profile_stop_time=u(started_ns + 10**6)),
    )
    path = folder / "h.xplane.pb"
    path.write_bytes(data)
    return path


def nsight(folder: Path, *, unix_ns: int | None = BASE_NS, offset_ns: int = 0) -> Path:
    """A kernel in each of five steps, on a clock of the machine's."""
    more: dict[str, Any] = {}
    if unix_ns is not None:
        more["TARGET_INFO_SESSION_START_TIME"] = [{"utcEpochNs": unix_ns}]
    at = [offset_ns + 100_000 * n for n in range(1, 6)]
    return export(
        folder / "n.sqlite",
        ("relu", "cudaLaunchKernel_v7000"),
        kernels=[kernel(one + 20_000, one + 50_000, 1, n) for n, one in enumerate(at)],
        calls=[call(one + 5_000, one + 8_000, 2, n) for n, one in enumerate(at)],
        ranges=[range_(one, one + 90_000, f"step {n}") for n, one in enumerate(at, 1)],
        **more,
    )


def notes(session: Session) -> list[str]:
    found = session.profile.diagnostics
    return [one.message for one in found if one.slug == "opened-together"]


def test_a_snapshot_beside_a_trace_gives_it_memory(tmp_path: Path) -> None:
    kineto(tmp_path)
    written(tmp_path / "m.pickle", training())
    main, alone = find(tmp_path).runs
    assert [one.format for one in main.sources[0].companions] == ["torch-memory"]
    assert alone.sources[0].format == "torch-memory"
    with stepscope.open(tmp_path) as session, stepscope.open(tmp_path / "p.json") as bare:
        assert session.available("memory_profile") is None
        assert bare.available("memory_profile") is not None
        assert session.hosts == bare.hosts
        assert session.files_used == ("p.json", "m.pickle")
        (note,) = notes(session)
        assert "is shown with it: both are on the wall clock." in note
        found = lines(session.profile.hosts[0].space)
        for key, events in lines(bare.profile.hosts[0].space).items():
            assert found[key] == events
        freed = [one for one in found[MEMORY] if one["name"] == "MemoryDeallocation"]
        assert freed[-1]["start"] == (START_US + 31) * 1000
        assert freed[-1]["allocation_bytes"] == 16 * MB


def test_of_a_file_beside_only_what_is_of_the_same_time_is_shown(tmp_path: Path) -> None:
    kineto(tmp_path, offset_us=25)
    written(tmp_path / "m.pickle", training())
    with stepscope.open(tmp_path) as session:
        memory = lines(session.profile.hosts[0].space)[MEMORY]
        (note,) = notes(session)
    with stepscope.open(tmp_path / "m.pickle") as alone:
        every = lines(alone.profile.hosts[0].space)[MEMORY]
    assert memory == [one for one in every if one["start"] >= (START_US + 25) * 1000]
    assert f"{len(every) - len(memory)} of its events are of another time" in note


def test_a_file_of_another_time_is_left_alone_and_named(tmp_path: Path) -> None:
    kineto(tmp_path, offset_us=60_000_000)
    written(tmp_path / "m.pickle", training())
    with stepscope.open(tmp_path) as session:
        (note,) = notes(session)
        assert MEMORY not in lines(session.profile.hosts[0].space)
        assert session.files_used == ("p.json",)
    assert "is not shown with it: it was recorded 60.0 s before this one" in note


def test_kernels_of_nsight_are_an_xspaces_that_has_none(tmp_path: Path) -> None:
    xspace(tmp_path, with_gpu=False)
    nsight(tmp_path)
    with stepscope.open(tmp_path) as session:
        found = lines(session.profile.hosts[0].space)
        (row,) = session.kernel_stats().kernels.records()
        steps = session.overview_page().steps
    assert [one["name"] for one in found[STREAM]] == ["relu"] * 5
    # The first step begins at 100 us of both clocks, the first kernel 20 us later.
    begins = [one["start"] for one in found["/host:CPU", "python"]]
    assert [one["start"] - begin for one, begin in zip(found[STREAM], begins, strict=True)] == [
        20_000
    ] * 5
    assert (row.name, row.occurrences) == ("relu", 5)
    assert steps is not None


def test_nothing_is_counted_twice_that_both_recorded(tmp_path: Path) -> None:
    path = xspace(tmp_path, with_gpu=True)
    nsight(tmp_path)
    with stepscope.open(tmp_path) as session, stepscope.open(path) as bare:
        assert (
            session.kernel_stats().to_dict()["kernels"] == bare.kernel_stats().to_dict()["kernels"]
        )
        assert session.step_account().to_dict()["parts"] == bare.step_account().to_dict()["parts"]
        found = lines(session.profile.hosts[0].space)
        kept = {name for name in found if "Nsight" in name[0]}
        assert {name for _, name in kept} >= {"Stream #7(Compute)"}
        drawn = {track.name for track in timeline(session.profile).tracks}
        assert len(timeline(session.profile).tracks) > len(timeline(bare.profile).tracks)
        assert "Stream #7(Compute)" in drawn
        first, other = session.profile.hosts[0].space, bare.profile.hosts[0].space
        with stepscope.open(tmp_path / "n.sqlite") as alone:
            more = len(alone.profile.hosts[0].space.events)
        assert len(first.events) == len(other.events) + more


@pytest.mark.parametrize("offset_ns", [0, 7_000_000_000])
def test_without_a_common_clock_common_steps_tell(tmp_path: Path, offset_ns: int) -> None:
    xspace(tmp_path, with_gpu=False)
    nsight(tmp_path, unix_ns=None, offset_ns=offset_ns)
    with stepscope.open(tmp_path) as session:
        (note,) = notes(session)
        found = lines(session.profile.hosts[0].space)
    assert "steps of the same numbers are in both" in note
    begins = [one["start"] for one in found["/host:CPU", "python"]]
    assert [one["start"] - begin for one, begin in zip(found[STREAM], begins, strict=True)] == [
        20_000
    ] * 5


def test_without_clock_and_steps_they_stay_side_by_side(tmp_path: Path) -> None:
    xspace(tmp_path, with_gpu=False)
    export(tmp_path / "n.sqlite", ("relu",), kernels=[kernel(1, 2, 1, 1)])
    assert len(find(tmp_path).runs) == 2
    with stepscope.open(tmp_path) as session:
        (note,) = notes(session)
        assert STREAM not in lines(session.profile.hosts[0].space)
    assert "is not shown with it: they have neither a clock nor steps in common" in note


def test_a_broken_file_beside_it_spoils_nothing(tmp_path: Path) -> None:
    kineto(tmp_path)
    data = written(tmp_path / "m.pickle", training()).read_bytes()
    (tmp_path / "m.pickle").write_bytes(data[:40] + b"cos\nsystem\n" + data[40:])
    with stepscope.open(tmp_path) as session:
        (note,) = notes(session)
        assert session.overview_page()
    assert "it does not open" in note


def test_of_two_of_one_kind_none_is_taken_for_the_runs(tmp_path: Path) -> None:
    kineto(tmp_path)
    for name in "ab":
        written(tmp_path / f"{name}.pickle", training())
    assert len(find(tmp_path).runs) == 3
    assert not any(one.sources[0].companions for one in find(tmp_path).runs)


def test_one_recording_is_written_out_and_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    xspace(tmp_path, with_gpu=True)
    nsight(tmp_path)
    written(tmp_path / "m.pickle", training())
    with stepscope.open(tmp_path) as session:
        whole = session.profile.hosts[0].space
        again = decode(memoryview(encode(whole)), file="again")
    assert lines(again) == lines(whole)
    assert run(["ls", str(tmp_path)]) == 0
    assert "beside it: m, PyTorch memory snapshot" in capsys.readouterr().out


def test_redacted_they_tell_no_names(tmp_path: Path) -> None:
    kineto(tmp_path)
    written(tmp_path / "secretname.pickle", training())
    with stepscope.open(tmp_path, redact=Redaction("names")) as session:
        said = f"{notes(session)} {session.files_used} {session.overview_page().to_dict()}"
        assert session.available("memory_profile") is None
    assert "is shown with it" in said and "secretname" not in said


def apart(path: Path) -> dict[str, str]:
    """Why each file of a folder is not shown with others, by its name."""
    return {
        source.path.rsplit("/", 1)[-1]: source.apart
        for one in find(path).runs
        for source in one.sources
    }


def test_files_that_stand_apart_say_why(tmp_path: Path) -> None:
    kineto(tmp_path)
    for name in "ab":
        written(tmp_path / f"{name}.pickle", training())
    (tmp_path / "c.folded").write_text("main;step 3\n")
    said = apart(tmp_path)
    told = ("2 of one kind", "do not say when anything ran")
    for part in ("a.pickle", "b.pickle", "c.folded", *told):
        assert part in said["p.json"]
    assert "(p.json)" in said["a.pickle"] and "(p.json)" in said["c.folded"]
    with stepscope.open(tmp_path / "p.json") as alone:
        assert notes(alone) == []
    with stepscope.open(tmp_path, run=tmp_path.name) as session:
        assert notes(session) == [said["p.json"]]


def test_without_a_recording_of_the_program_nothing_belongs_to_another(tmp_path: Path) -> None:
    written(tmp_path / "a.pickle", training())
    (tmp_path / "c.folded").write_text("main;step 3\n")
    said = apart(tmp_path)
    assert "(c.folded)" in said["a.pickle"] and "(a.pickle)" in said["c.folded"]
    assert all("none of them is a recording of the program" in one for one in said.values())


def test_beside_two_recordings_of_one_kind_it_is_not_known_whose_a_file_is(tmp_path: Path) -> None:
    first = kineto(tmp_path)
    first.rename(tmp_path / "first.json")
    kineto(tmp_path)
    written(tmp_path / "a.pickle", training())
    said = apart(tmp_path)
    assert "there are 2 of one kind (Chrome trace (JSON))" in said["a.pickle"]
    assert "which of them the others are of is not known" in said["p.json"]


def test_files_of_one_kind_alone_say_nothing(tmp_path: Path) -> None:
    for name in "ab":
        written(tmp_path / f"{name}.pickle", training())
    assert set(apart(tmp_path).values()) == {""}


def test_what_is_shown_together_does_not_stand_apart(tmp_path: Path) -> None:
    kineto(tmp_path)
    written(tmp_path / "m.pickle", training())
    assert set(apart(tmp_path).values()) == {""}


def test_the_list_and_the_doctor_say_why_files_stand_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kineto(tmp_path)
    (tmp_path / "c.folded").write_text("main;step 3\n")
    for command in (["ls"], ["ls", "--format", "json"], ["doctor", "--run", tmp_path.name]):
        assert run([command[0], str(tmp_path), *command[1:]]) == 0
        assert "do not say when anything ran" in " ".join(capsys.readouterr().out.split())


def test_redacted_nothing_names_the_files_that_stand_apart(tmp_path: Path) -> None:
    kineto(tmp_path)
    (tmp_path / "secretname.folded").write_text("main;step 3\n")
    with stepscope.open(tmp_path, run=tmp_path.name, redact=Redaction("names")) as session:
        assert "secretname" not in f"{notes(session)} {session.overview_page().to_dict()}"


def test_the_doctor_says_which_of_several_recordings_it_looks_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, name in enumerate(("older", "newer")):
        (tmp_path / name).mkdir()
        os.utime(kineto(tmp_path / name), (10**9 + number, 10**9 + number))
    assert run(["doctor", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 recordings are at this path; this is the newest. The others: " in said
    older = next(one.id for one in find(tmp_path).runs if "older" in one.id)
    assert f"The others: {older}." in said and "--run NAME" in said
    assert run(["doctor", str(tmp_path), "--run", older, "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["run"] == older and len(facts["other_runs"]) == 1
    assert run(["doctor", str(tmp_path / "older")]) == 0
    assert "The others" not in capsys.readouterr().out
