"""On played profiles advice names the planted fault first, and leaves healthy runs in peace."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from stepscope.result import Advice
from tests.labelled import Labelled
from tests.labelled.synthetic import PROFILES


def advice_on(one: Labelled, folder: Path) -> Advice:
    """What the installed rules say about a labelled profile, read from files as a person would."""
    run = folder / "plugins" / "profile" / one.name
    run.mkdir(parents=True)
    for host, data in one.build().items():
        (run / f"{host}.xplane.pb").write_bytes(data)
    with stepscope.open(folder) as session:
        return session.advice()


@pytest.mark.parametrize("one", PROFILES, ids=lambda one: one.name)
def test_the_planted_fault_comes_first_and_healthy_runs_are_left_in_peace(
    one: Labelled, tmp_path: Path
) -> None:
    advice = advice_on(one, tmp_path)
    assert [rule for rule in advice.checked if rule.outcome == "failed"] == []
    alarms = [found.rule for found in advice.findings if found.severity != "info"]
    if one.expected is None:
        assert alarms == []
    else:
        assert advice.findings[0].rule in (one.expected, *one.also)


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    faults = [one for one in PROFILES if one.expected is not None]
    assert len(faults) >= 20
    assert len(PROFILES) - len(faults) >= 6
    assert len({one.name for one in PROFILES}) == len(PROFILES)
