"""What advice says of the labelled profiles: what is saved, and nothing of steps without any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.result import Advice, Result
from tests.labelled.confusion import asked, profile_of
from tests.labelled.synthetic import PROFILES

_ALL = [one.name for one in PROFILES]
# One step that was measured, which "step 3" and "train.py:45 step" are not. That there is none is
# true, on the other hand.
_OF_A_STEP = re.compile(r"(?i)\b(?:the|each|per|every|its|(?<!about )a) (?:[\d.]+ ms )?step\b")
_OF_NONE = ("No step was ", "Neither a step ", "Not every step ")
# In what to do, a step is still the program's, but no number is of one.
_NUMBER_OF_A_STEP = re.compile(r"\d ms (?:\w+ ){0,2}step\b|step \w+ \w+ [\d.]+ ms")


@pytest.fixture(scope="module")
def read() -> dict[str, tuple[dict[str, Result], dict[str, str]]]:
    return {one.name: asked(profile_of(one)) for one in PROFILES}


@pytest.mark.parametrize("name", _ALL)
def test_every_finding_says_what_it_saves_or_why_that_is_unknown(
    name: str, read: dict[str, tuple[dict[str, Result], dict[str, str]]]
) -> None:
    results, missing = read[name]
    for one in advise(results, RULES, missing).findings:
        if one.saving_ms is None:
            assert one.no_saving, one.rule
            assert one.saving_text == f"Saving unknown: {one.no_saving}"
        else:
            assert re.match(
                r"(Saves|Could save|If it can go:) .*\d (µs|ms|s) per step \(", one.saving_text
            )
            # "low" is what has no share of the step.
            assert one.severity != "low", one.rule


@pytest.mark.parametrize("name", _ALL)
def test_where_there_are_no_steps_no_rule_speaks_of_one(
    name: str, read: dict[str, tuple[dict[str, Result], dict[str, str]]]
) -> None:
    """Each profile as if nothing marked its steps: all rules, whether they find anything or not."""
    results, missing = read[name]
    advice = advise(_without_steps(results), RULES, missing)
    assert {one.rule for one in advice.checked} == set(RULES.ids)
    assert [said for said in _sentences(advice) if _OF_A_STEP.search(said)] == []
    actions = [action for one in advice.findings for action in one.actions]
    assert [said for said in actions if _NUMBER_OF_A_STEP.search(said)] == []
    assert all(one.saving_per == "recording" for one in advice.findings)


def _without_steps(results: dict[str, Result]) -> dict[str, Result]:
    optional, found = Results(results).optional, dict(results)
    overview, account = optional.overview_page, optional.step_account
    if overview is not None:
        found["overview_page"] = replace(overview, steps=replace(overview.steps, source="window"))
    if account is not None:
        found["step_account"] = replace(account, is_window=True)
    return found


def _sentences(advice: Advice) -> Iterator[str]:
    for one in advice.findings:
        yield from (one.title, one.message, one.assumption, one.no_saving, one.saving_text)
    for checked in advice.checked:
        if not checked.reason.startswith(_OF_NONE):
            yield checked.reason
