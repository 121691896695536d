"""``advise`` says of real recordings what is stored in ``advise/``, and its rows sum to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.session import Session
from tests.golden.advise import DATA, FOLDER, answers, cases, opened


@pytest.mark.parametrize("name", cases())
def test_advice_is_as_stored_and_its_rows_sum_to_it(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    if "source" in case and not (DATA / case["source"]).exists():
        pytest.skip(f"needs ../shared/data/{case['source']}, which is not in a user's clone")
    with opened(case, tmp_path) as session:
        text, body = answers(case, session)
        assert text == (FOLDER / f"{name}.txt").read_text("utf-8")
        assert body == (FOLDER / f"{name}.json").read_text("utf-8")
        assert_rows_sum_to_figures(session)


def assert_rows_sum_to_figures(session: Session) -> None:
    """What "Show me" opens of a part sums to the figure in the sentence."""
    findings = [one for one in session.advice().findings if "part_ms" in one.measured]
    account: Any = session.run("step_account") if findings else None
    parts = list(account.part_list()) if findings else []
    for finding in findings:
        for ref in finding.evidence:
            column, _, kind = ref.what.partition("=")
            if ref.tool == "step_account" and column == "kind" and ref.rows:
                rows = [one for one in parts if one.kind == kind and one.name in ref.rows]
                assert rows, finding.title
                figure = finding.measured["cost_ms"]
                assert sum(one.time_ms for one in rows) == pytest.approx(figure), finding.title
