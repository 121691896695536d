"""Answers cost calls in proportion to the planes, tracks, names, devices, ranks and runs.

Calls are counted, not timed, so the law holds on a busy machine, too.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from bench.doubling import ANSWERS, BUILDERS, ask
from stepscope.tables.device.short_names import short_name

# The smallest of three counts that double; as few as show the growth. Steps cost no calls.
_COUNTS: Final = {"planes": 4, "tracks": 64, "names": 64, "devices": 4, "ranks": 4, "runs": 2}
_MAX_GROWTH: Final = 2.2
# What begins at a count, such as statistics of 30 devices.
_MAX_JUMP: Final = 0.02


@pytest.fixture(scope="module", params=_COUNTS)
def grown(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[list[Path]]:
    """Recordings of a structure at three sizes, each twice the last, behind a small one."""
    first = _COUNTS[request.param]
    return [
        BUILDERS[request.param](tmp_path_factory.mktemp(f"{request.param}{count}"), count)
        for count in (2, first, 2 * first, 4 * first)
    ]


def calls(answer: str, paths: list[Path]) -> int:
    """Calls of functions of Python and C while an answer is made."""
    count = 0

    def add(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    short_name.cache_clear()  # those of the smaller recording would cost nothing
    before = sys.getprofile()
    sys.setprofile(add)
    try:
        ask(answer, paths)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_cost_calls_in_proportion(
    answer: str, grown: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", "off")
    ask(answer, grown[0])  # imports
    once, twice, four_times = (calls(answer, paths) for paths in grown[1:])
    allowed = _MAX_GROWTH * (twice - once) + _MAX_JUMP * four_times
    assert four_times - twice <= allowed
