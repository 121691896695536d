"""On played profiles advice names the planted fault first, and leaves healthy runs in peace.

It is also complete and short, and names a saving or none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

import stepscope
from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.result import Advice, Finding, Result
from stepscope.surfaces.cli.pages.parts import printed
from tests.labelled import Labelled
from tests.labelled.synthetic import PROFILES

_MOST_WORDS = 60
_TITLE_LENGTH = 78  # 60 without the names of the program
_SAVING = re.compile(r"(?:saves|could save|frees) .*\d|saves nothing|saving cannot be estimated")


@dataclass(frozen=True)
class Read:
    """A labelled profile, what rules read of it, and what they say."""

    label: Labelled
    advice: Advice
    results: dict[str, Result]
    missing: dict[str, str]


# All tests of a profile come one after the other: it is opened and read once.
@pytest.fixture(scope="module", params=PROFILES, ids=lambda label: label.name)
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """A labelled profile, read from files as a person would."""
    label: Labelled = request.param
    folder = tmp_path_factory.mktemp("labelled")
    run = folder / "plugins" / "profile" / "run"
    run.mkdir(parents=True)
    for host, data in label.build().items():
        (run / f"{host}.xplane.pb").write_bytes(data)
    with stepscope.open(folder) as session:
        return Read(label, session.advice(), *session.read_by(RULES))


def test_the_planted_fault_comes_first_and_healthy_runs_are_left_in_peace(read: Read) -> None:
    label, advice = read.label, read.advice
    assert [rule for rule in advice.checked if rule.outcome == "failed"] == []
    alarms = [found.rule for found in advice.findings if found.severity != "info"]
    if label.expected is None:
        assert alarms == []
    else:
        assert advice.findings[0].rule in (label.expected, *label.also)


def test_finding_is_short_and_complete(read: Read) -> None:
    for finding in read.advice.findings:
        _check(finding)


def test_recording_without_steps_is_judged_as_a_whole(read: Read) -> None:
    advice = advise(_without_steps(read.results), RULES, read.missing)
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


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    faults = [one for one in PROFILES if one.expected is not None]
    assert len(faults) >= 20
    assert len(PROFILES) - len(faults) >= 6
    assert len({one.name for one in PROFILES}) == len(PROFILES)
