"""The list of rules: what it knows without importing them, and what a rule gets to read."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.analysis import TOOLS
from stepscope.registry import Answer, Rule, Silence
from tests.labelled.synthetic import GOOD
from tests.unit.advice.asking import ask


def test_rules_name_tools_and_rules_that_exist() -> None:
    for facts in RULES.facts:
        assert {*facts.reads} <= {*TOOLS.ids, "pod"}, facts.id
        assert {*facts.symptom_of, *facts.cause_of} <= {*RULES.ids}, facts.id


def test_a_rule_reads_only_what_it_declares() -> None:
    def greedy(results: Results) -> Iterator[Answer]:
        yield Silence(f"{results.kernel_stats.kernels}")

    found = ask(GOOD).results("overview_page", "kernel_stats")
    (checked,) = advise(found, [Rule("greedy", greedy, needs=("overview_page",))]).checked
    assert (checked.outcome, checked.reason) == ("failed", "KeyError: 'kernel_stats'")
