"""The parts of dev.py that need no network: what it decides, and what it says when it fails."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

import dev
from tests.conftest import TIERS


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of its own with one kernel."""
    folder = tmp_path / "src" / "stepscope" / "kernels"
    folder.mkdir(parents=True)
    (folder / "_kernels.txt").write_text("fast_kernel.py\n")
    (folder / "fast_kernel.py").write_text("x = 1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "setup.py").write_text("")
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "WORK", tmp_path / ".stepscope")
    return tmp_path


@pytest.mark.parametrize("name", ["pyproject.toml", "src/stepscope/kernels/fast_kernel.py"])
def test_the_environment_is_stale_when_what_it_was_made_of_changes(tree: Path, name: str) -> None:
    before = dev.fingerprint()
    assert dev.fingerprint() == before
    (tree / name).write_text("changed = True\n")
    assert dev.fingerprint() != before


def test_other_sources_do_not_make_it_stale(tree: Path) -> None:
    before = dev.fingerprint()
    (tree / "src/stepscope/session.py").write_text("new = 1\n")
    assert dev.fingerprint() == before


def test_a_failing_step_shows_its_last_lines_and_what_to_do(
    tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"]
    with pytest.raises(dev.Trouble) as caught:
        dev.quietly("building", command, hint="Fix it.")
    assert "ended with 3" in str(caught.value)
    assert caught.value.hint == "Fix it."
    assert "the reason" in capfd.readouterr().err


def test_a_step_that_works_says_one_line(tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    dev.quietly("building", [sys.executable, "-c", "print('noise')"])
    said = capfd.readouterr().err
    assert "building: done in 0 s" in said
    assert "noise" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_a_command_in_the_foreground_ends_with_us() -> None:
    child = "import time; print('ready', flush=True); time.sleep(60)"
    code = f"import dev, sys; sys.exit(dev.run([sys.executable, '-c', {child!r}]))"
    started = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(dev.__file__).parent
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    started.terminate()
    assert started.stdout.read() == b"", "nobody holds the pipe any more"
    assert started.wait(30) == 128 + signal.SIGTERM
    started.stdout.close()


def test_help_names_every_command() -> None:
    done = subprocess.run(
        [sys.executable, str(Path(dev.__file__)), "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    for command in ("demo", "test", "check", "bench", "web", "generate"):
        assert f"\n    {command} " in done.stdout


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "OLDEST_PYTHON", (99, 0))
    with pytest.raises(SystemExit):
        dev.main()


@pytest.fixture
def installed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ``ensure_environment`` installs, without installing it."""
    venv = tree / ".venv"
    venv.mkdir()
    requirements: list[str] = []
    monkeypatch.setattr(dev, "VENV", venv)
    monkeypatch.setattr(dev, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(dev, "install", lambda label, *asked: requirements.append(asked[-1]))
    monkeypatch.setattr(dev, "web_files", lambda: SimpleNamespace(is_fresh=lambda: True))
    return requirements


def test_the_environment_is_made_once(tree: Path, installed: list[str]) -> None:
    dev.ensure_environment()
    dev.ensure_environment()
    assert installed == [f"{tree}[dev]"]


def test_a_first_look_needs_no_developer_packages(tree: Path, installed: list[str]) -> None:
    dev.ensure_environment(extra="")
    assert installed == [str(tree)]
    dev.ensure_environment()
    assert installed == [str(tree), "stepscope[dev]"]  # the kernels are not built again
    dev.ensure_environment(extra="test")
    dev.ensure_environment(extra="")
    assert len(installed) == 2


def test_the_quick_tests_need_no_developer_packages(tree: Path, installed: list[str]) -> None:
    dev.ensure_environment(extra="test")
    dev.ensure_environment(extra="")
    assert installed == [f"{tree}[test]"]


@pytest.mark.parametrize(
    ("words", "tier", "rest"),
    [
        ([], "quick", []),
        (["-k", "steps"], "quick", ["-k", "steps"]),
        (["--tier", "live", "-x"], "live", ["-x"]),
    ],
)
def test_a_tier_is_split_from_the_words_for_pytest(
    words: list[str], tier: str, rest: list[str]
) -> None:
    assert dev.tier_of(words) == (tier, rest)


@pytest.mark.parametrize(
    ("words", "codes", "expected"),
    [
        ([], [1], (1, [[]])),
        (["--tier", "live"], [0], (0, [[]])),
        (["--tier", "frameworks"], [0, 5], (0, [["no"], ["only"]])),
        (["--tier", "frameworks", "-k", "x"], [5, 1], (1, [["no"], ["only"]])),
        (["--tier", "collection"], [0], (0, [[]])),
        (["dev.py"], [0], (0, [[]])),
    ],
)
def test_tests_that_measure_run_after_the_others(
    installed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    codes: list[int],
    expected: tuple[int, list[list[str]]],
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> int:
        commands.append(command)
        return codes[len(commands) - 1]

    monkeypatch.setattr(dev, "run", run)
    (dev.ROOT / "dev.py").touch()
    code = dev.test(argparse.Namespace(rest=words))
    measured = [[b for a, b in pairwise(command) if a == "--measured"] for command in commands]
    assert (code, measured) == expected


def test_tiers_are_those_of_the_tests() -> None:
    assert {*TIERS, "all"} == set(dev.TIERS)


def test_a_changed_kernel_is_installed_again_with_what_was_there(
    tree: Path, installed: list[str]
) -> None:
    dev.ensure_environment()
    (tree / "src/stepscope/kernels/fast_kernel.py").write_text("x = 2\n")
    dev.ensure_environment(extra="")
    assert installed == [f"{tree}[dev]", f"{tree}[dev]"]


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        ("1", ["torch", "--index-url", dev.TORCH_CPU_INDEX]),
        ("torch==2.13.0 --no-deps", ["torch==2.13.0", "--no-deps"]),
    ],
)
def test_pytorch_is_the_build_for_the_cpu_and_comes_by_pip(
    monkeypatch: pytest.MonkeyPatch, wanted: str, asked: list[str]
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(dev, "has_module", lambda name: name == "pip")
    monkeypatch.setattr(dev, "quietly", lambda label, command, **_: commands.append(command))
    dev.ensure_torch(wanted)
    (command,) = commands
    assert command[1:4] == ["-m", "pip", "install"]
    assert command[-len(asked) :] == asked


def test_pytorch_that_is_there_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "has_module", lambda name: True)
    monkeypatch.setattr(dev, "quietly", lambda *_, **__: pytest.fail("nothing to install"))
    dev.ensure_torch("1")


def test_trainers_come_only_where_pytorch_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """They need it, and pip would bring the build for GPUs."""
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(dev, "install", lambda label, *wanted: commands.append(wanted))
    monkeypatch.setattr(dev, "has_module", lambda name: False)
    with pytest.raises(dev.Trouble):
        dev.ensure_trainers()
    assert not commands
    monkeypatch.setattr(dev, "has_module", lambda name: name == "torch")
    dev.ensure_trainers()
    assert commands == [("lightning", "transformers", "accelerate")]
    monkeypatch.setattr(dev, "has_module", lambda name: True)
    dev.ensure_trainers()
    assert len(commands) == 1


def test_modules_from_elsewhere_are_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    def test(_: argparse.Namespace) -> int:
        """Return whether another tree is on the path."""
        return int("PYTHONPATH" in os.environ)

    monkeypatch.setenv("PYTHONPATH", "/another/tree/src")
    monkeypatch.setattr(sys, "argv", ["dev.py", "test"])
    monkeypatch.setattr(dev, "test", test)
    assert dev.main() == 0
