"""Which module imports which, read from the sources without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from lint.small_modules import statements_in


def module_name(path: Path, package: Path) -> str:
    """The dotted name of a file of ``package``."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(node: ast.AST) -> Iterator[str]:
    """Yield what a piece of code imports, in functions as well, but not for types only."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for statement in node.orelse:
            yield from imported(statement)
        return
    if isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield f"{node.module}.{alias.name}"
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    for child in statements_in(node):
        yield from imported(child)


def arrows(package: Path) -> dict[str, set[str]]:
    """Module → the modules of the package that it imports; the package's own file is left out.

    ``stepscope.open`` and the like import their homes when first used: that is what the package's
    own file is for, so its arrows lead everywhere.
    """
    known = {module_name(path, package): path for path in sorted(package.rglob("*.py"))}
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        if name == package.name:
            continue
        targets = set()
        for text in imported(ast.parse(path.read_text("utf-8"))):
            home = text if text in known else text.rpartition(".")[0]
            if home in known and home not in (name, package.name):
                targets.add(home)
        found[name] = targets
    return found
