"""The difference between two recordings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.session.compare import compare
from stepscope.surfaces.agent.question import MAX_TOKENS, Question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import AgentReply, data

_PARTS = ("kind", "name", "delta_ms")


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
    names = [str(arguments[side]) for side in ("before", "after")]
    before, after = (recordings.session(name) for name in names)
    found = compare(before, after)
    is_noise = {"slower": "no", "faster": "no", "equal": "yes"}.get(found.outcome, "unknown")
    interval = found.interval_ms
    facts = [
        ("verdict", found.headline),
        ("delta_ms", found.delta_ms),
        ("delta_frac", found.delta_frac),
        ("interval_99_ms", " to ".join(f"{one:.6g}" for one in interval) if interval else None),
        ("outcome", found.outcome),
        ("only_noise", is_noise),
    ]
    parts = [
        tuple(row[name] for name in _PARTS)
        for row in sorted(found.parts.rows(), key=lambda row: -abs(row["delta_ms"] or 0))
    ]
    differs = [
        (row["property"], row["baseline"], row["candidate"])
        for row in found.parity.rows()
        if row["status"] == "differs"
    ]
    return AgentReply(
        "rows",
        ("Negative is faster. Parts sum to delta_ms.",),
        (
            data("change", ("what", "value"), facts),
            data("parts", _PARTS, parts),
            data("runs_differ_in", ("property", "before", "after"), differs),
        ),
        recording=f"{recordings.entry(names[0]).handle} to {recordings.entry(names[1]).handle}",
        files_used=found.files_used,
    )


QUESTION = Question(
    "compare",
    "What changed from one recording to another: the step, in parts that sum to the change, and "
    "whether it is more than noise.",
    {"before": {"type": "string"}, "after": {"type": "string"}, "max_tokens": MAX_TOKENS},
    _answer,
    required=("before", "after"),
)
