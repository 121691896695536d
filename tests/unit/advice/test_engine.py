"""The engine of advice: order, what is filled in, and what becomes of every rule."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import advise
from stepscope.advice.catalogue import causes
from stepscope.advice.render import silent
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Severity


def overview(**steps: Any) -> dict[str, Any]:
    """A step of 100 ms: 3 ms are the least that is worth a change."""
    known: dict[str, Any] = {"source": "markers", "recorder_factor": 1.0} | steps
    page = SimpleNamespace(
        steps=SimpleNamespace(time_ms=SimpleNamespace(mean=100.0), **known),
        environment=SimpleNamespace(framework="Unknown"),
    )
    return {"overview_page": page}


STEP = overview()


def rule(
    name: str,
    saving_ms: float | None = None,
    *says: Answer,
    severity: Severity = "medium",
    symptom_of: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
) -> Rule:
    """A rule that says this, or finds a fault of its name."""
    cause = name if name in causes() else ""
    finding = Finding(name, severity, saving_ms, 0.5, f"{name} is wrong", cause=cause)
    doc = "What it checks: x\nWhen it is wrong: on\n  Sundays.\n"
    return Rule(
        name,
        lambda _results: iter(says or (finding,)),
        title=f"title of {name}",
        needs=needs,
        symptom_of=symptom_of,
        doc=doc,
        threshold="x ≥ 1",
    )


def order(*rules: Rule) -> list[str]:
    return [one.rule for one in advise(STEP, rules).findings]


IDLE = rule("idle", 45, symptom_of=("launch", "copy"))
WAIT = rule("input-bound", 50, severity="high", symptom_of=("map",))
MAP = rule("map", 45, severity="high")
OTHER = rule("other", 20, severity="high")
SMALL = (rule("launch", 15), rule("copy", 12))
TIGHT = rule("memory", severity="high")
MIDDLE = rule("middle", 30, symptom_of=("root",))
LOST = "incomplete-profile"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        # By what they save, and by their severity where that is unknown.
        ([TIGHT, rule("a", 9), rule("told", severity="low"), rule("c", 50)], "memory c a told"),
        # What only informs stands below what asks for a change.
        ([rule("told", 90, severity="info"), rule("asked", 5)], "asked told"),
        # A cause stands before a symptom that would save more, and a cause of a cause before it.
        (
            [rule("starving", 50, symptom_of=("map",)), rule("other", 45), rule("map", 40)],
            "map starving other",
        ),
        (
            [rule("top", 40, symptom_of=("middle",)), MIDDLE, rule("root", 10)],
            "root middle top",
        ),
        # 2 ms of a step of 100 ms explain nothing, whatever they are called.
        ([rule("starving", 50, symptom_of=("tiny",)), rule("tiny", 2)], "starving tiny"),
        # Small causes of a large symptom stay behind what saves more than each, else before it.
        ([IDLE, *SMALL, rule("precision", 31)], "idle precision launch copy"),
        ([IDLE, *SMALL, rule("precision", 11)], "launch copy idle precision"),
        # A symptom without a remedy of its own comes after what is as grave.
        (
            [WAIT, MAP, OTHER, rule("small", 5), rule("part", 30, severity="info")],
            "map other input-bound small part",
        ),
        # Without a known cause it is where its size puts it.
        (
            [WAIT, rule("larger", 60, severity="high"), rule("less", 45, severity="high")],
            "larger input-bound less",
        ),
        # One with a remedy of its own stays by its cause.
        (
            [rule("launches", 50, severity="high", symptom_of=("map",)), MAP, OTHER],
            "map launches other",
        ),
        # What a symptom explains stays after it.
        (
            [WAIT, rule("idle", 40, severity="high", symptom_of=("input-bound",)), MAP, OTHER],
            "map input-bound idle other",
        ),
        # Two rules that blame each other are both reported.
        ([rule("a", 9, symptom_of=("b",)), rule("b", 8, symptom_of=("a",))], "b a"),
        # Without the device's events the rest is about half of the program.
        ([rule("eager", 80, severity="high"), rule(LOST, severity="low")], f"{LOST} eager"),
        ([rule("eager", 80, severity="high"), rule(LOST, severity="info")], f"eager {LOST}"),
    ],
)
def test_findings_come_by_one_order(rules: list[Rule], expected: str) -> None:
    assert order(*rules) == expected.split()


def test_a_finding_says_which_causes_explain_it() -> None:
    """Profiles D14: idle 4.5 ms, for two reasons of 1.5 and 1.2, and 3.1 ms of another kind."""
    found = advise(STEP, [IDLE, *SMALL, rule("precision", 31)]).findings
    assert [one.explained_by for one in found] == [("launch", "copy"), (), (), ()]
    # A wait of 5 ms is worth a word, but it is not why launching costs 50.
    found = advise(STEP, [rule("launches", 50, symptom_of=("wait",)), rule("wait", 5)]).findings
    assert [(one.rule, one.explained_by) for one in found] == [("launches", ()), ("wait", ())]


def test_savings_are_of_the_step_while_nothing_records() -> None:
    disturbed = overview(recorder_factor=0.25)
    recorded, undisturbed = (advise(one, [rule("a", 40.0)]) for one in (STEP, disturbed))
    assert (recorded.findings[0].saving_ms, undisturbed.findings[0].saving_ms) == (40.0, 10.0)
    assert recorded.note == "" and "25 ms" in undisturbed.note
    # Shares of the step stay: a recorder that slows all alike changes none.
    assert "(20–40 %)" in recorded.findings[0].saving_text
    assert "(20–40 %)" in undisturbed.findings[0].saving_text


@pytest.mark.parametrize(
    ("cause_ms", "fix", "saving_ms"),
    [(45, "Fixed by finding 1.", 45), (20, "Move what the host does", 50)],
)
def test_what_causes_most_of_idle_time_is_its_remedy(
    cause_ms: float, fix: str, saving_ms: float
) -> None:
    """One wait had two savings and two remedies."""
    idle = rule("idle-device", 50, severity="high", symptom_of=("launch-bound",))
    found = advise(STEP, [idle, rule("launch-bound", cause_ms, severity="high")]).findings
    (told,) = [one for one in found if one.rule == "idle-device"]
    assert told.actions[0].startswith(fix)
    assert told.saving_ms == saving_ms


def test_little_or_what_a_rule_hardly_believes_is_only_information() -> None:
    perhaps = Finding("c", "high", 50, 0.2, "perhaps")
    rules = [rule("a", 2.9, severity="high"), rule("b", 3.1), rule("c", None, perhaps)]
    found = advise(STEP, rules).findings
    assert {one.rule: one.severity for one in found} == {"a": "info", "b": "medium", "c": "info"}


def test_what_a_rule_says_once_is_on_each_of_its_findings() -> None:
    (found,) = advise(STEP, [rule("a", 5)]).findings
    assert (found.title, found.threshold) == ("title of a", "x ≥ 1")
    assert found.wrong_when == "on Sundays."
    assert found.saving_high_ms == 5


def test_every_rule_is_accounted_for() -> None:
    def broken(results: Results) -> Iterator[Answer]:
        yield Finding("d", "high", 50, 1.0, "half an answer")
        raise KeyError("gone")

    def greedy(results: Results) -> Iterator[Answer]:
        yield Silence(f"{results.kernel_stats.kernels}")

    rules = [
        rule("a", 5),
        rule("b", None, Silence("input costs 0.4 % of the step")),
        rule("c", None, Unknown("no allocator events")),
        Rule("d", broken),
        rule("e", needs=("memory_profile",)),
        Rule("f", greedy, needs=("overview_page",)),  # it reads what it does not declare
    ]
    found = STEP | {"kernel_stats": SimpleNamespace(kernels=1)}
    advice = advise(found, rules, {"memory_profile": "no memory events"})
    assert [(one.rule, one.outcome, one.reason) for one in advice.checked] == [
        ("a", "fired", ""),
        ("b", "silent", "input costs 0.4 % of the step"),
        ("c", "unknown", "no allocator events"),
        ("d", "failed", "KeyError: 'gone'"),
        ("e", "unknown", "no memory events"),
        ("f", "failed", "KeyError: 'kernel_stats'"),
    ]
    assert [one.rule for one in advice.findings] == ["a"], "half an answer is none"


@pytest.mark.parametrize(
    ("saving", "severity"),
    [(2.99, "info"), (3.0, "medium"), (14.9, "medium"), (15.0, "high"), (nan, "info")],
)
def test_severity_follows_the_share_of_the_step(saving: float, severity: str) -> None:
    assert severity_of(saving, 100.0) == severity
    assert severity_of(saving, nan) == "info"


@pytest.mark.parametrize(("source", "whole"), [("markers", "step"), ("window", "recording")])
def test_a_recording_without_steps_is_told_as_a_whole(source: str, whole: str) -> None:
    """No rule names a step where there is none."""
    quiet = rule("waits", None, silent("below", cost_frac=0.4, limit_frac=0.5))
    (checked,) = advise(overview(source=source, confidence=0.3), [quiet]).checked
    assert checked.reason == f"It costs 40 % of the {whole}, below 50 %."
