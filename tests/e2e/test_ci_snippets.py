"""What people paste into their CI: its steps run here, as far as they can without that CI."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from stepscope.surfaces.export.check import relative
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.conftest import ROOT
from tests.profiles import worked_example

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ACTION = ROOT / ".github" / "actions" / "check" / "action.yml"
needs_web = pytest.mark.skipif(
    not (STATIC_FOLDER / "index.html").is_file(), reason="the web files are not built"
)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A checkout with a run and a baseline."""
    for name in ("logs/new", "baselines/train"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "host.xplane.pb").write_bytes(worked_example(gpu=True, steps=12))
    (tmp_path / "train.py").write_text("")
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, line in {
        "python": f'exec {sys.executable} "$@"',
        "stepscope": f'exec {sys.executable} -m stepscope "$@"',
        "pip": "exit 0",
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    return tmp_path


def shell(job: Path, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(job / "bin"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), **env}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=job,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def expanded(value: str, inputs: dict[str, str]) -> str:
    """An expression of the action with its inputs in it; nothing else is used."""
    found = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: inputs[match[1]], value)
    assert "${{" not in found
    return found


def run_action(job: Path, **given: str) -> subprocess.CompletedProcess[str]:
    action: dict[str, Any] = yaml.safe_load(ACTION.read_text("utf-8"))
    inputs = {name: one.get("default", "") for name, one in action["inputs"].items()} | given
    summary = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(job / "summary.md")}
    done = None
    for step in action["runs"]["steps"]:
        if step["name"] == "Install":  # no index here
            continue
        # Values reach the shell by its environment, never by its text.
        assert "${{" not in step["run"]
        env = {name: expanded(value, inputs) for name, value in step["env"].items()}
        done = shell(job, step["run"], **env, **summary)
        if done.returncode:
            return done
    assert done is not None
    return done


@needs_web
def test_the_action_passes_and_fails_with_its_files(job: Path) -> None:
    done = run_action(job, path="logs/new", baseline="baselines/train")
    assert done.returncode == 0, done.stderr
    assert "Stepscope" in (job / "summary.md").read_text("utf-8")
    assert (job / "stepscope.html").stat().st_size > 100_000
    assert ET.parse(job / "stepscope.xml").getroot().get("failures") == "0"

    done = run_action(job, path="logs/new", limits="--max-step-time 0.001ms")
    assert done.returncode == 1
    assert "::error title=Stepscope::" in done.stderr
    assert "❌" in (job / "summary.md").read_text("utf-8")
    sarif = json.loads((job / "stepscope.sarif").read_text("utf-8"))
    (told,) = sarif["runs"]
    limits = [one for one in told["results"] if one["ruleId"] == "limit/step_time"]
    assert [one["level"] for one in limits] == ["error"]
    assert {one["ruleId"] for one in told["results"]} == {
        rule["id"] for rule in told["tool"]["driver"]["rules"]
    }


def test_inputs_of_the_action_cannot_run_anything(job: Path) -> None:
    run_action(job, path="logs/new; touch pwned", limits="$(touch pwned) `touch pwned`", report="")
    assert not (job / "pwned").exists()


@needs_web
def test_the_gitlab_snippet_runs(job: Path) -> None:
    text = (ROOT / "docs" / "ci.md").read_text("utf-8").partition("## GitLab")[2]
    match = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert match is not None
    told = yaml.safe_load(match[1])["performance"]
    for line in told["script"]:
        done = shell(job, line)
        assert done.returncode == 0, (line, done.stderr)
    for name in (*told["artifacts"]["paths"], told["artifacts"]["reports"]["junit"]):
        assert (job / name).is_file()


def test_workflows_pin_every_action_and_ask_for_nothing_by_default() -> None:
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert len(files) >= 2
    for path in files:
        text = path.read_text("utf-8")
        assert yaml.safe_load(text)["permissions"] == {}
        for used in re.findall(r"uses: (\S+)", text):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), (path.name, used)


def test_every_script_of_a_workflow_is_one_that_bash_reads() -> None:
    files = [*(ROOT / ".github").rglob("*.yml")]
    scripts = [
        (path.name, step["run"])
        for path in files
        for job in yaml.safe_load(path.read_text("utf-8")).get("jobs", {}).values()
        for step in job["steps"]
        if "run" in step
    ]
    assert len(scripts) > 8
    for name, script in scripts:
        # What an expression stands for must not be read as a command.
        assert "${{" not in script, name
        done = subprocess.run(
            ["bash", "-n"], input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (name, script, done.stderr)


@pytest.mark.parametrize(
    ("file", "root", "told"),
    [
        ("/work/repo/train/loop.py", "/work/repo", "train/loop.py"),
        ("/elsewhere/loop.py", "/work/repo", "elsewhere/loop.py"),
        ("loop.py", "/work/repo", "loop.py"),
        ("C:\\repo\\loop.py", "C:\\repo", "loop.py"),
    ],
)
def test_files_are_named_from_the_repository(file: str, root: str, told: str) -> None:
    assert relative(file, root) == told
