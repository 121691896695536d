"""Tools, rules and stages have tests of their own, where a reader looks for them."""

from __future__ import annotations

import pytest

from stepscope.advice import RULES
from stepscope.analysis import TOOLS
from tests.architecture.tree import PACKAGE, ROOT

UNIT = ROOT / "tests" / "unit"
STAGES = sorted(
    path.name
    for path in PACKAGE.iterdir()
    if path.is_dir() and any(file.stem != "__init__" for file in path.rglob("*.py"))
)


@pytest.mark.parametrize("tool", [tool.id for tool in TOOLS])
def test_a_tool_has_its_test_file(tool: str) -> None:
    assert (UNIT / "analysis" / f"test_{tool}.py").is_file(), "write this file"


def test_a_rule_is_named_by_the_tests_of_rules() -> None:
    text = "\n".join(path.read_text("utf-8") for path in (UNIT / "advice").glob("test_*.py"))
    unnamed = [rule.id for rule in RULES if rule.id not in text]
    assert not unnamed, f"no tests/unit/advice/test_*.py names {unnamed}"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_its_folder_of_tests(stage: str) -> None:
    # The schema is constants: what they mean is proved by every test of columns and tables.
    assert stage == "schema" or list((UNIT / stage).rglob("test_*.py"))
