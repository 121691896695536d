"""Evidence says what it is about as the page that shows it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest

from stepscope.advice.wording import named
from stepscope.result import Column, Finding, Ref, Result, Row, Table


class _Step(Row):
    input_ms: Annotated[float, Column("Input wait", unit="ms", kind="time")]
    hbm_frac: Annotated[float, Column("HBM bandwidth", unit="%", kind="ratio")]
    category: Annotated[str, Column("Category", kind="category")]


@dataclass(frozen=True, kw_only=True)
class _Steps(Result):
    tool = "steps"
    breakdown_ms: dict[str, float]
    step_table: Table[_Step]


_RESULT = _Steps(breakdown_ms={"input": 1.0}, step_table=Table.empty(_Step))


def _words(what: str, tool: str = "steps") -> str:
    finding = Finding("rule", "high", 1.0, 1.0, "message", evidence=(Ref(tool, what),))
    return named(finding, {"steps": _RESULT}).evidence[0].words


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("input_ms", "input wait"),
        ("hbm_frac", "HBM bandwidth"),
        ("step_table.input_ms", "input wait"),
        ("breakdown_ms.input", "input wait"),
        ("breakdown_ms.host_compute", "host compute"),
        ("step_table", "steps"),
        ("category=copy-done", "category “copy-done”"),
        ("", ""),
    ],
)
def test_fields_are_called_as_on_their_page(what: str, words: str) -> None:
    assert _words(what) == words


@pytest.mark.parametrize(
    "what", ["the longest gap", "train_step.py:12", "cuda_launch_kernel", "a=b"]
)
def test_names_of_the_program_stay_as_they_are(what: str) -> None:
    assert _words(what) == what
    assert _words(what, "trace_viewer") == what


def test_a_tool_without_a_result_keeps_the_words_of_the_rule() -> None:
    assert _words("input_ms", "another") == "input_ms"
