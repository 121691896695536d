"""What "Show me" opens sums to the figure in the sentence, on the recordings of ``advise/``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepscope
from tests.golden.advise import DATA, cases

_RECORDED = {
    name: DATA / case["source"]
    for name, case in cases().items()
    if "source" in case and (DATA / case["source"]).exists()
}


@pytest.mark.parametrize("path", _RECORDED.values(), ids=_RECORDED.keys())
def test_rows_of_a_part_sum_to_its_figure(path: Path) -> None:
    with stepscope.open(path) as session:
        findings = session.advice().findings
        located = [one for one in findings if "part_ms" in one.measured]
        account: Any = session.run("step_account") if located else None
        parts = list(account.part_list()) if located else []
    for finding in located:
        for ref in finding.evidence:
            column, _, kind = ref.what.partition("=")
            if ref.tool == "step_account" and column == "kind" and ref.rows:
                opened = [one for one in parts if one.kind == kind and one.name in ref.rows]
                assert opened, finding.title
                figure = finding.measured["cost_ms"]
                assert sum(one.time_ms for one in opened) == pytest.approx(figure), finding.title
