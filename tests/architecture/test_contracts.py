"""The layers of ARCHITECTURE.md hold, and the contracts would notice if they did not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.analysis import TOOLS
from stepscope.formats import FORMATS
from tests.architecture.tree import PACKAGE, ROOT, copy_to


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """import-linter over the package in ``root``."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    env = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


def test_folder_of_tools_holds_nothing_else() -> None:
    files = [path.stem for path in (PACKAGE / "analysis").glob("*.py") if path.stem != "__init__"]
    assert sorted(files) == sorted(TOOLS.ids), "list each tool in analysis/__init__.py"


def test_each_format_has_the_id_that_lists_it() -> None:
    assert [one.id for one in FORMATS.values()] == list(FORMATS)


def test_every_contract_is_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


def test_the_base_layer_stands_in_architecture_as_in_its_contract() -> None:
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11 or newer")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    _, _, table = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("|---|---|---|\n")
    base = layers[layers.index("kernels") + 1 :]
    names = [row.split("|")[1] for row in table.splitlines()[: len(base)]]
    told = [set(re.findall(r"`(\w+)(?:\.py|/)`", one)) for one in names]
    assert told == [set(layer.split(" | ")) for layer in reversed(base)]


@pytest.mark.parametrize(
    ("file", "statement", "contract"),
    [
        ("tables/core/stats.py", "import stepscope.session", "One direction"),
        ("analysis/overview_page.py", "import stepscope.analysis.framework_op_stats", "A tool"),
        ("advice/rules/device.py", "import stepscope.advice.rules.host", "A rule"),
        (
            "advice/evidence/copies.py",
            "import stepscope.advice.rules.host.host_copies",
            "Evidence is",
        ),
        ("tables/core/stats.py", "import socket", "functions of values"),
        ("session/session.py", "import pandas", "pandas is the caller's"),
        ("store/read.py", "import google.protobuf", "protobuf runtime"),
    ],
)
def test_a_breach_is_noticed(tmp_path: Path, file: str, statement: str, contract: str) -> None:
    root = copy_to(tmp_path, "src", "pyproject.toml")
    broken = root / "src" / "stepscope" / file
    broken.write_text(f"{broken.read_text('utf-8')}\n{statement}\n", "utf-8")
    done = lint(root)
    assert done.returncode != 0
    assert any(contract in line and "BROKEN" in line for line in done.stdout.splitlines())


def test_json_of_recordings_is_read_within_limits() -> None:
    """``json.loads`` ends with a RecursionError where a text nests; ``json_value`` says so."""
    found = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for folder in ("formats", "tables", "columns", "analysis", "timeline")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(r"\bjson\.loads?\(", line)
    ]
    assert found == []
