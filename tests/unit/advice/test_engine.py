"""The engine of advice: order, what is filled in, and what becomes of every rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import advise
from stepscope.advice.catalogue import causes
from stepscope.advice.render import silent
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Severity

# A step of 100 ms: 3 ms are the least that is worth a change.
STEP: dict[str, Any] = {
    "overview_page": SimpleNamespace(
        steps=SimpleNamespace(
            time_ms=SimpleNamespace(mean=100.0), source="markers", recorder_factor=1.0
        ),
        environment=SimpleNamespace(framework="Unknown"),
    )
}


def rule(
    name: str,
    saving_ms: float | None = None,
    *,
    severity: Severity = "medium",
    symptom_of: tuple[str, ...] = (),
    check: Callable[[Results], Iterator[Answer]] | None = None,
    needs: tuple[str, ...] = (),
) -> Rule:
    def fires(results: Results) -> Iterator[Answer]:
        cause = name if name in causes() else ""
        yield Finding(name, severity, saving_ms, 0.5, f"{name} is wrong", cause=cause)

    doc = "What it checks: x\nWhen it is wrong: on\n  Sundays.\n"
    return Rule(
        name,
        check or fires,
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
    overview = STEP["overview_page"]
    steps = SimpleNamespace(**{**vars(overview.steps), "recorder_factor": 0.25})
    disturbed: dict[str, Any] = {
        "overview_page": SimpleNamespace(**{**vars(overview), "steps": steps})
    }
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


def test_what_a_rule_hardly_believes_is_no_alarm() -> None:
    def unsure(results: Results) -> Iterator[Answer]:
        yield Finding("a", "high", 50, 0.2, "perhaps")

    assert advise(STEP, [rule("a", check=unsure)]).findings[0].severity == "info"


def test_a_saving_below_three_per_cent_is_only_information() -> None:
    found = advise(STEP, [rule("a", 2.9, severity="high"), rule("b", 3.1)]).findings
    assert {one.rule: one.severity for one in found} == {"a": "info", "b": "medium"}


def test_what_a_rule_says_once_is_on_each_of_its_findings() -> None:
    (found,) = advise(STEP, [rule("a", 5)]).findings
    assert (found.title, found.threshold) == ("title of a", "x ≥ 1")
    assert found.wrong_when == "on Sundays."
    assert found.saving_high_ms == 5


def test_every_rule_is_accounted_for() -> None:
    def silent(results: Results) -> Iterator[Answer]:
        yield Silence("input costs 0.4 % of the step")

    def unsure(results: Results) -> Iterator[Answer]:
        yield Unknown("no allocator events")

    def broken(results: Results) -> Iterator[Answer]:
        yield Finding("d", "high", 50, 1.0, "half an answer")
        raise KeyError("gone")

    rules = [
        rule("a", 5),
        rule("b", check=silent),
        rule("c", check=unsure),
        rule("d", check=broken),
        rule("e", needs=("memory_profile",)),
    ]
    advice = advise(STEP, rules, {"memory_profile": "no memory events"})
    assert [(one.rule, one.outcome, one.reason) for one in advice.checked] == [
        ("a", "fired", ""),
        ("b", "silent", "input costs 0.4 % of the step"),
        ("c", "unknown", "no allocator events"),
        ("d", "failed", "KeyError: 'gone'"),
        ("e", "unknown", "no memory events"),
    ]
    assert [one.rule for one in advice.findings] == ["a"], "half an answer is none"


@pytest.mark.parametrize(
    ("saving", "severity"),
    [(2.99, "info"), (3.0, "medium"), (14.9, "medium"), (15.0, "high"), (float("nan"), "info")],
)
def test_severity_follows_the_share_of_the_step(saving: float, severity: str) -> None:
    assert severity_of(saving, 100.0) == severity


def test_without_steps_no_saving_is_large() -> None:
    assert severity_of(5.0, float("nan")) == "info"


def test_a_recording_without_steps_is_told_as_a_whole() -> None:
    """No rule names a step where there is none."""
    page: Any = SimpleNamespace(
        steps=SimpleNamespace(
            time_ms=SimpleNamespace(mean=100.0),
            source="window",
            confidence=0.3,
            recorder_factor=1.0,
        ),
        environment=SimpleNamespace(framework="Unknown"),
    )

    def quiet(_results: Results) -> Iterator[Answer]:
        yield silent("below", cost_frac=0.4, limit_frac=0.5)

    (checked,) = advise({"overview_page": page}, [rule("waits", check=quiet)]).checked
    assert checked.reason == "It costs 40 % of the recording, below 50 %."
    (checked,) = advise(STEP, [rule("waits", check=quiet)]).checked
    assert checked.reason == "It costs 40 % of the step, below 50 %."


def test_a_rule_reads_only_what_it_declares() -> None:
    def greedy(results: Results) -> Iterator[Answer]:
        yield Silence(f"{results.kernel_stats.kernels}")

    found = STEP | {"kernel_stats": SimpleNamespace(kernels=1)}
    (checked,) = advise(found, [Rule("greedy", greedy, needs=("overview_page",))]).checked
    assert (checked.outcome, checked.reason) == ("failed", "KeyError: 'kernel_stats'")
