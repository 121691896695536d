"""Advice names the calls of the framework that was recorded, and of no other."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

import stepscope
from generate.advice_docs import advice_page
from stepscope.advice import RULES
from stepscope.advice.wording import in_words_of
from stepscope.result import Finding
from tests.collection.labels import Recorded, sample

FINDING = Finding(
    "some-rule",
    "low",
    1.0,
    0.5,
    "It is slow.",
    actions=(
        "Compile it: [tensorflow: tf.function | jax: jax.jit | pytorch: torch.compile].",
        "[tensorflow: Set TF_GPU_THREAD_MODE.]",
        "Use a larger batch (a[0] of it).",
    ),
    code={"tensorflow": "@tf.function", "jax": "jax.jit(f)"},
)


@pytest.mark.parametrize(
    ("framework", "actions", "code"),
    [
        ("tensorflow", ("Compile it: tf.function.", "Set TF_GPU_THREAD_MODE."), "@tf.function"),
        ("jax", ("Compile it: jax.jit.",), "jax.jit(f)"),
        ("pytorch", ("Compile it: torch.compile.",), ""),
        (
            "",
            ("Compile it: tf.function, jax.jit, torch.compile.", "Set TF_GPU_THREAD_MODE."),
            "@tf.function jax.jit(f)",
        ),
    ],
)
def test_a_choice_is_said_as_the_framework_calls_it(
    framework: str, actions: tuple[str, ...], code: str
) -> None:
    told = in_words_of(framework, FINDING)
    assert told.actions == (*actions, FINDING.actions[-1])
    assert " ".join(told.code.values()) == code


def test_code_that_only_one_framework_has_is_shown_beside_another() -> None:
    """JAX programs read with tf.data."""
    only = replace(FINDING, code={"tensorflow": "dataset.prefetch(1)"})
    assert in_words_of("jax", only).code == only.code


def test_a_rule_names_the_frameworks_own_compiler_where_it_is_wrong() -> None:
    """A PyTorch run was warned of XLA."""
    doubt = next(rule.wrong_when for rule in RULES if rule.id == "no-xla")
    said = {
        name: in_words_of(name, replace(FINDING, wrong_when=doubt)).wrong_when
        for name in ("tensorflow", "jax", "pytorch")
    }
    assert "compiling (torch.compile) takes more time than it saves" in said["pytorch"]
    assert "(XLA)" in said["tensorflow"] and "(XLA)" in said["jax"]
    assert "XLA" not in said["pytorch"]
    page = advice_page(RULES)
    assert "compiling (XLA, torch.compile) takes more time" in page and "[tensorflow: " not in page


def choices() -> list[str]:
    """Every text with a choice in the rules and their evidence."""
    texts = (
        node.value
        for path in Path(stepscope.advice.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return [text for text in texts if "[tensorflow: " in text and "``" not in text]


@pytest.mark.parametrize("framework", ["", "tensorflow", "jax", "pytorch"])
def test_every_choice_of_the_rules_reads_well(framework: str) -> None:
    """No word stands twice, no sentence within another one, no colon before nothing."""
    assert len(choices()) >= 8
    for text in choices():
        said = "".join(in_words_of(framework, replace(FINDING, actions=(text,))).actions)
        assert not any(torn in said for torn in (".,", "..", ": .", "()", "[", " | ")), said
        words = said.rstrip(".").replace(": ", ", ").replace("(", ", ").split(", ")
        assert len(set(words)) == len(words), said


OTHERS = {
    "torch": re.compile(r"\btf\.(?!data)|\bTF_|\bjax\.|\bkeras\.|\boptax\b"),
    "jax": re.compile(r"\btf\.(?!data)|\bTF_|\btorch\.|\bkeras\."),
    "tensorflow": re.compile(r"\btorch\.|\bjax\.|\boptax\b"),
    "keras": re.compile(r"\btorch\.|\bjax\.|\boptax\b"),
}
EACH = 24


def some() -> list[Recorded]:
    """Recordings of every framework, spread over the collection."""
    found: dict[str, list[Recorded]] = {}
    for one in sample():
        found.setdefault(one.label.framework, []).append(one)
    return [one for listed in found.values() for one in listed[:: max(len(listed) // EACH, 1)]]


@pytest.mark.slow
def test_advice_for_a_recorded_program_names_no_other_framework() -> None:
    wrong = []
    for one in some():
        with stepscope.open(one.path) as session:
            framework = session.overview_page().environment.framework
            said = [
                text
                for finding in session.advice().findings
                for text in (*finding.actions, *finding.code.values(), finding.wrong_when)
            ]
        assert not any("[tensorflow" in text or " | " in text for text in said)
        if framework != "Unknown":
            others = OTHERS[one.label.framework.removesuffix("_gpu")]
            wrong += [(one.path.name, text) for text in said if others.search(text)]
    assert wrong == []
