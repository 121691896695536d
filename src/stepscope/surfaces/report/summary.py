"""What to paste beside a report: nobody previews HTML."""

from __future__ import annotations

from stepscope.session import Session
from stepscope.surfaces.format import clean, saving_text
from stepscope.surfaces.report.report import Report

_FINDINGS = 3


def text_summary(session: Session, report: Report) -> str:
    """A few lines of plain text: the verdict, what to change first, what the file leaves out."""
    overview = session.overview_page()
    lines = [f"Stepscope report: {clean(session.name)}", clean(overview.headline)]
    lines += [
        f"- {clean(finding.message)}"
        + (f" {saving_text(finding)}." if finding.saving_ms is not None else "")
        for finding in session.findings()[:_FINDINGS]
    ]
    size = f"{len(report.html) / 1e6:.1f} MB"
    lines.append(f"Inside: {report.events:,} of {report.all_events:,} events, {size}.")
    return "\n".join([*lines, *report.notes]) + "\n"
