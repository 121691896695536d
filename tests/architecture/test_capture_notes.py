"""Everything a recording can warn of is explained."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.tree import PACKAGE, ROOT

# Calls whose first argument is a slug, and functions that return one first.
MAKERS = {"Note", "_note"}


def slugs() -> Iterator[str]:
    for path in (PACKAGE / "capture").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                first = node.args[0]
                if name in MAKERS and isinstance(first, ast.Constant):
                    yield str(first.value)


def test_every_note_has_its_heading() -> None:
    found = set(slugs())
    assert {"kept-elsewhere", "recorder-failed", "no-events"} <= found
    page = (ROOT / "docs" / "capture.md").read_text("utf-8")
    headings = set(re.findall(r"^### ([\w-]+)$", page, re.MULTILINE))
    assert found - headings == set()
