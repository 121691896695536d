"""One quantity is one number: what several tools publish is equal, or its base is named.

Takes every recording that lies beside the repository, in both bases that times can be of.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

import stepscope
from stepscope.errors import StepscopeError
from stepscope.tables.core.profile import TimeBase
from tests.oracle.quantities import SHARED, answers, differing, numbers, recordings, table


@pytest.mark.skipif(not SHARED.exists(), reason="no recordings beside the repository")
@pytest.mark.parametrize("path", recordings(), ids=lambda path: "/".join(path.parts[-2:]))
def test_a_quantity_is_one_number_on_every_page(path: Path) -> None:
    try:
        opened = stepscope.open(path)
    except StepscopeError:
        pytest.skip("no recording")
    with opened:
        for base in get_args(TimeBase):
            session = opened.per(base)
            told = list(numbers(session, answers(session)))
            assert told
            assert differing(told) == [], base


def test_a_difference_under_one_base_is_shown() -> None:
    told = [
        ("step time, ms", "overview_page", 4.47, "steps that count"),
        ("step time, ms", "step_account", 3.96, "steps that count"),
        ("step time, ms", "SQL", 5.0, "the whole recording"),
        ("only here", "SQL", 1.0, "steps that count"),
    ]
    assert [line.split(" | ")[1:3] for line in table(told)] == [
        ["steps that count        ", "DIFFER"],
        ["the whole recording     ", "equal"],
    ]
    assert len(differing(told)) == 1
