"""One word, one thing: a public class or alias has a name of its own."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.architecture.tree import PACKAGE, modules

# Each is one idea in several places, and its name is prescribed (docs/decisions/0002).
SHARED = {
    "Callback": "what each trainer calls the class that users hand to it",
    "Options": "one per tool, never imported by another",
    "Profile": "what the field calls the recorder and the recorded",
    "ProfileOptions": "the protobuf message: its field numbers, and its decoded form",
}


def names(source: str) -> Iterator[str]:
    """The classes of a module, and its aliases of literals."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal["):
            yield from (ast.unparse(target) for target in node.targets)


def defined_twice(sources: dict[str, str]) -> dict[str, list[str]]:
    """Names that several modules define, and where; rows of tables belong to their tool."""
    homes: dict[str, list[str]] = defaultdict(list)
    for home, source in sources.items():
        for name in names(source):
            if not name.startswith("_") and not name.endswith("Row"):
                homes[name].append(home)
    return {name: found for name, found in homes.items() if len(found) > 1}


def test_every_public_name_means_one_thing() -> None:
    twice = defined_twice(
        {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in modules()}
    )
    assert {name: twice[name] for name in sorted(twice.keys() - SHARED)} == {}
    assert sorted(SHARED.keys() - twice) == [], "no longer shared: take it off the list"


@pytest.mark.parametrize("again", ["class Plane: ...", "Plane = Literal['host', 'device']"])
def test_a_second_meaning_is_noticed(again: str) -> None:
    assert defined_twice({"a.py": "class Plane: ...", "b.py": again}) == {"Plane": ["a.py", "b.py"]}
