"""``python lint/small_modules.py``: modules that belong into the one module that imports them.

A module with one importer and fewer than 60 lines of code makes a reader open two files for one
thought. Blank lines, comments and docstrings are no lines of code, and a package that only hands a
name on is no importer: those who import the name from it are.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[1]
MIN_LINES: Final = 60
#: Packages whose modules are found by a registry, each with what a module there is.
PLUG_INS: Final = {
    "stepscope.advice.rules": "a rule of advice, in RULES",
    "stepscope.analysis": "a tool, in TOOLS",
    "stepscope.capture.hooks": "a callback for one trainer, which imports its framework",
    "stepscope.capture.recorders": "a recorder, in the list of stepscope.capture.control",
    "stepscope.capture.telemetry": "a source of counters, imported where its library is there",
    "stepscope.doctor": "a check of the machine, in CHECKS",
    "stepscope.engine": "a way to run the work of a pod, by name",
    "stepscope.sql.tables": "a table for SQL, in TABLES",
    "stepscope.surfaces.agent.questions": "a question of agents, in QUESTIONS",
    "stepscope.surfaces.cli.commands": "a command, in COMMANDS",
}
#: Modules that something outside of the package's imports starts.
ENTRY_POINTS: Final = {
    "stepscope.__main__": "python -m stepscope",
    "stepscope.capture.launch.site.sitecustomize": "the interpreter of a recorded program",
    "stepscope.capture.rpc.server.api": "stepscope.server, by the package's __getattr__",
    "stepscope.sql.closed_process": "the process that answers queries of strangers",
}
#: The fields of a syntax node that hold statements.
_BLOCKS: Final = ("body", "handlers", "cases", "orelse", "finalbody")
_NOT_CODE: Final = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


@dataclass(frozen=True)
class Import:
    """An import of a module's, resolved to the module that defines what it takes.

    Attributes:
        module: The dotted name.
        name: What is taken from it; "" for the module itself.
        lazy: Whether it is done when a function runs.
        typing: Whether it is for type checkers only.
    """

    module: str
    name: str
    lazy: bool
    typing: bool


@dataclass(frozen=True)
class SmallModule:
    """A module that should be part of its importer."""

    module: str
    lines: int
    importer: str


@dataclass
class Module:
    """The syntax of one file."""

    path: Path
    text: str = field(init=False)
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.path.read_text("utf-8")
        self.tree = ast.parse(self.text)

    @property
    def is_package(self) -> bool:
        """Whether it is the file of a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def used_names(self) -> set[str]:
        """The names that its code reads."""
        return {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}

    @cached_property
    def imports(self) -> list[Import]:
        """Everything it imports, as written."""
        return list(_imports(self.tree, lazy=False, typing=False))

    def code_lines(self) -> int:
        """Lines with code: no blanks, comments and docstrings."""
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in _NOT_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
        return len(lines)


def _imports(node: ast.AST, *, lazy: bool, typing: bool) -> Iterator[Import]:
    """Yield the imports of a statement, in order; expressions, which have none, are not walked."""
    if isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield Import(node.module, alias.name, lazy, typing)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, "", lazy, typing)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        typing = True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        lazy = True
    for child in statements_in(node):
        yield from _imports(child, lazy=lazy, typing=typing)


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements directly inside another one, its handlers and cases among them."""
    for name in _BLOCKS:
        yield from getattr(node, name, ())


def read_package(package: Path) -> dict[str, Module]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = Module(path)
    return found


def _home(modules: Mapping[str, Module], module: str, name: str) -> str:
    """The module that defines a name which may have been handed on; "" for other packages."""
    if name and f"{module}.{name}" in modules:
        return f"{module}.{name}"
    if module not in modules:
        return ""
    if modules[module].is_package:
        for one in modules[module].imports:
            if one.name == name and not one.typing and one.module != module:
                return _home(modules, one.module, name)
    return module


def importers(modules: Mapping[str, Module]) -> dict[str, dict[str, bool]]:
    """Module → who imports it, each with whether it does so only when a function runs."""
    found: dict[str, dict[str, bool]] = {name: {} for name in modules}
    for name, module in modules.items():
        for one in module.imports:
            home = _home(modules, one.module, one.name)
            if home in ("", name):
                continue
            if module.is_package and one.name and one.name not in module.used_names:
                continue  # handed on
            found[home][name] = found[home].get(name, True) and (one.lazy or one.typing)
    return found


def small_modules(package: Path) -> list[SmallModule]:
    """The modules that should be part of their importer."""
    modules = read_package(package)
    found = []
    for name, by in importers(modules).items():
        module = modules[name]
        is_exempt = (
            module.is_package
            or name in ENTRY_POINTS
            or name.rpartition(".")[0] in PLUG_INS
            or any(name.startswith(f"{registry}.") for registry in PLUG_INS)
        )
        is_lazy = bool(by) and all(by.values())
        if len(by) <= 1 and not is_exempt and not is_lazy:
            lines = module.code_lines()
            if lines < MIN_LINES:
                found.append(SmallModule(name, lines, next(iter(by), "nothing")))
    return found


def main() -> int:
    """Print each small module with its importer; returns 1 where there are some."""
    found = small_modules(ROOT / "src" / "stepscope")
    for one in found:
        print(f"{one.module}: {one.lines} lines of code, imported by {one.importer}")
    print(f"{len(found)} modules belong into their importer")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
