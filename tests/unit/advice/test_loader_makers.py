"""Where a DataLoader without workers makes its batches, and what to keep of that."""

from __future__ import annotations

from typing import Any

from stepscope.formats.xspace import decode
from stepscope.result import Finding, Result
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.torch_loops import LONELY
from tests.profiles.torch_loop import torch_loop
from tests.unit.advice.asking import Asked
from tests.unit.advice.made import finding
from tests.unit.advice.test_largest_part import account, part

GETS = part(
    kind="input", name="input", function="Photos.__getitem__", file="/work/data.py", line=31,
    time_ms=4.0, input_frac=1.0,
)  # fmt: skip
LOOP = Asked(Profile("s", (Host("h", decode(torch_loop(LONELY))),)))


def lonely(*parts: dict[str, Any]) -> Finding:
    """What the rule says of a loader without workers, in a step with these parts."""
    results: dict[str, Result] = LOOP.results("overview_page", "input_pipeline_analyzer")
    if parts:
        results["step_account"] = account(*parts)
    return finding("loader-workers", **results)


def test_without_a_line_or_a_good_share_nobody_is() -> None:
    few = {"time_ms": 0.1, "step_frac": 0.01}
    for parts in ((GETS | {"line": None},), (GETS | few,), (GETS | {"input_frac": 0.2},), ()):
        found = lonely(*parts)
        assert "Most of that" not in found.message
        assert found.title == "", "the rule's own"
