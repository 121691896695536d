"""What several pages have: the title, what to know before believing numbers, findings."""

from __future__ import annotations

from stepscope.result import Diagnostic, Finding, Result
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.format import clean, saving_text

_SEVERITY = {"high": "bold red", "medium": "yellow", "low": "cyan", "info": "dim"}
_DIAGNOSTIC = {"error": "red", "warning": "yellow", "info": "dim"}


def title_line(page: Page, title: str, result: Result) -> None:
    """The first line: tool, run, hosts."""
    hosts = clean(result.hosts[0]) if len(result.hosts) == 1 else f"{len(result.hosts)} hosts"
    page.line((title, "bold"), (f"  ·  run {clean(result.session)}  ·  {hosts}", "dim"))


def diagnostics(page: Page, found: tuple[Diagnostic, ...]) -> None:
    """What to know before believing the numbers; none twice."""
    said = {(one.message, one.where): one for one in reversed(found)}
    for diagnostic in reversed(said.values()):
        where = f" [{clean(diagnostic.where)}]" if diagnostic.where else ""
        page.text(
            f"{clean(diagnostic.message)}{where}",
            lead="! " if diagnostic.severity != "info" else "· ",
            style=_DIAGNOSTIC[diagnostic.severity],
        )


def findings(
    page: Page, found: tuple[Finding, ...], checked: int, *, in_full: bool = False
) -> None:
    """The advice, most useful first; with none, how many rules were checked.

    Args:
        page: Where to write.
        found: The findings.
        checked: How many rules were run.
        in_full: Also the change as code, and when not to believe it.
    """
    if not found:
        page.text(
            f"None of the {checked} rules of advice fired."
            if checked
            else "No rule of advice applies.",
            indent=2,
        )
    for at, finding in enumerate(found, 1):
        page.text(
            clean(finding.title),
            lead=f"  {at}. ",
            style="bold",
            tail=(f"[{finding.severity}]", _SEVERITY[finding.severity]),
        )
        page.text(f"{saving_text(finding)} · {finding.rule}", indent=5, style="dim")
        page.text(clean(finding.message), indent=5)
        for action in finding.actions:
            page.text(clean(action), indent=5, lead="→ ")
        if in_full:
            _in_full(page, finding, found)
        seen = [": ".join(filter(None, (ref.tool, clean(ref.words)))) for ref in finding.evidence]
        if seen:
            page.text(f"see {' · '.join(seen)}", indent=5, style="dim")


def _in_full(page: Page, finding: Finding, among: tuple[Finding, ...]) -> None:
    for framework, code in finding.code.items():
        for nth, line in enumerate(code.splitlines()):
            label = f"{framework}: " if nth == 0 else " " * (len(framework) + 2)
            page.line(f"       {clean(label)}{clean(line)}")
    if finding.assumption:
        page.text(f"assuming that {clean(finding.assumption)}", indent=5, style="dim")
    if finding.explained_by:
        causes = [
            f"{at}. {clean(one.title)}"
            for at, one in enumerate(among, 1)
            if one.rule in finding.explained_by
        ]
        page.text(f"caused by {', '.join(causes)}", indent=5, style="dim")
    if finding.wrong_when:
        page.text(f"wrong when {_uncapitalised(clean(finding.wrong_when))}", indent=5, style="dim")


def _uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]
