"""Which of a part's lines it is placed at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepscope.tables.parts.grouping import Part
from stepscope.tables.parts.sites import located
from tests.unit.tables.parts.test_layers import owner


def test_a_loop_is_at_the_line_with_most_of_its_time_and_not_of_its_largest_op() -> None:
    """``split`` hands over many small ops at line 33, and ``stack`` one at line 35."""
    ops = [owner("stack", 35, 3), owner("split", 33, 2), owner("unstack", 33, 2)]
    loop = Part("eager", "fresh_keys", tuple(ops), np.asarray([7]))
    assert located(loop, is_launched=False).line == 33
    assert located(replace(loop, kind="python"), is_launched=False).line == 35
