"""The pytest plugin: marked tests are recorded, judged and blamed; others are left alone."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import dedent

import pytest

from tests.conftest import ROOT

TESTS = """
    import time
    import pytest
    import stepscope

    def train(ms, steps=12):
        for i in range(steps):
            with stepscope.step(i), stepscope.Trace("compute"):
                time.sleep(ms / 1000)

    @pytest.mark.stepscope(max_step_time="200ms")
    def test_quick():
        train(2)

    @pytest.mark.stepscope(max_step_time="1ms")
    def test_slow():
        train(4)

    @pytest.mark.stepscope(max_step_time="1ms")
    def test_without_steps():
        pass

    @pytest.mark.stepscope(max_step_time="+100%", baseline="baselines/grown")
    def test_grown(request):
        train(2 if request.config.getoption("--stepscope-update") else 60)

    @pytest.mark.stepscope(max_fun="3ms")
    def test_misspelt():
        train(1)

    @pytest.mark.stepscope(max_step_time="1s")
    def test_wrong_by_itself():
        assert [] == [1]

    def test_not_marked():
        pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(dedent(TESTS), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Where the checkout was installed before it had the entry point, the plugin is named.
    known = {point.name for point in entry_points(group="pytest11")}
    named = () if "stepscope" in known else ("-p", "stepscope.surfaces.pytest_plugin")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *named, *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def test_marked_tests_are_judged_by_their_steps(folder: Path) -> None:
    done = run(folder, "-q", "-k", "not grown", "--junit-xml=out.xml")
    assert "5 failed" not in done.stdout
    assert "4 failed, 2 passed" in done.stdout, done.stdout
    assert "Stepscope: a limit is exceeded." in done.stdout
    assert "exceeded: step_time" in done.stdout
    assert "max_fun is not one of max_step_time" in done.stdout
    # The test's own failure is its own: Stepscope does not cover it.
    assert "assert [] == [1]" in done.stdout
    assert 'name="stepscope step_time"' in (folder / "out.xml").read_text("utf-8")


def test_a_test_without_steps_says_how_to_mark_them(folder: Path) -> None:
    done = run(folder, "-q", "-k", "without_steps")
    assert done.returncode == 1
    assert "A run without steps cannot be compared or checked." in done.stdout
    assert "stepscope.step(i)" in done.stdout
    assert "During handling" not in done.stdout


def test_baselines_are_written_once_and_then_held_against(folder: Path) -> None:
    missing = run(folder, "-q", "-k", "grown")
    assert missing.returncode == 1
    assert "pytest --stepscope-update test_it.py::test_grown" in missing.stdout
    written = run(folder, "-q", "-k", "grown", "--stepscope-update")
    assert written.returncode == 0, written.stdout
    assert len(list((folder / "baselines" / "grown").glob("*.xplane.pb"))) == 1
    # From 2 to 60 ms a step: no busy machine hides that. What grew is the compute of the step.
    judged = run(folder, "-q", "-k", "grown")
    assert judged.returncode == 1
    assert "What grew most:" in judged.stdout
    assert "compute (slower)" in judged.stdout
    # Writing again replaces the file instead of adding a second.
    run(folder, "-q", "-k", "grown", "--stepscope-update")
    assert len(list((folder / "baselines" / "grown").glob("*.xplane.pb"))) == 1


def test_recordings_are_kept_where_asked(folder: Path) -> None:
    done = run(folder, "-q", "-k", "quick", "--stepscope-logdir", "logs")
    assert done.returncode == 0, done.stdout
    assert len(list((folder / "logs").rglob("*.xplane.pb"))) == 1


def test_the_plugin_loads_nothing_before_a_marked_test() -> None:
    code = (
        "import sys, stepscope.surfaces.pytest_plugin; "
        "print([m for m in ('numpy', 'polars', 'stepscope.session') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_broken_environment_does_not_break_the_run(tmp_path: Path) -> None:
    """The plugin is loaded by every pytest beside it: it must not need what it would use later."""
    for name in ("numpy", "polars"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('broken on purpose')\n")
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "stepscope.surfaces.pytest_plugin"]
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "test_own.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
