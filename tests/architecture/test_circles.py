"""No two modules of the package import each other, by whatever detour or at whatever time."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set

from tests.architecture.imports import arrows, imported
from tests.architecture.tree import PACKAGE


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
    assert circle_in(arrows(PACKAGE)) == []


def test_a_circle_is_noticed() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str]()}
    assert circle_in(graph) == ["b", "c"]


def test_imports_inside_functions_count() -> None:
    code = "def f():\n    from stepscope.session import open\n"
    assert list(imported(ast.parse(code))) == ["stepscope.session.open"]
    hidden = "if TYPE_CHECKING:\n    import stepscope.session\nelse:\n    import stepscope.store\n"
    assert list(imported(ast.parse(hidden))) == ["stepscope.store"]
