"""The stage that a step waits for, what its changes would gain, and what rules say of it."""

from dataclasses import replace
from math import isnan, nan

import pytest

from stepscope.advice.evidence.input_stage import InputStage, input_stage, stage_finding
from stepscope.advice.results import Results
from stepscope.analysis.tf_data_bottleneck_analysis import Bottleneck
from stepscope.registry import Rule, Silence, Unknown
from stepscope.result import Finding
from tests.unit.advice.evidence.starved import SERIAL, results

RULE = Rule("some-rule", lambda _results: iter(()))


def stage_of(bottleneck: Bottleneck, gains: dict[str, float | None]) -> InputStage:
    found = input_stage(Results(results(bottleneck, gains)))
    assert isinstance(found, InputStage)
    return found


def test_a_stage_is_found_with_the_way_to_it() -> None:
    found = stage_of(SERIAL, {})
    assert (found.step_ms, found.wait_ms) == (100.0, 60.0)
    assert found.path == ("Prefetch", "BatchV2", "Map")
    assert found.leaf == "Map"


def test_a_change_gains_at_most_the_whole_wait() -> None:
    found = stage_of(SERIAL, {"cache": 0.2, "offline": 0.9, "threads": None})
    assert found.knobs["cache"] == pytest.approx(20.0)
    assert found.knobs["offline"] == pytest.approx(60.0)
    assert isnan(found.knobs["threads"])


def test_changes_that_do_not_apply_are_left_out() -> None:
    given = results(SERIAL, {"cache": 0.2, "threads": 0.1})
    tool = given["tf_data_bottleneck_analysis"]
    tool.knobs = (replace(tool.knobs[0], applies=False), tool.knobs[1])
    found = input_stage(Results(given))
    assert isinstance(found, InputStage)
    assert list(found.knobs) == ["threads"]


def test_a_twentieth_of_the_step_is_the_least_that_is_spoken_of() -> None:
    few = input_stage(Results(results(SERIAL, {}, wait_ms=4.9)))
    assert isinstance(few, Silence)
    assert "4.9%" in few.reason
    assert isinstance(input_stage(Results(results(SERIAL, {}, wait_ms=5.0))), InputStage)


def test_without_steps_or_a_stage_nothing_is_known() -> None:
    assert isinstance(input_stage(Results(results(SERIAL, {}, step_ms=nan))), Unknown)
    assert isinstance(input_stage(Results(results(None, {}))), Unknown)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"elements": 16, "element_us": 200.0, "overhead_frac": 0.9}, True),
        ({"elements": 15, "element_us": 200.0, "overhead_frac": 0.9}, False),
        ({"elements": 16, "element_us": 201.0, "overhead_frac": 0.9}, False),
        # Nothing is known of the ops: five times as long may still be overhead.
        ({"elements": 16, "element_us": 1000.0, "overhead_frac": None}, True),
        ({"elements": 16, "element_us": 1001.0, "overhead_frac": None}, False),
        ({"elements": 16, "element_us": 200.0, "overhead_frac": 0.9, "kind": "source"}, False),
    ],
)
def test_cheap_calls_are_many_and_short(changes: dict[str, object], expected: bool) -> None:
    stage = replace(SERIAL, **changes)  # type: ignore[arg-type]  # fields of the cases above
    assert stage_of(stage, {}).makes_cheap_calls is expected


def test_a_finding_says_what_the_step_takes_after_the_change() -> None:
    (found,) = stage_finding(
        RULE,
        stage_of(SERIAL, {}),
        45.0,
        "The map runs on one thread.",
        confidence=0.8,
        actions=("Use threads.",),
        code="dataset.map(...)",
        measured={"cores": 4},
    )
    assert isinstance(found, Finding)
    assert (found.rule, found.severity) == ("some-rule", "high")
    assert (found.saving_ms, found.saving_high_ms) == (45.0, 60.0)
    assert found.measured["step_after_ms"] == 55.0
    assert found.measured["cores"] == 4
    assert found.evidence[0].rows == (SERIAL.long_name,)
    assert found.code == {"tensorflow": "dataset.map(...)"}


@pytest.mark.parametrize("saving_ms", [0.0, nan])
def test_what_saves_nothing_is_no_finding(saving_ms: float) -> None:
    said = stage_finding(
        RULE, stage_of(SERIAL, {}), saving_ms, "", confidence=0.8, actions=(), code=""
    )
    assert [type(one) for one in said] == [Silence]
