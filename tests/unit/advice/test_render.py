"""The texts of findings: savings, evidence, the recorded framework's own fixes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from stepscope.advice.render import complete, proved, reason_of, silent
from stepscope.advice.step_time import StepTime
from stepscope.registry import Silence
from stepscope.result import Column, Finding, Ref, Result, Row, Table

TIME = StepTime(10.0, 10.0, None, is_one=False, is_window=False, is_recording=False)
MAP = Finding(
    "serial-map", "high", 6.0, 0.8, "", cause="serial-map",
    measured={"leaf": "Map", "cores": 2, "input_wait_ms": 8.0, "main_ops": "Cast 90 %"},
)  # fmt: skip


def rendered(finding: Finding, framework: str = "TensorFlow", time: StepTime = TIME) -> Finding:
    results: Any = {
        "overview_page": SimpleNamespace(environment=SimpleNamespace(framework=framework))
    }
    (only,) = complete([finding], results, time)
    return only


@pytest.mark.parametrize(
    ("low", "saving", "high", "text"),
    [
        (1.8, 2.0, 3.6, "saves 1.8–3.6 ms (18–36 %)"),
        (0.4, 0.5, 3.6, "saves 0.4–3.6 ms (4–36 %)"),
        (0.0, 0.5, 3.6, "saves up to 3.6 ms (36 %)"),
        (3.5, 3.5, 3.6, "saves up to 3.6 ms (36 %)"),
        (None, 3.6, None, "saves up to 3.6 ms (36 %)"),
        (2.0, 9.0, 12.0, "saves 2–10 ms (20–100 %)"),
        (0.0, 0.0001, 0.001, "saves nothing measurable"),
    ],
)
def test_saving_is_one_range_with_one_unit(
    low: float | None, saving: float, high: float | None, text: str
) -> None:
    finding = replace(MAP, saving_low_ms=low, saving_ms=saving, saving_high_ms=high)
    assert rendered(finding).saving_text == text


def test_a_range_beyond_the_part_itself_is_printed_by_one_end() -> None:
    wide = replace(MAP, saving_low_ms=0.5, saving_ms=1.0, saving_high_ms=5.8)
    small = replace(wide, measured={**MAP.measured, "part_ms": 0.7})
    assert rendered(small).saving_text == "saves ≥500 µs (5 %)"
    no_change = replace(small, severity="info")
    assert rendered(no_change).saving_text == "could save up to 700 µs (7 %)"
    large = replace(wide, measured={**MAP.measured, "part_ms": 5.8})
    assert rendered(large).saving_text == "saves 0.5–5.8 ms (5–58 %)"


def test_info_promises_nothing_and_memory_frees_bytes() -> None:
    assert rendered(replace(MAP, severity="info")).saving_text.startswith("could save")
    unknown = replace(MAP, saving_ms=None)
    assert rendered(unknown).saving_text == "saving cannot be estimated"
    freed = replace(unknown, measured={**MAP.measured, "saving_bytes": 3 << 20})
    assert rendered(freed).saving_text == "frees 3.0 MiB"


def test_texts_are_the_causes_filled_with_facts() -> None:
    finding = rendered(MAP)
    assert finding.title == "tf.data Map uses 1 of 2 cores"
    assert finding.message == "The step waits 8 ms of 10 ms, mostly for Cast 90 %."
    assert list(finding.code) == ["tensorflow"]
    assert finding.actions[0] == finding.code["tensorflow"]


@pytest.mark.parametrize("code", ["model = torch.compile(model)", ""])
def test_one_change_is_printed_once_and_words_alone_are_none(code: str) -> None:
    fix: dict[str, Any] = {"actions": ("Vectorise it.",), "code": {"pytorch": code} if code else {}}
    first, second = (Finding(name, "high", 8.0, 0.8, "", **fix) for name in ("a", "b"))
    results: Any = {}
    _, told = complete([first, second], results, TIME)
    assert (told.actions == ("Fixed by finding 1.",)) == bool(code)


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


@pytest.mark.parametrize(
    ("what", "rows", "is_kept"),
    [
        ("input_ms", ("b",), True),  # 2 + 4
        ("input_ms", (), False),
        ("input_ms", ("c",), False),  # no such row
        ("step_table.input_ms", ("b",), True),  # each step waits by itself: their mean
        ("step_table.input_ms", (), False),
        ("breakdown_ms.output", (), True),
        ("breakdown_ms.input", (), False),
        ("category", ("b",), True),  # no figure
        ("", (), False),
    ],
)
def test_evidence_shows_a_figure_of_its_finding(
    what: str, rows: tuple[str, ...], is_kept: bool
) -> None:
    cells = {"input_ms": [1.0, 2.0, 4.0], "hbm_frac": [0.1] * 3, "category": ["a", "b", "b"]}
    result = _Steps(breakdown_ms={"input": 1.0, "output": 6.0}, step_table=Table(_Step, cells))
    ref = Ref("steps", what, rows=rows)
    finding = replace(MAP, measured={"waited_ms": 6.0, "each_us": 3000.0}, evidence=(ref,))
    assert proved(finding, {"steps": result}).evidence == ((ref,) if is_kept else ())


@pytest.mark.parametrize(
    ("answer", "of_steps", "of_recording"),
    [
        (
            silent("below", cost_frac=0.5, limit_frac=0.6),
            "It costs 50 % of the step, below 60 %.",
            "It costs 50 % of the recording, below 60 %.",
        ),
        (
            silent("iterators", count=2.0),
            "Iterators created per step: 2.",
            "Iterators created in all: 2.",
        ),
        (Silence("jit(step)/dot ran."), "jit(step)/dot ran.", "jit(step)/dot ran."),
    ],
)
def test_a_reason_names_what_its_shares_are_of(
    answer: Silence, of_steps: str, of_recording: str
) -> None:
    assert reason_of(answer, is_recording=False) == of_steps
    assert reason_of(answer, is_recording=True) == of_recording
