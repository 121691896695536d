"""Advice names the calls of the framework that was recorded, and of no other."""

from __future__ import annotations

import re

import pytest

import stepscope
from tests.collection.labels import Recorded, sample

OTHERS = {
    "torch": re.compile(r"\btf\.(?!data)|\bTF_|\bjax\.|\bkeras\.|\boptax\b"),
    "jax": re.compile(r"\btf\.(?!data)|\bTF_|\btorch\.|\bkeras\."),
    "tensorflow": re.compile(r"\btorch\.|\bjax\.|\boptax\b"),
    "keras": re.compile(r"\btorch\.|\bjax\.|\boptax\b"),
}
EACH = 24


def some() -> list[Recorded]:
    """Recordings of every framework, spread over the collection."""
    found: dict[str, list[Recorded]] = {}
    for one in sample():
        found.setdefault(one.label.framework, []).append(one)
    return [one for listed in found.values() for one in listed[:: max(len(listed) // EACH, 1)]]


@pytest.mark.slow
def test_advice_for_a_recorded_program_names_no_other_framework() -> None:
    wrong = []
    for one in some():
        with stepscope.open(one.path) as session:
            framework = session.overview_page().environment.framework
            said = [
                text
                for finding in session.advice().findings
                for text in (*finding.actions, *finding.code.values(), finding.wrong_when)
            ]
        assert not any("[tensorflow" in text or " | " in text for text in said)
        if framework != "Unknown":
            others = OTHERS[one.label.framework.removesuffix("_gpu")]
            wrong += [(one.path.name, text) for text in said if others.search(text)]
    assert wrong == []
