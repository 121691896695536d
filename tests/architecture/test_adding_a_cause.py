"""A new cause is one table of the catalogue and one labelled case; every surface knows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.architecture.test_adding_a_tool import python
from tests.architecture.tree import copy_to
from tests.labelled.synthetic import PROFILES

CAUSE = """
[part-wide-convolution]
rule = "largest-part"
facts = "part"
severity = "work"
effect = "shrunk"
expected = 0.5
worth = 0.5
confidence = 0.7
when = "kind == 'op' and name == 'Conv2D' and not on_device"
title = "{name} on the host: {share} of {whole}"
message = "{time} of {step}."
why = "A host convolves more slowly than a device."
fix.any = "Move the model to a device."

[part-lock-wait]
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one more cause, beside a labelled case."""
    root = copy_to(tmp_path_factory.mktemp("repository"), "src", "generate", "docs", "web/src/api")
    listed = root / "src" / "stepscope" / "advice" / "catalogue" / "step.toml"
    text = listed.read_text("utf-8")
    before = "\n[part-lock-wait]\n"
    assert before in text
    listed.write_text(text.replace(before, CAUSE), "utf-8")
    python(root, "-m", "generate")
    case = next(one for one in PROFILES if one.name == "healthy_cpu")
    (data,) = case.build().values()
    (root / "case.xplane.pb").write_bytes(data)
    return root


def test_advice_names_the_cause_with_its_texts(extended: Path) -> None:
    answer = json.loads(
        python(extended, "-m", "stepscope", "advise", "case.xplane.pb", "--format", "json")
    )
    first = answer["findings"][0]
    assert (first["rule"], first["cause"]) == ("largest-part", "part-wide-convolution")
    assert first["title"].startswith("Conv2D on the host: ")
    assert first["actions"][0] == "Move the model to a device."


def test_explain_and_documents_follow(extended: Path) -> None:
    text = python(extended, "-m", "stepscope", "explain", "finding:1", "case.xplane.pb")
    assert "A host convolves more slowly than a device." in text
    assert "part-wide-convolution" in (extended / "docs" / "advice.md").read_text("utf-8")
