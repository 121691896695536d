"""``stepscope advise``: the findings of a run."""

from __future__ import annotations

import dataclasses
import json
import sys

from stepscope.advice import RULES
from stepscope.result import SCHEMA_VERSION, Finding
from stepscope.session import open
from stepscope.surfaces.cli.app import AdviceFormat
from stepscope.surfaces.cli.page import Page, terminal_width
from stepscope.surfaces.cli.progress import Waiting
from stepscope.surfaces.cli.render import findings as findings_section
from stepscope.surfaces.export.tables import markdown_escape
from stepscope.surfaces.format import clean, milliseconds, percent


def print_advice(path: str, *, run: str | None, host: str | None, format: AdviceFormat) -> None:
    """Print what the rules of advice say about a run."""
    with Waiting() as waiting, open(path, run=run, host=host, progress=waiting.update) as session:
        found = session.findings()
        waiting.stop()
        if format is AdviceFormat.json:
            print(
                json.dumps(_json(session.name, session.hosts, found), indent=2, ensure_ascii=False)
            )
        elif format is AdviceFormat.md:
            print(_markdown(session.name, found))
        else:
            page = Page(terminal_width(sys.stdout))
            page.line(("What to change", "bold"), (f"  ·  run {clean(session.name)}", "dim"))
            page.blank()
            findings_section(page, found, len(RULES))
            page.print()


def _json(session: str, hosts: tuple[str, ...], found: tuple[Finding, ...]) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "session": session,
        "hosts": list(hosts),
        "rules_checked": [rule.id for rule in RULES],
        "findings": [dataclasses.asdict(finding) for finding in found],
    }


def _markdown(session: str, found: tuple[Finding, ...]) -> str:
    lines = [f"# What to change in {markdown_escape(session)}", ""]
    if not found:
        lines.append(f"None of the {len(RULES)} rules of advice fired.")
    for finding in found:
        saving = (
            ""
            if finding.saving_ms is None
            else f"saves up to {milliseconds(finding.saving_ms)} a step, "
        )
        lines.append(
            f"- **{finding.severity}** ({saving}confidence {percent(finding.confidence)}): "
            f"{markdown_escape(finding.message)}"
        )
        lines += [f"  - {markdown_escape(action)}" for action in finding.actions]
    return "\n".join(lines)
