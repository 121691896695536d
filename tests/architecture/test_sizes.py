"""Sizes that help a reader: a concept has one file, and a function is read in one sitting."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lint.small_modules import ENTRY_POINTS, PLUG_INS, small_modules
from tests.architecture.tree import PACKAGE, ROOT

# Two screens; a docstring is not counted. Split where a thought ends, not where this does.
FUNCTION_LINES = 80
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc"}

# Small modules that are not yet part of their only importer, by package: these may only fall.
LEFT = {
    "advice": 1,
    "advice.evidence": 4,
    "advice.parts": 4,
    "tables.parts": 2,
    "tables.traits": 1,
}


def sources() -> list[Path]:
    """Every hand-written source file, Python and TypeScript."""
    folders = ["src", "bench", "build_backend", "examples", "fuzz", "generate", "lint", "tests"]
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


def test_functions_are_short() -> None:
    long = {
        f"{name_of(path)}:{name}": lines
        for path in sources()
        if path.suffix == ".py"
        for name, lines in functions(path)
        if lines > FUNCTION_LINES
    }
    assert long == {}


def package_of(module: str) -> str:
    """The package of a module, down to two levels below the root."""
    return ".".join(module.split(".")[1:-1][:2])


def test_a_small_module_is_part_of_its_importer() -> None:
    """``python lint/small_modules.py`` names them."""
    found = small_modules(PACKAGE)
    counts = Counter(package_of(one.module) for one in found)
    grown = {package: n for package, n in counts.items() if n > LEFT.get(package, 0)}
    assert grown == {}, [one.module for one in found if package_of(one.module) in grown]


def test_every_exemption_names_a_module() -> None:
    for name in (*PLUG_INS, *ENTRY_POINTS):
        path = PACKAGE.parent / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a": "from p.b import f\nf()", "b": "def f(): pass"}, ["p.b"]),
        ({"a": "from p.b import f", "b": "def f(): pass", "c": "from p.b import f"}, []),
        ({"a": "def g():\n    from p.b import f", "b": "def f(): pass"}, []),
        ({"a": "from p.b import f", "b": "x = 0\n" * 60}, []),
        ({"a": "from p.b import f", "b": "x = 0\n\n# A comment.\n" * 59}, ["p.b"]),
        ({"a": "from p.b import f", "b": '"""A\nlong\ntext."""\n' + "x = 0\n" * 59}, ["p.b"]),
        (
            {"a": "from p.q import f", "q/__init__": "from p.q.b import f", "q/b": "f = 0"},
            ["p.q.b"],
        ),
    ],
)
def test_what_is_small_and_imported_once(
    files: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    package = tmp_path / "p"
    for name, text in {"__init__": "", **files}.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    imported = [one.module for one in small_modules(package) if one.importer != "nothing"]
    assert imported == expected


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
