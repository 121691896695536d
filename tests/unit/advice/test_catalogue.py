"""The catalogue is complete: texts fit, conditions parse, names exist, nothing is unused."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import stepscope.advice
from stepscope.advice import RULES
from stepscope.advice.catalogue import CauseEntry, causes, effects, entries, texts
from stepscope.advice.conditions import first_failure
from stepscope.advice.signals import PROVIDERS
from stepscope.analysis import TOOLS
from stepscope.pod.report import Pod
from stepscope.tables.recording.evidence import KINDS
from stepscope.verdicts.sentences import chosen

_FOLDER = Path(stepscope.advice.__file__).parent
_PLACEHOLDER = re.compile(r"\{\w+\}")
# What stands for a fact when lengths are checked: "1,250", "62 %", "11.8 ms", a name.
_SAMPLE = "11.8 ms"


_CALLS = {
    "tensorflow": re.compile(r"\btf\.(?!data)|\bkeras\.|\bConfigProto\b"),
    "jax": re.compile(r"\bjax\.|\boptax\."),
    "pytorch": re.compile(r"\btorch\."),
}


@pytest.mark.parametrize("framework", _CALLS)
def test_actions_of_causes_in_any_framework_name_calls_of_the_recorded_one(framework: str) -> None:
    foreign = [pattern for key, pattern in _CALLS.items() if key != framework]
    for cause in causes().values():
        fix = cause.fix or {}
        if len(set(fix) - {"any"}) == 1 and cause.rule != "memory-at-peak":
            continue  # its detector asks for the framework
        actions = [chosen(text, framework) or "" for text in cause.also]
        actions.append(fix.get(framework) or fix.get("any", ""))
        wrong = [text for text in actions for pattern in foreign if pattern.search(text)]
        assert not wrong, cause.id


def test_code_for_tensorflow_serves_loops_without_keras() -> None:
    """Keras has TensorFlow's key: what only it has comes after what every loop has."""
    only_keras = ("model.compile(", "model.fit(", "tf.keras.callbacks.")
    codes = {one.id: (one.fix or {}).get("tensorflow", "") for one in causes().values()}
    found = {id_ for id_, code in codes.items() if code.startswith(only_keras)}
    assert found <= {"part-freeing"}  # of iterators that fit() makes


HINTS = {
    "batch-after-map": ["map_and_batch_fusion"],
    "full-precision-float16": ["Scale inputs to 0–1", "NaN"],
    "pageable-copies": ["force_gpu_compatible"],
    "memory-out": ["report_tensor_allocations_upon_oom=False"],
    "layout-transposes": ["set_image_data_format"],
}


@pytest.mark.parametrize("cause", HINTS)
def test_hints_of_the_guide_are_given(cause: str) -> None:
    entry = causes()[cause]
    told = [(entry.fix or {}).get("tensorflow"), *(chosen(one, "tensorflow") for one in entry.also)]
    assert all(any(hint in (text or "") for text in told) for hint in HINTS[cause])


@pytest.mark.parametrize("cause", causes().values(), ids=causes())
def test_texts_of_a_cause_fit(cause: CauseEntry) -> None:
    title = _PLACEHOLDER.sub(_SAMPLE, cause.title.replace("[", "").replace("]", ""))
    message = _PLACEHOLDER.sub(_SAMPLE, cause.message)
    assert len(title) <= 64, title  # 60 and what a sample is longer than a count
    assert ";" not in cause.title
    assert (
        "vocabular" not in f"{title} {message}"
    )  # shapes do not prove what a dimension stands for
    assert len(message.split()) <= 34, message
    assert len(cause.why.split()) <= 30
    assert cause.fix, "a cause has an action"
    assert set(cause.fix) <= {"tensorflow", "jax", "pytorch", "any"}
    assert all("\n" not in fix for fix in cause.fix.values())


@pytest.mark.parametrize("rule", entries())
def test_evidence_of_a_rule_is_of_known_kinds(rule: str) -> None:
    assert set(entries()[rule].evidence) <= set(KINDS)


@pytest.mark.parametrize("cause", causes().values(), ids=causes())
def test_names_in_a_cause_exist(cause: CauseEntry) -> None:
    assert cause.rule in RULES.ids
    assert cause.severity in ("overhead", "large", "open", "work", "info")
    if cause.when:
        assert cause.facts in (*PROVIDERS, "part")
        first_failure(cause.when, {})
    else:
        assert cause.id == cause.rule or _is_raised(cause.id)


def _is_raised(cause: str) -> bool:
    """Return whether some code names the cause."""
    return any(f'"{cause}"' in path.read_text("utf-8") for path in _FOLDER.rglob("*.py"))


def test_rules_name_tools_effects_and_functions_that_exist() -> None:
    for id_, entry in entries().items():
        assert {*entry.facts.reads} <= {*TOOLS.ids, Pod.tool}, id_
        assert {*entry.facts.symptom_of, *entry.facts.cause_of} <= {*RULES.ids}, id_
        assert not entry.effect or entry.effect in effects(), id_
        if entry.detector:
            module, _, function = entry.detector.partition(":")
            rules = import_module(f"stepscope.advice.rules.{module}")
            assert callable(getattr(rules, function)), id_
        else:
            assert any(cause.when for cause in causes().values() if cause.rule == id_), id_


def test_every_reason_is_used_and_known() -> None:
    called: dict[str, set[str]] = {"silent": set(), "unknown": set()}
    for path in _FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in called and node.args:
                values = [
                    part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)
                ]
                called[node.func.id] |= {value for value in values if isinstance(value, str)}
    for kind, keys in called.items():
        assert keys <= set(texts(kind)), kind
        assert set(texts(kind)) <= keys, kind


def test_conditions_have_comparisons_and_nothing_else() -> None:
    assert first_failure("a >= ACT_FRAC and b == 'map'", {"a": 1.0, "b": "map"}) is None
    assert first_failure("a >= ACT_FRAC", {"a": 0.01}) == ("a", "ACT_FRAC")
    assert first_failure("a >= ACT_FRAC", {}) == ("a", "ACT_FRAC")
    assert first_failure("not (a > 1 or b > 1)", {"a": 0.0, "b": 2.0}) is not None
    assert first_failure("kind in 'map source'", {"kind": "map"}) is None
    with pytest.raises(ValueError, match="cannot have"):
        first_failure("__import__('os')", {})
