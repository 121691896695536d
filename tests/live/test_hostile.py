"""Parts of the campaigns of ``fuzz.structure`` and ``bench.kills``, counted by files and kills."""

from __future__ import annotations

import pytest

pytest.importorskip("fuzz.structure", reason="clears the peak of memory as Linux does")

from bench import kills
from fuzz.structure import campaign

_FILES = 1_400
#: The same files on every machine; which they are changes with the builders.
_SEED, _FIRST = 1, 100_000


def test_no_structure_costs_more_than_its_bytes_explain() -> None:
    counted = campaign(_SEED, _FIRST, _FIRST + _FILES, asks=50)
    assert counted["files"] == _FILES
    assert counted["faults"] == 0
    opened = sum(
        count
        for outcomes in counted["outcomes"].values()
        for outcome, count in outcomes.items()
        if outcome == "opened"
    )
    assert opened > _FILES // 2


def test_nothing_is_lost_by_kills_and_refused_writes() -> None:
    outcomes, faults = kills.campaign(20, _SEED)
    assert faults == []
    assert sum(outcomes.values()) == 24
