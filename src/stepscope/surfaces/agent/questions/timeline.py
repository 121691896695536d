"""The events between two times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepscope.analysis.trace_viewer import range_of
from stepscope.surfaces.agent.handles import handle_text
from stepscope.surfaces.agent.question import MAX_TOKENS, RECORDING, TEXT, Question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import AgentReply, ReplyOutcome, data
from stepscope.timeline import timeline
from stepscope.timeline.ranges import range_totals

_NAMES, _EVENTS = 50, 2000


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
    session = recordings.session(str(arguments.get("recording") or ""))
    line = timeline(session.profile)
    texts = {name: str(arguments.get(name) or "") for name in ("from", "to", "track", "find")}
    view = range_of(line, texts["from"], texts["to"])
    tables = []
    if texts["track"] or texts["find"]:
        found = session.events(
            texts["from"] or None, texts["to"] or None, track=texts["track"], find=texts["find"]
        )
        rows = [
            (
                handle_text(session, "event", row["event"]),
                row["name"],
                row["track"],
                row["start_us"],
                row["duration_us"],
            )
            for row in found.head(_EVENTS).iter_rows(named=True)
        ]
        columns = ("handle", "name", "track", "start_us", "duration_us")
        tables.append(data("events", columns, rows))
    else:
        totals = range_totals(line, *view)
        names = totals.names
        rows = [
            (
                line.names[int(names.name[i])],
                int(names.count[i]),
                names.self_ps[i] / 1e9,
                names.total_ps[i] / 1e9,
                handle_text(session, "event", int(names.example[i])),
            )
            for i in range(min(len(names), _NAMES))
        ]
        tables.append(data("names", ("name", "count", "self_ms", "total_ms", "longest"), rows))
        length = view[1] - view[0]
        busy = sorted(totals.tracks, key=lambda one: -one.busy_ps)
        rows = [
            (
                line.sections[line.tracks[one.track].section].name,
                line.tracks[one.track].name,
                one.events,
                one.busy_ps / 1e9,
                1 - one.busy_ps / length,
            )
            for one in busy
        ]
        tables.append(data("tracks", ("section", "track", "events", "busy_ms", "idle_frac"), rows))
    said = f"Range {view[0] / 1e9:.6g} to {view[1] / 1e9:.6g} ms of the recording."
    outcome: ReplyOutcome = "rows" if any(one.total for one in tables) else "none"
    more = "timeline with a narrower range (from, to)"
    return AgentReply(outcome, (said,), tuple(tables), more=more)


QUESTION = Question(
    "timeline",
    "What ran in a stretch of time: totals by name and busy tracks; with track or find, the single "
    "events by start.",
    {
        "recording": RECORDING,
        "from": {"type": "string", "description": "1.5s, 20ms, 7us; the begin by default."},
        "to": TEXT,
        "track": {"type": "string", "description": "Only tracks with this text."},
        "find": {"type": "string", "description": "Only events whose name has this text."},
        "max_tokens": MAX_TOKENS,
    },
    _answer,
)
