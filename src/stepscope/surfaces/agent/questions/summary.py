"""The limit of a run, in one answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.surfaces.agent.question import MAX_TOKENS, RECORDING, Question
from stepscope.surfaces.agent.questions.advise import finding_rows
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import WIDE, AgentReply, data

_FINDINGS = 3


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
    session = recordings.session(str(arguments.get("recording") or ""))
    overview = session.overview_page()
    environment, steps = overview.environment, overview.steps
    about = [
        ("verdict", overview.headline),
        ("bound_by", overview.bound_by),
        ("bound_frac", overview.bound_frac),
        ("step_ms", steps.time_ms.mean),
        ("steps", steps.count),
        ("framework", environment.framework),
        ("devices", environment.device_type),
        ("hosts", len(session.hosts)),
    ]
    parts = sorted(overview.breakdown_ms.items(), key=lambda part: -part[1])
    warned = [one for one in overview.diagnostics if one.severity != "info"]
    tables = [
        data("run", ("what", "value"), about, width=WIDE),
        data("findings", *finding_rows(session, session.findings()[:_FINDINGS]), width=WIDE),
        data("step_parts", ("part", "mean_ms"), [part for part in parts if part[1] > 0]),
        data("mistrust", ("case", "message"), [(one.slug, one.message) for one in warned]),
    ]
    said = "Parts sum to the step. Next: advise for all findings, explain HANDLE for one."
    return AgentReply("rows", (said,), tuple(one for one in tables if one.total))


QUESTION = Question(
    "summary",
    "Ask this first: what limits the run, where its average step goes, the top findings, and what "
    "to mistrust.",
    {"recording": RECORDING, "max_tokens": MAX_TOKENS},
    _answer,
)
