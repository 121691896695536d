"""Details of one finding, step, op, kernel or event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepscope.errors import UsageError
from stepscope.result import Table
from stepscope.session import Session
from stepscope.surfaces.agent.handles import Handle, handle_text, parse_handle
from stepscope.surfaces.agent.question import MAX_TOKENS, RECORDING, Question
from stepscope.surfaces.agent.questions.evidence import digest, evidence
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import WHOLE, AgentReply, Data, data
from stepscope.tables.steps.attribution import PARTS
from stepscope.timeline import CATEGORIES, timeline
from stepscope.timeline.details import details

_LISTED = 20
#: In place of a handle: all findings as one text.
ALL = "all"
_DIGEST_WORDS = 650
_PAIR = ("what", "value")


def _answer(recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
    session = recordings.session(str(arguments.get("recording") or ""))
    if arguments["handle"] == ALL:
        return AgentReply("rows", (), tuple(digest(session, session.advice(), _DIGEST_WORDS)))
    handle = parse_handle(session, str(arguments["handle"]))
    if handle.kind == "finding":
        found = _finding(session, handle, recordings.source)
    else:
        found = _EXPLAINED[handle.kind](session, handle)
    return AgentReply("rows", (), tuple(one for one in found if one.total))


def _finding(session: Session, handle: Handle, source: str) -> list[Data]:
    advice = session.advice()
    one = _nth(advice.findings, handle)
    facts = [
        ("title", one.title),
        ("rule", one.rule),
        ("cause", one.cause if one.cause != one.rule else ""),
        ("severity", one.severity),
        ("message", one.message),
        ("why", one.why),
        ("saving", one.saving_text),
        ("saving_ms_per_step", one.saving_ms),
        ("assumption", one.assumption),
        ("likelihood", one.likelihood),
        ("place", str(one.place or "")),
        ("called_from", one.place.caller if one.place else ""),
        ("threshold", one.threshold),
        ("wrong_when", one.wrong_when),
        ("explained_by", ", ".join(one.explained_by)),
    ]
    code = [(name, line) for name, text in one.code.items() for line in text.splitlines()]
    # Code is the first action, once.
    actions = [(action,) for action in one.actions if action not in one.code.values()]
    shown = [(ref.tool, ref.what, ", ".join(ref.rows)) for ref in one.evidence]
    return [
        data("finding", _PAIR, [fact for fact in facts if fact[1] not in ("", None)], width=WHOLE),
        data("code", ("framework", "line"), code, width=WHOLE),
        data("actions", ("do",), actions, width=WHOLE),
        *evidence(session, advice, one, source),
        data("evidence", ("tool", "what", "rows"), shown),
    ]


def _step(session: Session, handle: Handle) -> list[Data]:
    frame = session.steps
    rows = [row for row in frame.iter_rows(named=True) if row["step_num"] == handle.number]
    if not rows:
        numbers = sorted(set(frame["step_num"].to_list()))
        raise UsageError(which_there_are("step", numbers))
    facts = []
    for row in rows:
        counted = frame.filter(frame["kept"] & (frame["host"] == row["host"]))
        # Steps that were cut are not in the pages' means, and another host has its own.
        for name in ("step_time_ms", *(f"{part}_ms" for part in PARTS)):
            this, mean = row[name], counted[name].mean()
            if this or mean:
                facts.append((row["host"], name, this, mean))
    marks = [(row["host"], row["name"], row["start_ms"], row["kept"]) for row in rows]
    return [
        data("step", ("host", "part", "this_step", "mean"), facts),
        data("mark", ("host", "name", "start_ms", "kept"), marks),
    ]


def _row(session: Session, handle: Handle, table: Table[Any], name: str) -> list[Data]:
    rows = list(table.rows())
    return [data(name, _PAIR, list(_nth(rows, handle).items()))]


def _op(session: Session, handle: Handle) -> list[Data]:
    return _row(session, handle, session.framework_op_stats().ops, "op")


def _kernel(session: Session, handle: Handle) -> list[Data]:
    return _row(session, handle, session.kernel_stats().kernels, "kernel")


def _event(session: Session, handle: Handle) -> list[Data]:
    line = timeline(session.profile)
    try:
        found = details(line, handle.number)
    except KeyError:
        raise UsageError(
            "There is no such event on the timeline.", hint=f"Ids are 0 to {line.events - 1}."
        ) from None
    place, again = found.place, found.occurrences
    track = line.tracks[place.track]
    facts = [
        ("name", found.full_name),
        ("category", CATEGORIES[place.category]),
        ("section", line.sections[track.section].name),
        ("track", track.name),
        ("start_ms", place.begin_ps / 1e9),
        ("duration_ms", place.duration_ps / 1e9),
        ("self_ms", found.self_ps / 1e9),
        ("others_of_its_name", again.count),
        ("their_median_ms", again.quantiles_ps[2] / 1e9),
        ("their_longest", handle_text(session, "event", again.longest)),
        ("parent", handle_text(session, "event", found.parent.event) if found.parent else ""),
        ("children", len(found.children)),
    ]
    links = [
        (
            way,
            link.kind,
            handle_text(session, "event", link.other.event),
            line.names[link.other.name],
        )
        for way, many in (("into", found.into), ("out_of", found.out_of))
        for link in many[:_LISTED]
    ]
    return [
        data("event", _PAIR, facts),
        data("links", ("way", "kind", "handle", "name"), links),
        data("arguments", _PAIR, found.stats),
    ]


def _nth(items: Any, handle: Handle) -> Any:
    if not 1 <= handle.number <= len(items):
        raise UsageError(which_there_are(handle.kind, range(1, len(items) + 1)))
    return items[handle.number - 1]


def which_there_are(kind: str, numbers: Sequence[int]) -> str:
    """How many things of a kind there are, with the handles of the first and the last.

    Args:
        kind: Such as "finding".
        numbers: Those of their handles, in order.
    """
    if not numbers:
        return f"There are no {kind}s."
    if len(numbers) == 1:
        return f"There is one {kind}: {kind}:{numbers[0]}."
    return f"There are {len(numbers):,} {kind}s: {kind}:{numbers[0]} to {kind}:{numbers[-1]}."


_EXPLAINED = {"step": _step, "op": _op, "kernel": _kernel, "event": _event}

QUESTION = Question(
    "explain",
    "All that is known of one finding, step, op, kernel or event, by its handle: finding:2, "
    "step:868, op:12, kernel:7, event:104233; `all` for every finding as one text.",
    {"recording": RECORDING, "handle": {"type": "string"}, "max_tokens": MAX_TOKENS},
    _answer,
    required=("handle",),
)
