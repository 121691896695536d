"""``stepscope record``: programs recorded without a change, with their children, to any end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import stepscope
from stepscope.capture.launch.instructions import Instructions, environment_for
from stepscope.capture.options import ProfilerOptions
from stepscope.columns import Space
from stepscope.formats.xspace import decode
from stepscope.quantities import size_words
from stepscope.surfaces.cli.commands.record import end_of_module
from stepscope.surfaces.cli.program import command_line

BUSY = """
import time
def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
"""


def started(
    folder: Path, code: str, *words: str, flags: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """Start ``stepscope record`` on a script of this text."""
    script = folder / "program.py"
    script.write_text(BUSY + textwrap.dedent(code), "utf-8")
    command = [sys.executable, "-m", "stepscope", "record", "-o", str(folder / "logs"), *flags]
    return subprocess.Popen(
        [*command, str(script), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


def record(
    folder: Path, code: str, *words: str, flags: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    """Record a script: exit code, its output, its errors and the summary."""
    process = started(folder, code, *words, flags=flags)
    said, told = process.communicate(timeout=90)
    return process.returncode, said, told


def space(folder: Path) -> Space:
    """The only recording."""
    (found,) = (folder / "logs").rglob("*.xplane.pb")
    return decode(found.read_bytes())


def functions(found: Space) -> set[str]:
    """Python functions that were sampled."""
    return {name.rsplit(" ", 1)[-1] for name in found.event_metadata.name}


def has(found: Space, function: str) -> bool:
    return any(function in name for name in found.event_metadata.name)


def test_a_script_sees_its_own_arguments_and_the_summary_says_where_it_is(tmp_path: Path) -> None:
    code, said, told = record(
        tmp_path,
        """
        import sys
        busy(0.3)
        print(sys.argv[1:], __name__, __file__.endswith("program.py"))
        """,
        "--top",
        "-m",
        "x",
        flags=("--sample-hz", "200"),
    )
    assert code == 0
    assert said == "['--top', '-m', 'x'] __main__ True\n"
    assert "Stepscope recorded" in told
    assert str(next((tmp_path / "logs").rglob("*.xplane.pb"))) in told
    assert has(space(tmp_path), "busy")


def test_a_module_is_run_as_python_runs_it(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "work.py").write_text(
        BUSY + "import sys; busy(0.2); print(sys.argv[1:], __name__)\n", "utf-8"
    )
    command = "-m stepscope record -qo logs -m package.work -q a"
    done = subprocess.run(
        [sys.executable, *command.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "['-q', 'a'] __main__\n", "")
    assert has(space(tmp_path), "busy")


def test_the_summary_of_a_job_is_of_all_its_processes(tmp_path: Path) -> None:
    rank = """
        import stepscope
        for number in range(12):
            with stepscope.step(number):
                busy(0.01)
    """
    (tmp_path / "rank.py").write_text(BUSY + textwrap.dedent(rank), "utf-8")
    code, _, told = record(
        tmp_path,
        """
        import os, subprocess, sys
        sys.exit(subprocess.call([sys.executable, "rank.py"], env={**os.environ, "RANK": "0"}))
        """,
    )
    assert code == 0, told
    sizes = [one.stat().st_size for one in (tmp_path / "logs").rglob("*.xplane.pb")]
    assert len(sizes) == 2
    assert size_words(sum(sizes)) in told
    assert "2 processes in" in told
    assert "10 steps (markers)" in told


def test_annotations_and_steps_of_the_program_are_recorded(tmp_path: Path) -> None:
    record(
        tmp_path,
        """
        import stepscope
        for number in range(12):
            with stepscope.step(number):
                busy(0.01)
        """,
    )
    assert stepscope.open(tmp_path / "logs").overview_page().steps.count == 10  # less both edges


def test_child_processes_of_every_kind_become_tracks_of_one_recording(tmp_path: Path) -> None:
    code, said, told = record(
        tmp_path,
        """
        import multiprocessing, os, subprocess, sys

        def forked(seconds): busy(seconds); return os.getpid()
        def spawned(seconds): busy(seconds); print("spawned", os.getpid(), flush=True)

        if __name__ == "__main__":
            pool = multiprocessing.get_context("fork").Pool(1)
            print("forked", *pool.map(forked, [0.4]), flush=True)
            pool.close(); pool.join()  # terminate() kills a worker before it has written
            process = multiprocessing.get_context("spawn").Process(target=spawned, args=(0.4,))
            process.start(); process.join()
            code = "import os,time\\nend=time.time()+.4\\nwhile time.time()<end: sum(range(99))\\n"
            subprocess.run([sys.executable, "-c", code + "print('run', os.getpid())"])
        """,
    )
    assert code == 0, told
    pids = dict(line.split() for line in said.splitlines())
    assert set(pids) == {"forked", "spawned", "run"}
    found = space(tmp_path)  # one file: the children's went into it
    planes = {plane.name for plane in found.planes}
    assert {f"/device:CUSTOM:Python samples [{pid}]" for pid in pids.values()} <= planes
    assert stepscope.open(tmp_path / "logs").overview_page().device.busy_frac != 1.0


def test_children_are_left_out_when_that_is_asked_for(tmp_path: Path) -> None:
    record(
        tmp_path,
        """
        import os
        child = os.fork()
        busy(0.2)
        if child: os.waitpid(child, 0)
        """,
        flags=("--no-children",),
    )
    assert not any("[" in plane.name for plane in space(tmp_path).planes)


@pytest.mark.parametrize("ending", ["sys.exit(5)", "raise RuntimeError('of the program')"])
def test_how_a_program_ends_is_its_own_affair(tmp_path: Path, ending: str) -> None:
    code, _, told = record(tmp_path, f"import sys\nbusy(0.2)\n{ending}\n")
    assert code == (5 if "exit" in ending else 1)
    assert ("RuntimeError: of the program" in told) is ("raise" in ending)
    assert has(space(tmp_path), "busy")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_recorder_is_the_programs_and_nothing_is_lost(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = started(tmp_path, "busy(0.3)\nprint('ready', flush=True)\nbusy(60)\n")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    if number is signal.SIGTERM:
        assert process.returncode == 128 + signal.SIGTERM
    else:
        assert "KeyboardInterrupt" in told
    assert "Stepscope recorded" in told
    assert has(space(tmp_path), "busy")


def test_the_budget_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    code, said, _ = record(
        tmp_path,
        "busy(0.8)\ndef later(): busy(0.4)\nlater()\nprint('done')\n",
        flags=("--max-seconds", "0.4"),
    )
    assert (code, said) == (0, "done\n")
    assert not has(space(tmp_path), "later")


def test_a_program_that_records_itself_goes_before_the_launcher(tmp_path: Path) -> None:
    code, said, told = record(
        tmp_path,
        """
        import stepscope
        busy(0.2)
        with stepscope.Profile("own", stepscope.ProfilerOptions(sample_hz=200)) as profile:
            def inside(): busy(0.3)
            inside()
        def after(): busy(0.3)
        after()
        print(profile.capture.events > 0)
        """,
    )
    assert (code, said) == (0, "True\n"), told
    (own,) = (tmp_path / "own").rglob("*.xplane.pb")
    assert has(decode(own.read_bytes()), "inside")
    assert has(space(tmp_path), "after")


def test_recordings_of_the_program_that_follow_each_other_are_whole(tmp_path: Path) -> None:
    code, said, told = record(
        tmp_path,
        """
        import stepscope
        for run in range(20):
            with stepscope.Profile("own", stepscope.ProfilerOptions(sample_hz=0)) as profile:
                for number in range(5):
                    with stepscope.step(number):
                        busy(0.002)
            print(profile.capture.counts.get("annotations"))
        """,
    )
    assert (code, said.split()) == (0, ["5"] * 20), told


def test_a_person_goes_before_a_capture_that_goes_before_the_launcher(tmp_path: Path) -> None:
    code, said, told = record(
        tmp_path,
        """
        import stepscope
        from stepscope.capture import control
        def alone(): busy(0.3)
        def inside(): busy(0.3)
        def after(): busy(0.3)
        control.start(None, owner="remote")
        alone()
        with stepscope.Profile("own"):
            inside()
        after()
        """,
    )
    assert (code, said) == (0, ""), told
    (own,) = (tmp_path / "own").rglob("*.xplane.pb")
    assert {"alone", "inside", "after"} & functions(decode(own.read_bytes())) == {"inside"}
    assert {"alone", "inside", "after"} & functions(space(tmp_path)) == {"after"}


def test_a_start_that_fails_leaves_the_launcher_recording(tmp_path: Path) -> None:
    code, said, told = record(
        tmp_path,
        """
        import stepscope
        busy(0.2)
        try:
            stepscope.start("nosuch://bucket")
        except stepscope.CaptureError as error:
            print(error.anchor)
        def after(): busy(0.3)
        after()
        """,
    )
    assert (code, said) == (0, "remote-scheme\n"), told
    assert has(space(tmp_path), "after")


def test_a_sitecustomize_of_the_user_still_runs(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys; sys.of_the_user = 7\n", "utf-8")
    script = tmp_path / "show.py"
    script.write_text("import sys; print(sys.of_the_user)\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", "record", "-q", "-o", "logs", str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_a_program_that_is_no_python_says_that_nothing_was_recorded(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", "record", "-o", str(tmp_path / "logs"), "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "recorded nothing" in done.stderr


def test_a_program_that_the_system_does_not_start_is_no_bug(tmp_path: Path) -> None:
    program = tmp_path / "train"
    program.write_bytes(b"\x7fELF of another machine")
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", "record", "-o", str(tmp_path / "logs"), str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "The program cannot be started." in done.stderr
    assert "bug" not in done.stderr


def test_what_is_run_is_what_was_named(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("", "utf-8")
    assert command_line([str(script), "-x"], None) == [sys.executable, str(script), "-x"]
    assert command_line(["-x"], "package.train") == [sys.executable, "-m", "package.train", "-x"]
    assert command_line(["sh", "-c", "x"], None)[1:] == ["-c", "x"]
    for wrong in ([], ["no-such-command"], [str(tmp_path / "missing.py")]):
        with pytest.raises(stepscope.UsageError):
            command_line(wrong, None)


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ("-m work -m other", "-m work"),
        ("--module work --logdir x", "--module work"),
        ("--module=work -q", "--module=work"),
        ("-mwork -q", "-mwork"),
        ("-q -o -m -m work -- -x", "-q -o -m -m work"),
        ("-qm work -q", "-qm work"),
        ("-qom -q work -m x", None),
        ("train.py -m work", None),
        ("-- -m work", None),
        ("-q -m", None),
    ],
)
def test_options_end_with_the_module(given: str, ours: str | None) -> None:
    valued = {"-m", "--module", "-o", "--logdir"}
    at = end_of_module(given.split(), valued)
    assert at == (None if ours is None else len(ours.split()))


def test_instructions_survive_the_environment() -> None:
    instructions = Instructions(
        "logs, with = and é", "run", ProfilerOptions(frameworks=("jax",), max_bytes=9), 7
    )
    assert (
        Instructions.from_text(environment_for(instructions, {})["STEPSCOPE_RECORD"])
        == instructions
    )


def test_the_environment_of_the_program_keeps_what_the_user_set() -> None:
    instructions = Instructions("logs", "run", ProfilerOptions())
    base = {"PYTHONPATH": "/a:/b", "TF_CPU_ALLOCATOR_USE_BFC": "0"}
    made = environment_for(instructions, base)
    assert made["PYTHONPATH"].split(":")[1:] == ["/a", "/b"]
    assert made["TF_CPU_ALLOCATOR_USE_BFC"] == "0"
    assert environment_for(instructions, made)["PYTHONPATH"] == made["PYTHONPATH"]


@pytest.mark.parametrize("launched", [{"SLURM_PROCID": "0"}, {"RANK": "3", "WORLD_SIZE": "8"}])
def test_a_child_of_a_rank_is_its_child_and_no_rank_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launched: dict[str, str]
) -> None:
    for name, value in launched.items():
        monkeypatch.setenv(name, value)
    code, said, told = record(
        tmp_path,
        """
        import multiprocessing, os, subprocess, sys
        def work(): busy(0.3); print(os.getpid(), flush=True)
        if __name__ == "__main__":
            process = multiprocessing.get_context("spawn").Process(target=work)
            process.start(); process.join()
            code = "import os,time\\nend=time.time()+.3\\nwhile time.time()<end: sum(range(99))\\n"
            subprocess.run([sys.executable, "-c", code + "print(os.getpid())"])
        """,
    )
    assert code == 0, told
    planes = {plane.name for plane in space(tmp_path).planes}  # one file: one host
    children = said.split()
    assert len(children) == 2
    assert {f"/device:CUSTOM:Python samples [{child}]" for child in children} <= planes


def test_the_ranks_that_a_rank_launches_are_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As torchrun under srun: each variable is another launcher's, though both say 0."""
    monkeypatch.setenv("SLURM_PROCID", "0")
    (tmp_path / "rank.py").write_text(BUSY + "busy(0.2)\n", "utf-8")
    code, _, told = record(
        tmp_path,
        """
        import os, subprocess, sys
        for rank in "01":
            subprocess.run([sys.executable, "rank.py"], env={**os.environ, "RANK": rank})
        """,
    )
    assert code == 0
    assert "3 processes in" in told


def test_a_recording_that_the_disk_refuses_is_found_where_it_was_kept(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be", "utf-8")
    code, _, told = record(tmp_path, "busy(0.3)\n")
    assert code == 0
    assert "recorded nothing" not in told
    kept = Path(told.partition("kept in ")[2].partition(".xplane.pb")[0] + ".xplane.pb")
    try:
        assert "Stepscope recorded" in told
        assert told.count(str(kept)) >= 2  # the warning, and the summary
        assert has(decode(kept.read_bytes()), "busy")
    finally:
        shutil.rmtree(kept.parents[3])
