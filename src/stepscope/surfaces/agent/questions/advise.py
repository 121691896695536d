"""Recommended changes with evidence, and the silent rules with their reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepscope.result import Finding
from stepscope.session import Session
from stepscope.surfaces.agent.handles import handle_text
from stepscope.surfaces.agent.question import CURSOR, MAX_TOKENS, RECORDING, Question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import WIDE, AgentReply, data

_COLUMNS = (
    "handle",
    "rule",
    "saving_ms_per_step",
    "likelihood",
    "message",
    "place",
    "first_action",
)


def finding_rows(
    session: Session, findings: Sequence[Finding]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows of some findings, the most useful first."""
    rows = [
        (
            handle_text(session, "finding", number),
            one.rule,
            one.saving_ms,
            one.likelihood,
            one.message,
            str(one.place or ""),
            one.actions[0] if one.actions else "",
        )
        for number, one in enumerate(findings, start=1)
    ]
    return _COLUMNS, rows


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
    session = recordings.session(str(arguments.get("recording") or ""))
    advice = session.advice()
    columns, rows = finding_rows(session, advice.findings)
    others = [(one.rule, one.outcome, one.reason) for one in advice.checked if one.reason]
    others.sort(key=lambda row: row[1] != "unknown")
    found = data("findings", columns, rows, first=int(arguments.get("cursor") or 0), width=WIDE)
    tables = (found, data("other_rules", ("rule", "outcome", "reason"), others))
    said = "Savings of several findings do not add up. explain HANDLE gives one in full, with code."
    more = "advise with cursor={cursor}, or a larger max_tokens"
    return AgentReply("rows" if rows else "none", (said,), tables, more=more)


QUESTION = Question(
    "advise",
    "All findings: what to change, what it saves a step, where in the code; and for every other "
    "rule whether the problem is absent or cannot be known from this recording.",
    {"recording": RECORDING, "cursor": CURSOR, "max_tokens": MAX_TOKENS},
    _answer,
)
