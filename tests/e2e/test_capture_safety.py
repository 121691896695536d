"""The safety contract: whatever becomes of the program, what was recorded is there and opens.

Each test is a program of its own that comes to some end. None needs a framework.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import stepscope
from stepscope.formats.xspace import decode
from tests.e2e.recorded_programs import program, recording, run, steps_in, steps_so_far, wait_for

# A recording of 60 steps whose disk is full after 20 of them. A step's name is longer than a page:
# the last page of a file has room on the fullest disk.
FULL_AFTER_ONE_CHUNK = """
import pathlib, shutil
disk = pathlib.Path(logdir)
def work(steps):
    for number in range(steps):
        with stepscope.step(number), stepscope.Trace(f"{number}" + "x" * 5000):
            time.sleep(0.005)
stepscope.start(logdir, options(chunk_seconds=0.2))
work(20)
(file,) = disk.rglob("*.xplane.pb")
size = -1
while b"19xxx" not in file.read_bytes() or size != file.stat().st_size:
    size = file.stat().st_size
    time.sleep(0.05)
with (disk / "filler").open("wb", buffering=0) as filler:
    try:
        while True:
            filler.write(bytes(4096))
    except OSError:
        pass
work(40)
done = stepscope.stop()
print(done.path)
print([note.slug for note in done.warnings])
"""
STARTED_BY_ANOTHER_THREAD = """
import threading
from stepscope.capture import control
from stepscope.capture.recorders.annotations import AnnotationRecorder
begun = threading.Event()
class Slow(AnnotationRecorder):
    def start(self, options):
        begun.set()
        time.sleep(1)
control.recorders = lambda: [Slow()]
threading.Thread(target=stepscope.start, args=(logdir,), daemon=True).start()
begun.wait()
"""
BECOME_NOBODY = """
with stepscope.Profile(None, options()):
    work(1)
os.seteuid(65534)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Sequence[str]:
    """Words before a command that give it a disk of 256 KiB at ``tmp_path / "disk"``.

    It is mounted in a name space of the command's own, and gone with it.
    """
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["sh", "-c", 'mount -t tmpfs -o size=256k small "$0" && exec "$@"', str(disk)]
    reasons = []
    for rights in (["--mount"], ["--mount", "--user", "--map-root-user"]):
        words = ["unshare", *rights, *mount]
        try:
            tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
        except OSError as error:
            pytest.skip(f"no unshare here: {error}")
        if tried.returncode == 0:
            return words
        reasons.append(tried.stderr.strip())
    pytest.skip(f"this user may mount no disk here: {'; '.join(reasons)}")


def test_a_recording_has_all_steps_and_says_where_it_is(tmp_path: Path) -> None:
    code, said, _ = run(
        tmp_path,
        """
        stepscope.start(logdir, options())
        work()
        print(stepscope.stop().path)
        """,
    )
    assert code == 0
    assert Path(said.strip()) == recording(tmp_path)
    assert steps_in(recording(tmp_path)) == 20
    assert stepscope.open(tmp_path).overview_page().steps.count > 0


def test_kill_9_loses_the_open_chunk_only(tmp_path: Path) -> None:
    process = program(
        tmp_path,
        """
        stepscope.start(logdir, options(chunk_seconds=0.2))
        work(steps=10_000)
        """,
    )
    try:
        wait_for(lambda: steps_so_far(tmp_path) >= 30)
    finally:
        process.kill()
        process.communicate()
    kept = steps_in(recording(tmp_path))
    assert kept >= 30
    overview = stepscope.open(recording(tmp_path)).overview_page()
    assert overview.steps.count > 0
    assert overview.completeness.verdict == "partial"
    assert "never-ended" in {one.slug for one in overview.diagnostics}
    # And what other viewers need, one plane a name, is one command away.
    repaired = subprocess.run(
        [sys.executable, "-m", "stepscope", "repair", str(recording(tmp_path))],
        capture_output=True,
        check=True,
    )
    assert b"planes" in repaired.stderr
    assert steps_in(recording(tmp_path)) == kept
    planes = [plane.name for plane in decode(recording(tmp_path).read_bytes()).planes]
    assert len(set(planes)) == len(planes)


def test_a_torn_chunk_is_left_out_and_said(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        stepscope.start(logdir, options(chunk_seconds=0.1))
        work()
        os._exit(0)
        """,
    )
    path = recording(tmp_path)
    whole = steps_in(path)
    path.write_bytes(path.read_bytes()[:-7])
    assert 0 < steps_in(path) <= whole
    session = stepscope.open(path)
    assert session.overview_page().steps.count > 0
    assert session.overview_page().completeness.verdict != "complete"


@pytest.mark.parametrize("chunk_seconds", ["None", "0.05"])
def test_sigterm_keeps_everything_and_still_ends_the_program(
    tmp_path: Path, chunk_seconds: str
) -> None:
    process = program(
        tmp_path,
        f"""
        stepscope.start(logdir, options(chunk_seconds={chunk_seconds}))
        work(); print("ready", flush=True); work(10_000)
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM
    assert steps_in(recording(tmp_path)) >= 20


def test_a_programs_own_sigterm_handler_stays(tmp_path: Path) -> None:
    process = program(
        tmp_path,
        """
        def own(*_): print("mine", flush=True); sys.exit(3)
        signal.signal(signal.SIGTERM, own)
        stepscope.start(logdir, options())
        work(); print("ready", flush=True); work(10_000)
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    said, _ = process.communicate(timeout=30)
    assert (process.returncode, said) == (3, "mine\n")
    assert steps_in(recording(tmp_path)) >= 20  # written on the way out


def test_sigterm_has_its_default_again_after_stop(tmp_path: Path) -> None:
    _, said, _ = run(
        tmp_path,
        """
        stepscope.start(logdir, options()); stepscope.stop()
        print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        """,
    )
    assert said == "True\n"


def test_an_exception_goes_on_and_the_recording_is_written(tmp_path: Path) -> None:
    code, _, complained = run(
        tmp_path,
        """
        with stepscope.Profile(logdir, options()):
            work()
            raise ValueError("of the program")
        """,
    )
    assert code == 1
    assert "ValueError: of the program" in complained
    assert steps_in(recording(tmp_path)) == 20


def test_a_crash_without_stop_is_written_at_exit(tmp_path: Path) -> None:
    code, _, complained = run(
        tmp_path,
        """
        stepscope.start(logdir, options())
        work()
        raise ValueError("of the program")
        """,
    )
    assert code == 1
    assert "ValueError: of the program" in complained
    assert steps_in(recording(tmp_path)) == 20


def test_an_end_waits_for_a_recording_that_another_thread_starts(tmp_path: Path) -> None:
    code, _, complained = run(tmp_path, STARTED_BY_ANOTHER_THREAD)
    assert code == 0
    assert "nothing happened meanwhile" in complained  # and not: the rest is lost
    assert decode(recording(tmp_path).read_bytes()).damage is None


def test_ctrl_c_is_the_programs_and_the_recording_is_written(tmp_path: Path) -> None:
    process = program(
        tmp_path,
        """
        with stepscope.Profile(logdir, options()):
            work(); print("ready", flush=True); work(10_000)
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, complained = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in complained
    assert steps_in(recording(tmp_path)) >= 20


def test_a_full_disk_moves_the_recording_and_says_where(tmp_path: Path) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    code, said, complained = run(
        tmp_path / "log",
        """
        # Files of more than 2 kB are refused from now on, as a full disk refuses them. The limit
        # is the process's, so it is lifted once the disk has refused: the other disk has room.
        from stepscope.capture.file import logdir as places
        create_spare = places.create_spare
        def lift(*names):
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            return create_spare(*names)
        places.create_spare = lift
        stepscope.start(logdir, options(chunk_seconds=0.2))
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
        work(100, 0.005)
        done = stepscope.stop()
        print(done.path)
        print([note.slug for note in done.warnings])
        """,
        TMPDIR=str(spare),
    )
    assert code == 0, complained
    path, slugs = said.splitlines()
    assert Path(path).is_relative_to(spare)
    assert "kept-elsewhere" in slugs
    assert "cannot be written" in complained
    assert steps_in(Path(path)) >= 98  # the chunk before the last may lose the step it was cut in


def test_a_disk_that_is_really_full_gets_its_room_back(
    tmp_path: Path, small_disk: Sequence[str]
) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    code, said, complained = run(
        tmp_path / "disk",
        FULL_AFTER_ONE_CHUNK + "print([path.name for path in disk.rglob('*') if path.is_file()])",
        within=small_disk,
        TMPDIR=str(spare),
    )
    assert code == 0, complained
    path, slugs, left = said.splitlines()
    assert Path(path).is_relative_to(spare)
    assert "kept-elsewhere" in slugs and "chunk-lost" not in slugs
    assert "No space left on device" in complained
    assert steps_in(Path(path)) == 60
    assert left == "['filler']"


def test_where_every_disk_is_full_what_was_written_is_kept_and_nothing_else_stays(
    tmp_path: Path, small_disk: Sequence[str]
) -> None:
    kept = tmp_path / "kept"
    code, said, complained = run(
        tmp_path / "disk",
        "import tempfile; tempfile.tempdir = logdir  # else Python looks for one with room\n"
        + FULL_AFTER_ONE_CHUNK
        + "print([path.name for path in disk.rglob('*') if path.is_file()])\n"
        + f"shutil.copyfile(done.path, {str(kept)!r}); print('went on')",
        within=small_disk,
    )
    assert code == 0, complained
    path, slugs, left, end = said.splitlines()
    assert end == "went on"
    assert slugs.count("chunk-lost") == 1, "one sentence, however many chunks"
    assert "left-in-chunks" in slugs
    assert "bug in Stepscope" not in complained and "No space left on device" in complained
    assert steps_in(kept) == 20
    assert left == str(["filler", Path(path).name])


@pytest.mark.parametrize(("seconds", "way"), [(-3600, "back"), (3600, "forward"), (0, "")])
def test_a_clock_that_is_set_costs_no_event_and_is_said(
    seconds: int, way: str, tmp_path: Path
) -> None:
    program = f"""
    real_ns = time.time_ns
    stepscope.start(logdir, options())
    work(20)
    time.time_ns = lambda: real_ns() + {seconds} * 10**9
    work(20)
    stepscope.stop()
    """
    code, _, complained = run(tmp_path, program)
    assert code == 0
    assert (f"set {way} by 3,600.00 s" in complained) == bool(way)
    with stepscope.open(recording(tmp_path)) as session:
        events = session.events()
        warnings = " ".join(*(host.space.warnings for host in session.profile.hosts))
    durations = [one for one in events["duration_us"].to_list() if one > 5_000]
    assert len(durations) == 40
    assert max(durations) < 60_000_000
    assert ("The clock was set" in warnings) == bool(way)


def test_when_no_disk_takes_it_the_program_goes_on_and_it_is_said(tmp_path: Path) -> None:
    code, said, complained = run(
        tmp_path,
        """
        stepscope.start(logdir, options())
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        work()
        print([note.slug for note in stepscope.stop().warnings])
        work()
        print("went on")
        """,
    )
    assert code == 0, complained
    assert "chunk-lost" in said
    assert said.endswith("went on\n")


def test_a_read_only_folder_is_said_and_the_recording_kept() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        base.chmod(0o755)  # pytest's own folders are closed to other users
        (base / "locked").mkdir(mode=0o555)
        _check_elsewhere(base / "locked", base, as_nobody=os.geteuid() == 0)


def test_a_log_directory_that_is_a_file_is_said_and_the_recording_kept(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("not a folder")
    _check_elsewhere(taken, tmp_path)


def _check_elsewhere(logdir: Path, tmp_path: Path, *, as_nobody: bool = False) -> None:
    spare = tmp_path / "spare"
    spare.mkdir()
    spare.chmod(0o777)
    code, said, complained = run(
        logdir,
        # Root may write anywhere, so root's test is done by a user who may not; that user may not
        # read Python either, so all that is needed is loaded before.
        (BECOME_NOBODY if as_nobody else "")
        + """
with stepscope.Profile(logdir, options()) as profile:
    work()
print(profile.capture.path)
print([note.slug for note in profile.capture.warnings])
""",
        TMPDIR=str(spare),
    )
    assert code == 0, complained
    path, slugs = said.splitlines()
    assert Path(path).is_relative_to(spare)
    assert "kept-elsewhere" in slugs
    assert str(logdir) in complained
    assert steps_in(Path(path)) == 20
