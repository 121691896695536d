"""A new tool is one file and one line in the list; every surface knows it at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import copy_to
from tests.profiles import worked_example

TOOL = '''"""Lines of the recording, for a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table
from stepscope.tables.core.profile import Profile


class LineRow(Row):
    """One line."""

    name: Annotated[str, Column("Line", kind="name")]
    events: Annotated[int, Column("Events", kind="count", sort="desc")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of line_count."""

    at_least: Annotated[int, Help("Leave out lines with fewer events.")] = 0


@dataclass(frozen=True, kw_only=True)
class LineCount(Result):
    """How many events each line has."""

    tool = "line_count"
    lines: Table[LineRow]


def run(profile: Profile, options: Options) -> LineCount:
    """Count."""
    lines = [line for host in profile.hosts for line in host.space.lines]
    kept = [line for line in lines if line.end - line.begin >= options.at_least]
    columns = {
        "name": [line.label for line in kept],
        "events": [line.end - line.begin for line in kept],
    }
    return LineCount(lines=Table(LineRow, columns))


TOOL = Tool("line_count", "lines", "Line count", "Table", run, Options, LineCount)
'''

SURFACES = """
import json, sys
from werkzeug.test import Client
import stepscope
from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard

path = sys.argv[1]
with stepscope.open(path) as session:
    method = session.line_count(at_least=10).to_dict()
settings = Settings(token_required=False)
client = Client(Application(Workspace(find(path)), Guard(settings, 80)))
host = {"Host": "127.0.0.1:80"}
listed = client.get("/api/v1/tools", headers=host).get_json()
answer = client.get("/api/v1/tool/line_count?at_least=10", headers=host).get_json()
table = client.get("/api/v1/tool/line_count/lines.csv", headers=host).get_data(as_text=True)
print(json.dumps({"method": method, "listed": listed, "answer": answer, "csv": table}))
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with one more tool: its file, and its line in the list."""
    root = copy_to(
        tmp_path_factory.mktemp("repository"),
        "src",
        "generate",
        "docs",
        "web/src/api",
        "ARCHITECTURE.md",
    )
    analysis = root / "src" / "stepscope" / "analysis"
    (analysis / "line_count.py").write_text(TOOL, "utf-8")
    listed = analysis / "__init__.py"
    text = listed.read_text("utf-8")
    last = '        "graph_viewer",\n'
    assert last in text
    listed.write_text(text.replace(last, f'{last}        "line_count",\n'), "utf-8")
    (root / "host.xplane.pb").write_bytes(worked_example())
    return root


def python(root: Path, *arguments: str) -> str:
    """Run Python on the copy; what it printed."""
    # The copied package has no compiled kernels, which its results do not depend on.
    env = {**os.environ, "PYTHONPATH": str(root / "src"), "STEPSCOPE_CORE": ""}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_command_line_shows_it_with_its_options(extended: Path) -> None:
    command = ["-m", "stepscope", "show", "line_count", "host.xplane.pb", "--format", "json"]
    answer = json.loads(python(extended, *command, "--at-least", "20"))
    assert answer["tool"] == "line_count"
    assert answer["lines"] == [{"name": "tf_exec", "events": 32}]
    short = python(extended, "-m", "stepscope", "show", "lines", "host.xplane.pb")
    assert "tf_exec" in short


def test_generated_files_and_every_other_surface_follow(extended: Path) -> None:
    page = extended / "web/src/tools/line_count.ts"
    page.parent.mkdir(parents=True)
    page.write_text('import type { LineCount } from "../api/types.gen.ts";\n', "utf-8")
    python(extended, "-m", "generate")
    assert "line_count" in (extended / "web/src/api/types.gen.ts").read_text("utf-8")
    assert "--at-least" in (extended / "docs/cli.md").read_text("utf-8")
    assert (extended / "docs/tools/line_count.md").is_file()
    said = json.loads(python(extended, "-c", SURFACES, "host.xplane.pb").splitlines()[-1])
    assert said["method"]["lines"] == [
        {"name": "python", "events": 16},
        {"name": "tf_exec", "events": 32},
    ]
    tool = next(tool for tool in said["listed"]["tools"] if tool["id"] == "line_count")
    assert [option["name"] for option in tool["options"]] == ["at_least"]
    assert said["answer"]["lines"] == said["method"]["lines"]
    assert said["csv"].splitlines()[0] == "name,events"
