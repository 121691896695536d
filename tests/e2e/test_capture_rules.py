"""One recording a process: who may start and stop, what ends it, what of it is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepscope.formats.xspace import decode
from tests.e2e.recorded_programs import program, recording, run, steps_in


def test_a_second_start_is_refused_by_name_and_the_first_goes_on(tmp_path: Path) -> None:
    code, said, complained = run(
        tmp_path,
        """
        stepscope.start(logdir, options())
        work(10)
        try:
            stepscope.start(logdir, options())
        except stepscope.CaptureError as error:
            print(error.anchor)
            print(error, file=sys.stderr)
        work(10)
        stepscope.stop()
        """,
    )
    assert (code, said) == (0, "capture-busy\n")
    assert "already being recorded" in complained
    assert steps_in(recording(tmp_path)) == 20


def test_stop_without_start_and_stop_twice_are_told_apart_from_success(tmp_path: Path) -> None:
    _, said, _ = run(
        tmp_path,
        """
        def attempt():
            try: stepscope.stop(); print("stopped")
            except stepscope.CaptureError as error: print(error.anchor)
        attempt()
        stepscope.start(logdir, options()); work(2)
        attempt(); attempt()
        """,
    )
    assert said.splitlines() == ["not-recording", "stopped", "not-recording"]


def test_stop_from_another_thread_and_from_two_at_once_gives_one_result(tmp_path: Path) -> None:
    _, said, _ = run(
        tmp_path,
        """
        stepscope.start(logdir, options()); work(5)
        found = []
        def end(): found.append(stepscope.stop())
        threads = [threading.Thread(target=end) for _ in range(2)]
        try:
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        finally:
            print(len({id(one) for one in found}) == 1, found[0].events >= 5)
        """,
    )
    assert said == "True True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_no_part_in_the_recording(tmp_path: Path) -> None:
    code, said, complained = run(
        tmp_path,
        """
        with stepscope.Profile(logdir, options()) as profile:
            work(5)
            child = os.fork()
            if not child:
                with stepscope.Trace("in the child"):
                    pass
        if not child:
            sys.exit(7 if profile.capture.path == "" else 8)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), profile.capture.finished_by)
        """,
    )
    assert (code, said) == (0, "7 stop\n"), complained
    assert steps_in(recording(tmp_path)) == 5


def test_a_child_may_record_for_itself_after_a_fork(tmp_path: Path) -> None:
    code, _, complained = run(
        tmp_path,
        """
        stepscope.start(logdir, options()); work(3)
        child = os.fork()
        if not child:
            stepscope.start(logdir, options()); work(4); stepscope.stop()
            os._exit(0)
        os.waitpid(child, 0)
        stepscope.stop()
        """,
    )
    assert code == 0, complained
    assert sorted(steps_in(path) for path in tmp_path.rglob("*.xplane.pb")) == [3, 4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_its_interpreter_as_it_was(tmp_path: Path) -> None:
    code, said, _ = run(
        tmp_path,
        """
        from stepscope.capture import step_clock
        def state():
            interval, term = sys.getswitchinterval(), signal.getsignal(signal.SIGTERM)
            hooks = sys.getprofile(), threading.getprofile()
            tools = [sys.monitoring.get_tool(one) for one in range(6)] if hasattr(
                sys, "monitoring") else []
            heard = step_clock._listening is None, step_clock._awaited is None
            return round(interval, 6), term is signal.SIG_DFL, hooks, tools, heard
        before = state()
        stepscope.start(
            logdir, stepscope.ProfilerOptions(sample_hz=50, telemetry_hz=0, trace_python=True))
        meanwhile = state()
        child = os.fork()
        if child == 0:
            os._exit(17 if state() == before else 18)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(before != meanwhile == state())
        stepscope.stop()
        """,
    )
    assert (code, said.splitlines()) == (0, ["17", "True"])


def test_seconds_events_and_bytes_end_a_recording_by_themselves(tmp_path: Path) -> None:
    _, said, _ = run(
        tmp_path,
        """
        for more in ({"max_seconds": 0.3}, {"max_events": 100}, {"max_bytes": 3_000}):
            recording = stepscope.start(logdir, options(**more))
            begin = time.monotonic()
            while not recording.finished and time.monotonic() < begin + 20:
                work(1, 0.001)
            done = stepscope.stop()
            print(done.finished_by, done.events, done.bytes)
        """,
    )
    seconds, events, size = (line.split() for line in said.splitlines())
    assert {seconds[0], events[0], size[0]} == {"budget"}
    # Looked at every 50 ms: it ends near the budget, not on it.
    assert 60 <= int(events[1]) <= 600
    assert int(size[2]) < 30_000


def test_stop_returns_at_its_deadline_and_the_writing_goes_on(tmp_path: Path) -> None:
    _, said, complained = run(
        tmp_path,
        """
        from stepscope.capture import recording as module
        class Slow:
            name = "slow"
            def unavailable(self): return None
            def start(self, options): pass
            def collect(self):
                time.sleep(1.5)
                return module.Recorded()
            def drop(self): pass
        from stepscope.capture import control
        every = control.recorders
        control.recorders = lambda: [*every(), Slow()]
        recording = stepscope.start(logdir, options(stop_seconds=0.3)); work(5)
        begin = time.monotonic()
        done = stepscope.stop()
        print(time.monotonic() - begin < 1.2, [note.slug for note in done.warnings])
        print(recording.wait(20), recording.capture.events >= 5)
        """,
    )
    assert said == "True ['still-writing']\nTrue True\n", complained
    assert steps_in(recording(tmp_path)) == 5


def test_a_recorder_that_fails_costs_itself_only(tmp_path: Path) -> None:
    _, said, _ = run(
        tmp_path,
        """
        from stepscope.capture import control
        class Broken:
            name = "broken"
            def unavailable(self): return None
            def start(self, options): pass
            def collect(self): raise RuntimeError("no more")
            def drop(self): pass
        class Dead(Broken):
            name = "dead"
            def start(self, options): raise OSError("not today")
        every = control.recorders
        control.recorders = lambda: [Broken(), *every(), Dead()]
        stepscope.start(logdir, options()); work(5)
        print([note.message for note in stepscope.stop().warnings])
        """,
    )
    assert "no more" in said
    assert "not today" in said
    assert steps_in(recording(tmp_path)) == 5


def test_forgetting_a_recording_leaves_no_file(tmp_path: Path) -> None:
    _, said, _ = run(
        tmp_path,
        """
        stepscope.start(logdir, options()); work(2)
        print(repr(stepscope.stop(save=False).path))
        """,
    )
    assert said == "''\n"
    assert list(tmp_path.rglob("*.pb")) == []


def test_an_empty_recording_is_valid_and_said_to_be_empty(tmp_path: Path) -> None:
    _, said, _ = run(
        tmp_path,
        """
        stepscope.start(logdir, options())
        print([note.slug for note in stepscope.stop().warnings])
        """,
    )
    assert said == "['no-events']\n"
    assert decode(recording(tmp_path).read_bytes(), strict=True).damage is None


def test_two_recordings_within_a_second_are_two_runs(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        for _ in range(3):
            with stepscope.Profile(logdir, options()):
                work(1)
        """,
    )
    found = list(tmp_path.rglob("*.xplane.pb"))
    assert len(found) == 3
    assert all(steps_in(path) == 1 for path in found)


def test_two_processes_that_end_in_the_same_second_are_two_files_of_one_run(tmp_path: Path) -> None:
    code = """
        recording = stepscope.start(logdir, options(), run="same")
        work(3)
        stepscope.stop()
        """
    both = [program(tmp_path, code, RANK=str(rank)) for rank in range(2)]
    for process in both:
        process.communicate(timeout=60)
    names = sorted(path.name for path in tmp_path.glob("plugins/profile/same/*.xplane.pb"))
    assert len(names) == 2
    assert {name.rsplit("_", 1)[-1] for name in names} == {"rank0.xplane.pb", "rank1.xplane.pb"}


def test_a_recording_can_go_to_a_url(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    code, said, complained = run(
        tmp_path,
        """
        with stepscope.Profile(f"local://{logdir}", options(chunk_seconds=0.05)) as profile:
            work(20)
        done = profile.capture
        print(done.path.startswith("local://"), len(done.xspace()) == done.bytes, done.warnings)
        """,
    )
    assert code == 0, complained
    assert said.startswith("True True")
    assert steps_in(recording(tmp_path)) >= 15
