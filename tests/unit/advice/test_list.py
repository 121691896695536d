"""The list of rules: what it knows without importing them, and what a rule gets to read."""

from __future__ import annotations

import subprocess
import sys
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


def test_checked_rule_has_the_subject_of_its_file() -> None:
    checked = advise(ask(GOOD).results("overview_page"), RULES, {}).checked
    assert {one.subject for one in checked} == set(RULES.subjects.values())
    assert all(one.subject == RULES.subjects[one.rule] for one in checked)


def test_lists_of_rules_import_no_detector() -> None:
    program = """
import sys
from stepscope.advice import RULES
print(*RULES.ids)
print(*(name for name in sys.modules if name.startswith("stepscope.advice.rules.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    ids, modules = (line.split() for line in [*done.stdout.splitlines(), ""][:2])
    assert ids == list(RULES.ids)
    assert modules == []


def test_a_rule_reads_only_what_it_declares() -> None:
    def greedy(results: Results) -> Iterator[Answer]:
        yield Silence(f"{results.kernel_stats.kernels}")

    found = ask(GOOD).results("overview_page", "kernel_stats")
    (checked,) = advise(found, [Rule("greedy", greedy, needs=("overview_page",))]).checked
    assert (checked.outcome, checked.reason) == ("failed", "KeyError: 'kernel_stats'")


def test_results_that_are_missing_are_none_where_they_are_optional() -> None:
    results = Results(ask(GOOD).results("overview_page"))
    assert results.optional.overview_page is results.overview_page
    assert results.optional.pod_viewer is None
