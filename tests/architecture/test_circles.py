"""No two modules of the package import each other, by whatever detour or at whatever time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from tests.architecture.tree import PACKAGE, modules

# ``stepscope.open`` and the like import their homes when first used, which is what the package's
# own file is for.
LAZY = {"stepscope"}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(node: ast.AST) -> Iterator[str]:
    """What a piece of code imports, in functions as well; what is for types alone is left out."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for child in node.orelse:
            yield from imported(child)
        return
    if isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield f"{node.module}.{alias.name}"
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def arrows() -> dict[str, set[str]]:
    """Module → the modules of ours that it imports."""
    known = {name_of(path): path for path in modules()}
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        targets = set()
        for text in imported(ast.parse(path.read_text("utf-8"))):
            home = text if text in known else text.rpartition(".")[0]
            if home in known and home != name and home not in LAZY:
                targets.add(home)
        found[name] = set() if name in LAZY else targets
    return found


def circle_in(graph: Mapping[str, Set[str]]) -> list[str]:
    """The modules that can be reached from themselves: empty where imports go one way."""
    left = {name: set(targets) & set(graph) for name, targets in graph.items()}
    while ends := [name for name, targets in left.items() if not targets & set(left)]:
        for name in ends:
            del left[name]
    # Those that only lead to a circle are not part of it.
    while True:
        reached = {target for targets in left.values() for target in targets}
        starts = [name for name in left if name not in reached]
        if not starts:
            return sorted(left)
        for name in starts:
            del left[name]


def test_imports_go_one_way() -> None:
    assert circle_in(arrows()) == []


def test_a_circle_is_noticed() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert circle_in(graph) == ["b", "c"]


def test_imports_inside_functions_count() -> None:
    code = "def f():\n    from stepscope.session import open\n"
    assert list(imported(ast.parse(code))) == ["stepscope.session.open"]
    hidden = "if TYPE_CHECKING:\n    import stepscope.session\nelse:\n    import stepscope.store\n"
    assert list(imported(ast.parse(hidden))) == ["stepscope.store"]
