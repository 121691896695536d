"""The tail of the sizes: no file, function or folder that a person cannot take in at once."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

FILE_LINES = 500
FUNCTION_LINES = 60
FOLDER_FILES = 24
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc"}

# A folder with one file for each of what the product has grows with it.
ONE_FILE_EACH = {"src/stepscope/analysis"}
# "path" or "path:function" → why it may be longer, and until when. Empty is the normal state.
DEBTS: dict[str, str] = {}


def sources() -> list[Path]:
    """Every hand-written source file, Python and TypeScript."""
    folders = ["src", "bench", "build_backend", "examples", "fuzz", "tests"]
    found = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    found += [*ROOT.glob("*.py"), *(ROOT / "web" / "src").rglob("*.ts*")]
    return sorted(path for path in found if not is_generated(path))


def is_generated(path: Path) -> bool:
    """Whether no person writes it: what is built, or written from the lists, may be long."""
    first = path.open("rb").readline() if path.suffix == ".py" else b""
    return "static" in path.parts or ".gen." in path.name or b"Generated: python" in first


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function and its lines, the docstring not counted."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            doc_lines = (first.end_lineno or 0) - first.lineno + 1 if is_doc else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - doc_lines


def test_there_are_sources() -> None:
    assert len(sources()) > 50


def test_files_are_short() -> None:
    texts = {name_of(path): path.read_text("utf-8") for path in sources()}
    lengths = {
        name: text.count("\n")
        for name, text in texts.items()
        if "Generated: python -m" not in text.partition("\n")[0]
    }
    long = {name: lines for name, lines in lengths.items() if lines > FILE_LINES}
    assert {name: lines for name, lines in long.items() if name not in DEBTS} == {}


def test_functions_are_short() -> None:
    long = {
        f"{name_of(path)}:{name}": lines
        for path in sources()
        if path.suffix == ".py"
        for name, lines in functions(path)
        if lines > FUNCTION_LINES
    }
    assert {name: lines for name, lines in long.items() if name not in DEBTS} == {}


def test_folders_are_small() -> None:
    """A person who opens one sees what belongs there."""
    files: dict[str, int] = {}
    for path in (ROOT / "src" / "stepscope").rglob("*.py"):
        if path.name != "__init__.py":
            folder = name_of(path.parent)
            files[folder] = files.get(folder, 0) + 1
    large = {folder: number for folder, number in files.items() if number > FOLDER_FILES}
    assert large.keys() <= ONE_FILE_EACH, large


def test_no_debt_is_paid_and_still_listed() -> None:
    known = {name_of(path) for path in sources()}
    assert {debt for debt in DEBTS if debt.partition(":")[0] not in known} == set()


def test_no_file_has_a_name_that_says_nothing() -> None:
    vague = [name_of(path) for path in sources() if path.stem.lower() in VAGUE]
    vague += [name_of(path.parent) for path in sources() if path.parent.name.lower() in VAGUE]
    assert vague == []


# What a person sees first, and the only files that belong there.
AT_THE_ROOT = {
    ".dockerignore",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "Containerfile",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "SECURITY.md",
    "THIRD_PARTY.md",
    "dev.py",
    "mkdocs.yml",
    "pyproject.toml",
    "setup.py",
}
# The picture of the README and the bundled sample are the largest files that belong here.
TRACKED_BYTES = 200_000
BUILT = {".whl", ".egg", ".so", ".pyd", ".pyc", ".o", ".a", ".zip", ".tar"}


def test_git_holds_nothing_that_is_built_or_fetched() -> None:
    """A wheel downloaded into the checkout stays in every clone forever once it is committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("asks git what it tracks")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=60
    ).stdout
    tracked = [ROOT / name for name in os.fsdecode(listed).split("\0") if name]
    present = [path for path in tracked if path.is_file()]
    assert len(present) > 500
    assert {path.name for path in present if path.parent == ROOT} <= AT_THE_ROOT
    assert [name_of(path) for path in present if path.suffix in BUILT] == []
    assert [name_of(path) for path in present if path.stat().st_size > TRACKED_BYTES] == []
