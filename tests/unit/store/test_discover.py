"""Recordings are found in any layout, and what was left out is reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepscope.errors import StoreError
from stepscope.store import discover, find, search
from tests.profiles import worked_example

DATA = worked_example(gpu=False)


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(DATA)


def test_log_directory_with_runs_newest_first(tmp_path: Path) -> None:
    put(
        tmp_path,
        "plugins/profile/2024_01_02_03_04_05/a.xplane.pb",
        "plugins/profile/2025_01_02_03_04_05/a.xplane.pb",
        "plugins/profile/2025_01_02_03_04_05/b.xplane.pb.gz",
    )
    # The copy of the older run is the newer file: its name is believed, not the disk.
    os.utime(tmp_path / "plugins/profile/2025_01_02_03_04_05/a.xplane.pb", (1, 1))
    os.utime(tmp_path / "plugins/profile/2025_01_02_03_04_05/b.xplane.pb.gz", (1, 1))
    found = find(tmp_path)
    assert [run.id for run in found.runs] == ["2025_01_02_03_04_05", "2024_01_02_03_04_05"]
    assert found.runs[0].hosts == ("a", "b")


def test_run_directory_is_one_run_named_after_itself(tmp_path: Path) -> None:
    put(tmp_path, "plugins/profile/first/a.xplane.pb")
    (run,) = find(tmp_path / "plugins/profile/first").runs
    assert (run.id, run.hosts) == ("first", ("a",))
    (run,) = find(tmp_path / "plugins/profile").runs
    assert run.id == "first"


def test_single_file_is_named_after_its_run_or_itself(tmp_path: Path) -> None:
    put(tmp_path, "plugins/profile/first/a.xplane.pb", "loose/b.xplane.pb")
    assert find(tmp_path / "plugins/profile/first/a.xplane.pb").runs[0].id == "first"
    assert find(tmp_path / "loose/b.xplane.pb").runs[0].id == "b"


def test_train_and_validation_runs_of_one_name_stay_apart(tmp_path: Path) -> None:
    put(
        tmp_path,
        "train/plugins/profile/r/a.xplane.pb",
        "validation/plugins/profile/r/a.xplane.pb",
    )
    assert {run.id for run in find(tmp_path).runs} == {"train/r", "validation/r"}


def test_ids_that_shortening_would_merge_stay_whole(tmp_path: Path) -> None:
    put(tmp_path, "plugins/profile/r/a.xplane.pb", "r/a.xplane.pb")
    assert {run.id for run in find(tmp_path).runs} == {"plugins/profile/r", "r"}


def test_processes_of_one_host_are_one_run(tmp_path: Path) -> None:
    put(tmp_path, "host_101_rank0.xplane.pb", "host_102_rank1.xplane.pb")
    (run,) = find(tmp_path).runs
    assert run.hosts == ("host_101_rank0", "host_102_rank1")


def test_compressed_copy_is_reported_not_counted_twice(tmp_path: Path) -> None:
    put(tmp_path, "a.xplane.pb", "a.xplane.pb.gz")
    found = find(tmp_path)
    assert found.runs[0].hosts == ("a",)
    assert [miss.slug for miss in found.misses] == ["duplicate"]


def test_files_that_share_a_host_name_keep_their_whole_names(tmp_path: Path) -> None:
    put(tmp_path, "a.pb", "a.xplane.pb")
    assert find(tmp_path).runs[0].hosts == ("a", "a.xplane.pb")


def test_nothing_found_lists_places_and_reasons(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train/events.out.tfevents.1.host").write_bytes(b"x")
    (tmp_path / "host.xplane.pb").write_bytes(b"")
    with pytest.raises(StoreError) as caught:
        find(tmp_path)
    text = str(caught.value)
    assert caught.value.anchor == "no-recording"
    assert "2 folders and 2 files" in text
    assert "train/events.out.tfevents.1.host" in text and "TensorBoard event file" in text
    assert "host.xplane.pb" in text and "0 bytes" in text


def test_empty_folder_says_that_nothing_looks_like_a_recording(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No recording was found") as caught:
        find(tmp_path)
    assert "none of the files" in caught.value.why


def test_absent_path_names_the_part_that_exists(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        find(tmp_path / "runs" / "x")
    assert caught.value.anchor == "no-such-path"
    assert f"{tmp_path} contains no runs/x" in caught.value.why


def test_links_are_reported_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    put(outside, "a.xplane.pb")
    put(inside, "b.xplane.pb")
    (inside / "out").symlink_to(outside)
    (inside / "file.xplane.pb").symlink_to(outside / "a.xplane.pb")
    (inside / "broken").symlink_to(tmp_path / "gone")
    (inside / "again.xplane.pb").symlink_to(inside / "b.xplane.pb")
    (inside / "loop").symlink_to(inside)
    found = find(inside)
    assert found.runs[0].hosts == ("b",)
    assert {Path(miss.path).name: miss.slug for miss in found.misses} == {
        "out": "outside-link",
        "file.xplane.pb": "outside-link",
        "broken": "broken-link",
    }


def test_the_path_itself_may_be_a_link(tmp_path: Path) -> None:
    put(tmp_path / "runs", "a.xplane.pb")
    (tmp_path / "latest").symlink_to(tmp_path / "runs")
    assert find(tmp_path / "latest").runs[0].hosts == ("a",)
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    with pytest.raises(StoreError) as caught:
        find(tmp_path / "broken")
    assert caught.value.anchor == "broken-link"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_folder_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "a.xplane.pb", "closed/b.xplane.pb")
    (tmp_path / "closed").chmod(0)
    try:
        found = find(tmp_path)
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert [miss.slug for miss in found.misses] == ["permission-denied"]


def test_a_folder_the_system_refuses_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.xplane.pb", "closed/b.xplane.pb")
    scandir = os.scandir

    def refuse(path: str) -> os.ScandirIterator[str]:  # type: ignore[name-defined]  # private in typeshed
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find(tmp_path)
    assert found.runs[0].hosts == ("a",)
    assert [(miss.slug, Path(miss.path).name) for miss in found.misses] == [
        ("permission-denied", "closed")
    ]


def test_depth_limit_is_said_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "MAX_DEPTH", 2)
    put(tmp_path, "a.xplane.pb", "1/2/b.xplane.pb", "1/2/3/c.xplane.pb")
    found = search(tmp_path)
    assert {run.hosts for run in found.runs} == {("a",), ("b",)}
    (note,) = found.notes
    assert "2 levels" in note and str(tmp_path / "1/2/3") in note


def test_entry_limit_is_said_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "MAX_ENTRIES", 3)
    put(tmp_path, *(f"{folder}/a{at}.xplane.pb" for folder in "xyz" for at in range(3)))
    found = search(tmp_path)
    assert found.files < 9
    assert "stopped after" in found.notes[0]


def test_names_with_odd_characters_survive(tmp_path: Path) -> None:
    name = "höst <b>\x1b[31m.xplane.pb"
    put(tmp_path, name)
    assert find(tmp_path).runs[0].sources[0].path == str(tmp_path / name)


def test_a_link_to_an_impossible_name_hides_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a-link").symlink_to("x" * 300)
    put(tmp_path, "b.xplane.pb")
    found = search(tmp_path)
    assert [run.hosts for run in found.runs] == [("b",)]
    assert [(miss.slug, Path(miss.path).name) for miss in found.misses] == [("io-error", "a-link")]


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_path_that_cannot_be_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError) as caught:
        search(f"{tmp_path}/{name}")
    assert caught.value.anchor == "io-error"
    assert caught.value.why


def test_the_home_of_nobody_is_said() -> None:
    with pytest.raises(StoreError, match="not valid on this system"):
        search("~nobody-of-that-name/logs")


TRACE = b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}'


def traces(root: Path, *names: str) -> None:
    put(root, *names)
    for name in names:
        (root / name).write_bytes(TRACE)


def test_ranks_with_a_folder_each_are_one_run(tmp_path: Path) -> None:
    traces(tmp_path, "job/rank_0/trace.json", "job/rank_1/trace.json", "job/rank_10/trace.json")
    (run,) = find(tmp_path).runs
    assert run.hosts == ("rank00", "rank01", "rank10")


def test_windows_of_ranks_in_folders_of_their_own_stay_apart(tmp_path: Path) -> None:
    names = [
        f"job/rank{rank}/h_{7 + rank}.{time}.pt.trace.json"
        for rank in (0, 1)
        for time in (1690000000000, 1690000900000)
    ]
    traces(tmp_path, *names)
    first, second = find(tmp_path).runs
    assert first.hosts == second.hosts == ("rank0", "rank1")


def test_a_folder_of_one_rank_alone_is_a_run_of_its_own(tmp_path: Path) -> None:
    traces(tmp_path, "job/rank_0/trace.json", "other/trace.json")
    assert {run.hosts for run in find(tmp_path).runs} == {("trace",)}
    # What lies beside the folders of ranks is of another recording, or of the same.
    traces(tmp_path, "job/rank_1/trace.json", "job/whole.json")
    assert len(find(tmp_path / "job").runs) == 3


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system has no /proc")
def test_a_pipe_without_a_name_is_not_called_a_broken_link() -> None:
    """What ``cat recording | stepscope show overview_page /dev/stdin`` is."""
    reader, writer = os.pipe()
    try:
        with pytest.raises(StoreError, match="a pipe, a socket or a device"):
            search(f"/proc/self/fd/{reader}")
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_called_an_empty_file(tmp_path: Path) -> None:
    pipe = tmp_path / "host.xplane.pb"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="a pipe, a socket or a device") as caught:
        search(pipe)
    assert caught.value.anchor == "unreadable-path"
