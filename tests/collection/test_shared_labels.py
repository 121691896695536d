"""The profiles of strangers beside the project, against what was judged by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope
from tests.collection.score import text_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    pytest.skip("tomllib came with Python 3.11", allow_module_level=True)

LABELS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "shared_labels.toml").read_text("utf-8")
)["profile"]


def complaint(label: dict[str, Any], path: Path) -> str:
    """What is wrong with the first finding or the steps; "" when nothing is."""
    with stepscope.open(path) as session:
        page: Any = session.run("overview_page")
        findings = session.advice().findings
    alarms = [one for one in findings if one.severity != "info"]
    if label.get("quiet") and alarms:
        return f"{alarms[0].rule} is above info: {alarms[0].message}"
    if not findings:
        return "" if label.get("quiet") else "there is no finding"
    first = findings[0]
    if first.rule in label["never"]:
        return f"{first.rule} comes first: {first.message}"
    if not label.get("quiet") and first.rule not in label["accept"]:
        return f"{first.rule} is none of {label['accept']}: {first.message}"
    if label["words"] and not any(word in text_of(first) for word in label["words"]):
        return f"the place is not named: {first.message}"
    steps = page.steps
    if steps.confidence >= 0.8 and steps.count not in label["steps"]:
        return f"{steps.count} steps, not {label['steps']}"
    return ""


@pytest.mark.parametrize("label", LABELS, ids=[one["file"] for one in LABELS])
def test_the_first_finding_is_what_an_engineer_says(
    label: dict[str, Any], real_profiles: Path
) -> None:
    wrong = complaint(label, real_profiles / label["file"])
    if wrong and "open" in label:
        pytest.xfail(f"{label['open']}: {wrong}")
    assert wrong == ""


def test_every_profile_is_judged(real_profiles: Path) -> None:
    there = {
        path.relative_to(real_profiles).as_posix()
        for path in real_profiles.rglob("*.xplane.pb*")
        if "malformed" not in path.parts
    }
    assert there == {label["file"] for label in LABELS}
