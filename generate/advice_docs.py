"""The document of advice: every rule with its causes, from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepscope.advice.catalogue import CauseEntry, causes
from stepscope.pod.report import Pod
from stepscope.registry import Rule

_FRAMEWORKS = {"tensorflow": "TensorFlow", "jax": "JAX", "pytorch": "PyTorch", "any": "any"}


def advice_page(rules: Sequence[Rule]) -> str:
    """Return the generated part of ``docs/advice.md``."""
    lines = ["## The rules", "", f"{len(rules)} rules are built in:", ""]
    lines += [f"- [{rule.title or rule.id}](#{rule.id})" for rule in rules]
    causes_of = {
        rule.id: (*rule.symptom_of, *(one.id for one in rules if rule.id in one.cause_of))
        for rule in rules
    }
    for rule in rules:
        lines += ["", f"### {rule.id}", ""]
        reads = ", ".join(_linked(result) for result in rule.reads)
        lines.append(f"{rule.title}. Fires when {rule.threshold}. Reads {reads}.")
        if causes_of[rule.id]:
            listed = ", ".join(f"[{cause}](#{cause})" for cause in causes_of[rule.id])
            lines.append(f"Listed after its causes: {listed}.")
        for cause in causes().values():
            if cause.rule == rule.id:
                lines += ["", *_cause(cause, is_only=cause.id == rule.id)]
    return "\n".join(lines)


def _cause(cause: CauseEntry, *, is_only: bool) -> Iterator[str]:
    yield f"{'' if is_only else f'`{cause.id}`: '}{cause.why}"
    if cause.wrong:
        yield f"Wrong when: {cause.wrong}"
    yield ""
    for framework, fix in (cause.fix or {}).items():
        text = fix if framework == "any" else f"`{fix}`"
        yield f"- {_FRAMEWORKS[framework]}: {text}" if framework != "any" else f"- {text}"


def _linked(result: str) -> str:
    return "[pod](pods.md)" if result == Pod.tool else f"[{result}](tools/{result}.md)"
