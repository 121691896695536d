"""Whether a recording keeps its limits, as the gate in CI judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.session.compare import check
from stepscope.surfaces.agent.question import MAX_TOKENS, RECORDING, Question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import Reply, data

_COLUMNS = ("metric", "status", "limit", "baseline", "measured", "change_frac", "message")


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> Reply:
    name = str(arguments.get("recording") or "")
    baseline = str(arguments.get("baseline") or "")
    given = dict(arguments.get("limits") or {"step_time": "+5%"})
    found = check(
        recordings.session(name),
        {str(metric): str(limit) for metric, limit in given.items()},
        baseline=recordings.session(baseline) if baseline else None,
    )
    rows = [tuple(row[column] for column in _COLUMNS) for row in found.limits.rows()]
    grew = list(found.guilty.rows())
    columns = tuple(grew[0]) if grew else ("name",)
    return Reply(
        "unknown" if found.status == "unknown" else "rows",
        (f"status: {found.status}",),
        (
            data("limits", _COLUMNS, rows),
            data("grew_most", columns, [tuple(row.values()) for row in grew]),
        ),
        recording=recordings.entry(name).handle,
        files_used=found.files_used,
    )


QUESTION = Question(
    "check",
    'Whether a recording keeps limits such as {"step_time": "+5%", "idle": "10%"}; limits '
    "with a sign are on the change from a baseline.",
    {
        "recording": RECORDING,
        "baseline": {"type": "string"},
        "limits": {"type": "object"},
        "max_tokens": MAX_TOKENS,
    },
    _answer,
)
