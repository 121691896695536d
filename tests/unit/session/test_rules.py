"""Rules of other packages, by entry point."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence
from stepscope.session import rules


def _quiet(results: Results) -> Iterator[Answer]:
    yield Silence("all is well")


THEIRS = Rule("their-rule", _quiet)
TAKEN = Rule(RULES[0].id, _quiet)
NO_RULE = "a text"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """What the rules say where a package is installed that adds four."""
    names = ("THEIRS", "TAKEN", "NO_RULE", "MISSING")
    package = tmp_path / "their_rules-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: their-rules\nVersion: 1.0\n")
    points = "".join(f"{name.lower()} = {__name__}:{name}\n" for name in names)
    (package / "entry_points.txt").write_text(f"[{rules.GROUP}]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.attr])
    rules.added_rules.cache_clear()
    rules.all_rules.cache_clear()
    checked = advise({}, rules.all_rules()).checked
    yield {one.rule: f"{one.outcome}: {one.reason}" for one in checked}
    rules.added_rules.cache_clear()
    rules.all_rules.cache_clear()


def test_a_rule_of_another_package_is_run_after_our_own(found: dict[str, str]) -> None:
    assert found["their-rule"] == "silent: all is well"
    assert list(found)[: len(RULES)] == [rule.id for rule in RULES]


def test_an_entry_point_that_is_no_rule_is_reported_as_such(found: dict[str, str]) -> None:
    assert "it is a str and no stepscope.registry.Rule" in found["entry-point:no_rule"]
    assert found["entry-point:no_rule"].startswith("failed")
    assert "MISSING" in found["entry-point:missing"]


def test_an_id_that_is_taken_is_not_replaced(found: dict[str, str]) -> None:
    assert "taken" in found["entry-point:taken"]
