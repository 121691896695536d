"""What may be compared: paths, sessions, a log directory of runs; and how runs are called."""

from pathlib import Path

import pytest

import stepscope
from stepscope.errors import StepscopeError, StoreError, UsageError
from stepscope.session.compare import check, compare
from tests.profiles import host, line, space
from tests.profiles.loops import Kernel, Loop, record


def write(folder: Path, *, us: float = 400, name: str = "host.xplane.pb") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    loop = Loop(kernels=(Kernel("sgemm", us, "dense/MatMul:MatMul"),), steps=10, wait="cuSync")
    (folder / name).write_bytes(record(loop)["host-0"])
    return folder


def runs(root: Path, *us: float) -> Path:
    """A log directory of runs, named so that the later is the newer."""
    for place, time in enumerate(us):
        write(root / "plugins" / "profile" / f"2026_01_0{place + 1}_00_00_00", us=time)
    return root


def test_paths_and_sessions_may_be_mixed(tmp_path: Path) -> None:
    before, after = write(tmp_path / "before"), write(tmp_path / "after", us=500)
    with stepscope.open(after) as session:
        found = stepscope.compare(before, session)
        assert found.delta_ms == pytest.approx(0.1, rel=0.05)
        # A session that was handed over stays open for who opened it.
        assert session.overview_page().steps.count > 0


def test_one_log_directory_stands_for_its_runs_from_old_to_new(tmp_path: Path) -> None:
    found = compare(runs(tmp_path, 400, 450, 500, 700))
    assert list(found.runs["run"]) == [f"2026_01_0{day}_00_00_00" for day in (1, 2, 3, 4)]
    assert found.delta_ms == pytest.approx(0.3, rel=0.05)
    assert list(found.runs["significant"]) == ["", "yes", "yes", "yes"]


def test_a_given_batch_size_says_the_examples_a_second_of_every_run(tmp_path: Path) -> None:
    root = runs(tmp_path, 400, 500, 700)
    found = compare(root, batch_sizes=[64])
    rates = [64 / time * 1e3 for time in found.runs["step_time_ms"]]
    assert list(found.runs["examples_per_s"]) == pytest.approx(rates)
    own = compare(root, batch_sizes=[64, 64, 128]).runs["examples_per_s"]
    assert own[2] == pytest.approx(2 * rates[2])
    with pytest.raises(UsageError, match="2 batch sizes for 3 runs"):
        compare(root, batch_sizes=[64, 128])
    with pytest.raises(UsageError, match="at least one example"):
        compare(root, batch_sizes=[0])


def test_a_run_between_that_cannot_be_compared_hides_no_other(tmp_path: Path) -> None:
    root = runs(tmp_path, 400, 450, 500, 700)
    folder = root / "plugins" / "profile"
    (folder / "2026_01_02_00_00_00" / "host.xplane.pb").write_bytes(space(host(line("t"))))
    (folder / "2026_01_03_00_00_00" / "host.xplane.pb").write_bytes(b"\xff" * 64)
    found = compare(root)
    assert list(found.runs["run"]) == ["2026_01_01_00_00_00", "2026_01_04_00_00_00"]
    left_out = [one.message for one in found.diagnostics if one.slug == "run-left-out"]
    assert ["_02_" in left_out[0], "_03_" in left_out[1]] == [True, True]
    assert "No step was marked" in left_out[0]
    with pytest.raises(StepscopeError):  # of the two ends one must say which
        compare(folder / "2026_01_01_00_00_00", folder / "2026_01_03_00_00_00")


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    write(tmp_path / "a" / "run")
    write(tmp_path / "b" / "run")
    found = compare(tmp_path / "a" / "run", tmp_path / "b" / "run")
    assert (found.baseline.name, found.candidate.name) == ("a/run", "b/run")


def test_a_run_may_be_compared_with_itself(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    found = compare(folder, folder)
    assert found.delta_ms == 0
    assert found.baseline.name != found.candidate.name


def test_one_run_alone_is_said_to_be_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        compare(write(tmp_path / "run"))
    assert raised.value.anchor == "one-run"


def test_a_path_without_recordings_fails_as_everywhere(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        compare(write(tmp_path / "run"), tmp_path / "nothing")


def test_limits_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(UsageError, match="limit on 'speed'"):
        check(nowhere, {"speed": "5%"})
    with pytest.raises(UsageError, match="needs a baseline") as raised:
        check(nowhere, {"step_time": "+5%"})
    assert raised.value.anchor == "no-baseline"


def test_a_check_takes_sessions_too(tmp_path: Path) -> None:
    with stepscope.open(write(tmp_path / "run")) as session:
        assert check(session, {"step_time": "1s"}).status == "kept"
        assert check(session, {"step_time": "+5%"}, baseline=session).status == "kept"
