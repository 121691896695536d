"""The document of advice: every rule with its four sections, from the rules themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepscope.pod.report import Pod
from stepscope.registry import Rule
from stepscope.verdicts.sentences import chosen

_SECTIONS = ("What it checks:", "Why it matters:", "What to do:", "When it is wrong:")


def advice_page(rules: Sequence[Rule]) -> str:
    """The generated part of ``docs/advice.md``."""
    lines = ["## The rules", "", f"{len(rules)} rules are built in:", ""]
    lines += [f"- [{rule.title or rule.id}](#{rule.id})" for rule in rules]
    causes_of = {
        rule.id: (*rule.symptom_of, *(one.id for one in rules if rule.id in one.cause_of))
        for rule in rules
    }
    for rule in rules:
        lines += ["", f"### {rule.id}", "", _summary(rule), ""]
        if rule.threshold:
            lines += [f"Threshold: {rule.threshold}.", ""]
        lines += [f"- **{name}** {text}" for name, text in _sections(rule)]
        reads = ", ".join(_linked(result) for result in rule.reads)
        lines += ["", f"Reads {reads}."]
        if causes_of[rule.id]:
            causes = ", ".join(f"[{cause}](#{cause})" for cause in causes_of[rule.id])
            lines += [f"Listed after its causes: {causes}."]
    return "\n".join(lines)


def _linked(result: str) -> str:
    return "[pod](pods.md)" if result == Pod.tool else f"[{result}](tools/{result}.md)"


def _summary(rule: Rule) -> str:
    return " ".join(rule.doc.partition("\n\n")[0].split())


def _sections(rule: Rule) -> list[tuple[str, str]]:
    """``[("What it checks:", text) …]`` of a rule's docstring."""
    parts = re.split("(" + "|".join(map(re.escape, _SECTIONS)) + ")", rule.doc)
    return [
        (name, chosen(" ".join(text.split()), ""))
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    ]
