"""The spine composes: files become hosts, hosts results, and no failure hides another."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.columns import Space
from stepscope.errors import NothingToShow, StoreError, UsageError
from stepscope.formats.xspace import decode
from stepscope.needs import Unavailable, lacking
from stepscope.session import decoded_run
from stepscope.tables.core.profile import Profile
from tests.profiles import (
    environment,
    host,
    line,
    no_events,
    only_a_recorder,
    space,
    worked_example,
)

DATA = worked_example(gpu=True)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Two runs; the newer one has a good host, a cut one and a broken one."""
    old = tmp_path / "plugins/profile/2024_01_01_00_00_00"
    new = tmp_path / "plugins/profile/2024_01_02_00_00_00"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "good.xplane.pb").write_bytes(DATA)
    (new / "cut.xplane.pb.gz").write_bytes(gzip.compress(DATA)[:-40])
    (new / "text.xplane.pb").write_bytes(b"this is not a profile, it is text\n" * 20)
    (new / "host.overview_page.pb").write_bytes(b"\x12\x00")
    return tmp_path


def test_a_window_with_work_of_the_program_is_no_remnant(logdir: Path) -> None:
    younger = logdir / "plugins/profile/2024_01_03_00_00_00"
    younger.mkdir()
    work = window(OPEN, STEP, MARK, ("aten/mm:mm", 112, 30), STOP)
    (younger / "host.xplane.pb").write_bytes(work)
    with stepscope.open(logdir) as session:
        assert session.name == younger.name


def test_newest_run_is_opened_and_others_by_name(logdir: Path) -> None:
    with stepscope.open(logdir) as session:
        assert session.name == "2024_01_02_00_00_00"
        assert [run.id for run in session.runs] == ["2024_01_02_00_00_00", "2024_01_01_00_00_00"]
    with stepscope.open(logdir, run="2024_01_01_00_00_00") as session:
        assert session.hosts == ("good",)


def window(*events: tuple[str, float, float]) -> bytes:
    """What PyTorch's schedule began to record when the loop was about to end."""
    return space(host(line("python", *events)), environment(profile_start_time=1))


MARK = ("ProfilerStep#8", 90, 42)
OPEN = ("$train.py:40 main", 0, 200)
STEP = ("$torch/profiler/profiler.py:1227 step", 1, 100)
STOP = ("$torch/profiler/profiler.py:1135 stop", 150, 45)
FETCH = ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 110, 30)


@pytest.mark.parametrize(
    "nothing",
    [
        no_events(),
        only_a_recorder(),
        window(MARK),
        window(OPEN, STEP, MARK, STOP),
        window(OPEN, STEP, MARK, FETCH, ("aten/stack:stack", 115, 5), STOP),
    ],
)
def test_younger_run_of_the_recorder_alone_hides_no_run_with_events(
    nothing: bytes, logdir: Path
) -> None:
    younger = "2024_01_03_00_00_00"
    (logdir / "plugins/profile" / younger).mkdir()
    (logdir / "plugins/profile" / younger / "host.xplane.pb").write_bytes(nothing)
    with stepscope.open(logdir) as session:
        assert session.name == "2024_01_02_00_00_00"
        notes = [one for one in session.overview_page().diagnostics if one.slug == "empty-run"]
        assert len(notes) == 1 and notes[0].message.startswith(f"{younger} is younger and holds")
    with stepscope.open(logdir, run=younger) as session:
        assert session.name == younger
        assert not [one for one in session.overview_page().diagnostics if one.slug == "empty-run"]
    with stepscope.open(logdir / "plugins/profile" / younger) as session:  # nothing else there
        assert session.hosts == ("host",)
        assert not [one for one in session.overview_page().diagnostics if one.slug == "empty-run"]


def test_younger_run_that_does_not_open_is_still_the_one_that_is_meant(logdir: Path) -> None:
    younger = logdir / "plugins/profile/2024_01_03_00_00_00"
    younger.mkdir()
    (younger / "host.xplane.pb").write_bytes(only_a_recorder()[:-100])
    with stepscope.open(logdir) as session:
        assert session.name == younger.name


def test_host_that_fails_does_not_hide_the_others(logdir: Path) -> None:
    with stepscope.open(logdir) as session:
        result = session.overview_page()
        states = {Path(report.path).name: report for report in session.files}
    assert result.hosts == ("cut", "good")
    assert states["good.xplane.pb"].state == "opened"
    assert states["cut.xplane.pb.gz"].state == "damaged"
    assert "gzip" in states["cut.xplane.pb.gz"].reason
    assert states["text.xplane.pb"].state == "failed" and states["text.xplane.pb"].hint
    assert states["host.overview_page.pb"].state == "skipped"
    told = {(one.slug, one.where): one.severity for one in result.diagnostics}
    assert told["host-missing", "text"] == "error"
    assert told["damaged-file", "cut"] == "error"
    assert result.completeness.verdict != "complete"


def test_damage_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(DATA[: len(DATA) * 2 // 3])
    with stepscope.open(path) as session:
        notes = session.overview_page().completeness.notes
    assert sum("The file breaks at byte" in note for note in notes) == 1


def test_result_names_session_and_hosts(logdir: Path) -> None:
    with stepscope.open(logdir, host="good") as session:
        result = session.framework_op_stats()
    assert (result.session, result.hosts) == ("2024_01_02_00_00_00", ("good",))


def test_one_host_of_many(logdir: Path) -> None:
    with stepscope.open(logdir, host="good") as session:
        assert [host.name for host in session.profile.hosts] == ["good"]
        assert session.overview_page().completeness.verdict == "complete"


@pytest.mark.parametrize(
    ("run", "host", "slug"), [("nope", None, "no-such-run"), (None, "nope", "no-such-host")]
)
def test_unknown_run_or_host_lists_what_there_is(
    run: str | None, host: str | None, slug: str, logdir: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        stepscope.open(logdir, run=run, host=host)
    assert caught.value.anchor == slug
    assert "2024_01_02_00_00_00" in caught.value.hint or "good" in caught.value.hint


def test_only_file_broken_is_its_own_error(tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb").write_bytes(b"this is not a profile, it is text\n" * 20)
    with stepscope.open(tmp_path) as session, pytest.raises(stepscope.DecodeError) as caught:
        session.overview_page()
    assert str(tmp_path / "a.xplane.pb") in caught.value.where


def test_all_files_broken_lists_each(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.xplane.pb").write_bytes(b"this is not a profile\n" * 20)
    with stepscope.open(tmp_path) as session, pytest.raises(StoreError) as caught:
        session.overview_page()
    assert caught.value.anchor == "no-host-opens"
    assert "a: " in caught.value.why and "b: " in caught.value.why


def test_each_host_is_decoded_once_whoever_asks(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counting(
        buffer: memoryview,
        *,
        file: str,
        progress: Callable[[int, int], None],
        forget: Callable[[Iterable[tuple[int, int]]], None],
    ) -> Space:
        calls.append(Path(file).name)
        return decode(buffer, file=file, progress=progress, forget=forget)

    monkeypatch.setattr(decoded_run, "decode", counting)
    with stepscope.open(logdir) as session:
        threads = [
            threading.Thread(target=session.run, args=(name,))
            for name in ("overview_page", "framework_op_stats", "overview")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _ = session.profile
    assert sorted(calls) == ["cut.xplane.pb.gz", "good.xplane.pb", "text.xplane.pb"]


def test_results_are_memoised_by_options(logdir: Path) -> None:
    with stepscope.open(logdir, host="good") as session:
        by_op = session.run("op_stats")
        assert session.framework_op_stats() is by_op
        assert session.framework_op_stats(group_by="op") is by_op
        assert session.framework_op_stats(group_by="type") is not by_op


def test_overview_carries_the_advice_that_needs_no_other_tool(logdir: Path) -> None:
    with stepscope.open(logdir, host="good") as session:
        early = {one.rule for one in session.overview_page().findings}
        assert "input-bound" in early, "the worked example waits for its input"
        assert early <= {one.rule for one in session.findings()}


@pytest.mark.parametrize("wrong", [{"nope": 1}, {"group_by": "color"}, {"include_idle": "perhaps"}])
def test_wrong_options_are_usage_errors(wrong: dict[str, object], logdir: Path) -> None:
    with stepscope.open(logdir) as session, pytest.raises(UsageError):
        session.run("framework_op_stats", **wrong)


def test_unknown_tool_lists_the_known(logdir: Path) -> None:
    with stepscope.open(logdir) as session, pytest.raises(UsageError, match="no tool 'nope'") as e:
        session.run("nope")
    assert "overview_page" in e.value.hint


def test_tool_without_data_says_what_is_missing_and_how_to_record_it(tmp_path: Path) -> None:
    (tmp_path / "a.xplane.pb").write_bytes(no_events())
    with stepscope.open(tmp_path) as session:
        assert session.available("framework_op_stats") is not None
        with pytest.raises(NothingToShow) as caught:
            session.framework_op_stats()
    assert caught.value.why and caught.value.hint


def test_progress_reports_reading_and_decoding(logdir: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    with stepscope.open(logdir, progress=lambda *report: seen.append(report)) as session:
        _ = session.profile
    stages = {stage for stage, _, _ in seen}
    assert {"reading cut", "decoding good"} <= stages
    assert all(0 <= done <= total for _, done, total in seen)


def test_repr_helps_before_and_after_decoding(logdir: Path) -> None:
    session = stepscope.open(logdir)
    assert "not decoded yet" in repr(session) and "1 other run " in repr(session)
    _ = session.profile
    assert "3 hosts" in repr(session) and ", decoded" in repr(session)
    page = session._repr_html_()
    assert "overview_page" in page
    session.close()
    assert "not decoded yet" in repr(session)


def test_names_in_the_notebook_form_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "<script>.xplane.pb").write_bytes(DATA)
    assert "<script>" not in stepscope.open(tmp_path)._repr_html_()


def test_closed_session_opens_again_when_asked(logdir: Path) -> None:
    session = stepscope.open(logdir, host="good")
    first = session.overview_page()
    session.close()
    assert session.overview_page().headline == first.headline


def test_every_tool_is_a_method(logdir: Path) -> None:
    with stepscope.open(logdir, host="good") as session:
        for tool in TOOLS:
            method = getattr(session, tool.id)
            if session.available(tool.id) is None:
                assert type(method()) is tool.result
            else:
                with pytest.raises(NothingToShow):
                    method()


def test_an_answer_that_is_there_waits_for_no_other(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All waited for one lock: a page that is known for the advice that is computed."""
    with stepscope.open(logdir, host="good") as session:
        known = session.kernel_stats()
        begun, go_on = threading.Event(), threading.Event()

        def slow(*_: object) -> object:
            begun.set()
            assert go_on.wait(60)
            return "advice"

        monkeypatch.setattr("stepscope.session.session.advise", slow)
        thread = threading.Thread(target=session.advice)
        thread.start()
        assert begun.wait(60)
        assert session.kernel_stats() is known
        assert session.op_profile() is not None
        go_on.set()
        thread.join()


def test_what_a_tool_needs_is_looked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages ask for the list of tools all the time, and some needs read the names of all events."""
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(worked_example(gpu=True))
    asked: list[str] = []

    def counted(tool: str, profile: Profile) -> Unavailable | None:
        asked.append(tool)
        return lacking(tool, profile)

    monkeypatch.setattr("stepscope.session.session.lacking", counted)
    with stepscope.open(path) as session:
        first = [session.available(tool.id) for tool in TOOLS]
        assert [session.available(tool.id) for tool in TOOLS] == first
        session.kernel_stats()
        assert sorted(asked) == sorted(tool.id for tool in TOOLS)
    assert None in first and set(first) != {None}
