"""A list of the recordings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from stepscope.surfaces.agent.question import MAX_TOKENS, Question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import AgentReply, data


def _answer(recordings: Recordings, _: Mapping[str, Any]) -> AgentReply:
    rows = []
    for entry in recordings.entries:
        run = entry.run
        when = datetime.fromtimestamp(run.recorded, tz=timezone.utc).strftime("%Y-%m-%d %H:%M")
        is_open = recordings.redaction is None
        rows.append(
            (
                entry.handle,
                run.id if is_open else "-",
                when if is_open else "-",
                len(run.hosts),
                run.size_bytes,
            )
        )
    columns = ("recording", "run", "recorded_utc", "hosts", "size_bytes")
    said = () if recordings.redaction is None else (recordings.redaction.said,)
    return AgentReply("rows" if rows else "none", said, (data("recordings", columns, rows),))


QUESTION = Question(
    "recordings",
    "Which recordings there are, newest first, with the handles that other questions take.",
    {"max_tokens": MAX_TOKENS},
    _answer,
)
