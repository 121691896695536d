"""Advice about the labelled profiles is complete and short, and names a saving or none."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.result import Finding, Result
from stepscope.surfaces.cli.pages.parts import printed
from tests.labelled.confusion import asked, profile_of
from tests.labelled.synthetic import PROFILES

_ALL = [one.name for one in PROFILES]
_MOST_WORDS = 60
_TITLE_LENGTH = 78  # 60 without the names of the program
_SAVING = re.compile(r"(?:saves|could save|frees) .*\d|saves nothing|saving cannot be estimated")


@pytest.fixture(scope="module")
def read() -> dict[str, tuple[dict[str, Result], dict[str, str]]]:
    return {one.name: asked(profile_of(one)) for one in PROFILES}


@pytest.mark.parametrize("name", _ALL)
def test_finding_is_short_and_complete(
    name: str, read: dict[str, tuple[dict[str, Result], dict[str, str]]]
) -> None:
    results, missing = read[name]
    for finding in advise(results, RULES, missing).findings:
        _check(finding)


@pytest.mark.parametrize("name", _ALL)
def test_recording_without_steps_is_judged_as_a_whole(
    name: str, read: dict[str, tuple[dict[str, Result], dict[str, str]]]
) -> None:
    results, missing = read[name]
    advice = advise(_without_steps(results), RULES, missing)
    assert {one.rule for one in advice.checked} == set(RULES.ids)
    for finding in advice.findings:
        _check(finding)
        assert finding.saving_per == "recording"
        assert " per step" not in finding.title


def _check(finding: Finding) -> None:
    texts = printed(finding)
    assert len(" ".join(texts).split()) <= _MOST_WORDS, texts
    assert 0 < len(finding.title) <= _TITLE_LENGTH, finding.title
    assert finding.message and finding.actions, finding.rule
    assert _SAVING.match(finding.saving_text), finding.saving_text
    # A fact that is missing would leave its name, or a gap.
    for text in (*texts, finding.why, *finding.actions):
        assert not re.search(r"\{[a-z_]+\}|\bnan\b", text), text
    for text in (finding.title, finding.message, finding.why):
        assert not re.search(r"^[:,;]|: of| \.|\(\)|  ", text), text


def _without_steps(results: dict[str, Result]) -> dict[str, Result]:
    optional, found = Results(results).optional, dict(results)
    overview, account = optional.overview_page, optional.step_account
    if overview is not None:
        found["overview_page"] = replace(overview, steps=replace(overview.steps, source="window"))
    if account is not None:
        found["step_account"] = replace(account, is_window=True)
    return found
