"""The JSON answers of the timeline. Times are integers in ps on the session's axis."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.errors import UsageError
from stepscope.surfaces.http.timeline_query import Query
from stepscope.surfaces.tiles.meta import LABEL_LENGTH, NAMES_PER_PAGE, timeline_meta
from stepscope.timeline import Timeline
from stepscope.timeline.details import Link, details
from stepscope.timeline.flows import flows
from stepscope.timeline.places import EventPlace, place
from stepscope.timeline.ranges import range_totals
from stepscope.timeline.search import InvalidPattern, search

MAX_COLUMNS: Final = 16_384
MAX_LISTED: Final = 1000
MAX_NAMES: Final = 500
_TEXT_LENGTH: Final = 100_000


def meta(line: Timeline, query: Query) -> dict[str, Any]:
    """Sections, tracks, steps and the axis: what a page needs before its first tile."""
    return timeline_meta(line)


def names(line: Timeline, query: Query) -> dict[str, Any]:
    """A page of names, shortened to what a label can show."""
    page = query.number("page", 0)
    first = page * NAMES_PER_PAGE
    if page < 0 or (first >= len(line.names) and page):
        raise UsageError(f"timeline: there is no page {page} of names.", hint="Pages start at 0.")
    listed = line.names[first : first + NAMES_PER_PAGE]
    return {"first": first, "names": [text[:LABEL_LENGTH] for text in listed]}


def event(line: Timeline, query: Query) -> dict[str, Any]:
    """All about one event."""
    wanted = query.number("id")
    try:
        found = details(line, wanted)
    except KeyError:
        raise UsageError(
            f"There is no event {wanted} on the timeline.",
            hint=f"Ids are 0 to {line.events - 1}.",
            slug="no-such-event",
        ) from None
    again = found.occurrences
    return {
        **_place(line, found.place),
        "full_name": found.full_name[:_TEXT_LENGTH],
        "self_ps": found.self_ps,
        "stats": [{"name": name, "value": _value(value)} for name, value in found.stats],
        "parent": None if found.parent is None else _place(line, found.parent),
        "children": {
            "count": len(found.children),
            "first": [
                _place(line, place(line, child)) for child in found.children[:MAX_LISTED].tolist()
            ],
        },
        "into": [_link(line, link) for link in found.into[:MAX_LISTED]],
        "out_of": [_link(line, link) for link in found.out_of[:MAX_LISTED]],
        "occurrences": {
            "count": again.count,
            "total_ps": again.total_ps,
            "quantiles_ps": list(again.quantiles_ps),
            "longer": again.longer,
            "bin_edge_ps": again.bin_edge_ps.tolist(),
            "bin_count": again.bin_count.tolist(),
            "previous": again.previous,
            "next": again.next,
            "longest": again.longest,
        },
    }


def _place(line: Timeline, at: EventPlace) -> dict[str, Any]:
    return {
        "event": at.event,
        "track": at.track,
        "lane": at.lane,
        "begin_ps": at.begin_ps,
        "end_ps": at.end_ps,
        "name": line.names[at.name][:LABEL_LENGTH],
        "name_id": at.name,
        "category": at.category,
    }


def _link(line: Timeline, link: Link) -> dict[str, Any]:
    return {"kind": link.kind, **_place(line, link.other)}


def _value(value: Any) -> Any:
    """A stat's value as JSON: integers beyond 2^53 and bytes as text."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes: {value[:64].hex()}"
    if isinstance(value, int) and abs(value) > 1 << 53:
        return str(value)
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value[:_TEXT_LENGTH] if isinstance(value, str) else value


def flow_arrows(line: Timeline, query: Query) -> dict[str, Any]:
    """Arrows around one event, or all that start in a view (counts only when too many)."""
    arrows = flows(line.profile)
    if query.text("id"):
        rows = arrows.around(query.number("id"), min(max(query.number("depth", 3), 1), 16))
    else:
        rows = _arrows_in(line, query).tolist()
    listed = rows[:MAX_LISTED] if query.text("id") or len(rows) <= MAX_LISTED else []
    found = []
    for row in listed:
        try:
            ends = [place(line, int(side[row])) for side in (arrows.source, arrows.target)]
        except KeyError:
            continue  # one end is on a line that is not drawn
        found.append(
            {
                "kind": int(arrows.kind[row]),
                "from": _place(line, ends[0]),
                "to": _place(line, ends[1]),
            }
        )
    return {"count": len(rows), "arrows": found}


def _arrows_in(line: Timeline, query: Query) -> I64:
    """Rows of the arrows whose source starts in the view, on the wanted tracks."""
    begin, end = query.view(line)
    arrows, chosen = flows(line.profile), query.tracks(line)
    parts = [np.empty(0, np.int64)]
    for track in line.tracks if chosen is None else [line.tracks[i] for i in chosen]:
        if track.counter is not None:
            continue
        low, high = np.searchsorted(
            arrows.source, [track.first_event, track.first_event + len(track.start_ps)]
        ).tolist()
        start = track.start_ps[arrows.source[low:high] - track.first_event]
        start = start + line.axis.shift_ps[track.host]
        parts.append(low + np.flatnonzero((start >= begin) & (start < end)))
    return np.concatenate(parts)


def search_answer(line: Timeline, query: Query) -> dict[str, Any]:
    """How many events match, where they are, and the ones before and after a place."""
    text, mode = query.text("q"), query.choice("mode", ("substring", "regex"))
    if not text:
        raise UsageError("timeline: a search needs q.", hint="Give q=text.")
    try:
        hits = search(
            line,
            text,
            mode="regex" if mode == "regex" else "substring",
            stat=query.text("stat"),
            tracks=query.tracks(line),
            check=query.check,
        )
    except InvalidPattern as error:
        raise UsageError(
            f"timeline: {text!r} is not a valid regular expression.",
            why=str(error),
            hint="Use mode=substring, or escape the special characters.",
        ) from error
    begin, end = query.view(line)
    columns = min(max(query.number("columns", 1024), 1), MAX_COLUMNS)
    at, of = query.number("at_ps", begin), query.number("at_event", -1)
    ends = hits.before(at, max(of, 0)), hits.after(at, of)
    start = query.number("from_ps") if "from_ps" in query.args else None
    first = hits.first(min(max(query.number("limit", 200), 0), MAX_LISTED), start)
    return {
        "count": len(hits),
        "tracks": [{"track": one.track, "count": len(one.event)} for one in hits.tracks],
        "columns": hits.columns(begin, end, columns).tolist(),
        "previous": None if ends[0] is None else _place(line, place(line, ends[0][1])),
        "next": None if ends[1] is None else _place(line, place(line, ends[1][1])),
        "first": [_place(line, place(line, event)) for _begin, event in first],
    }


def range_answer(line: Timeline, query: Query) -> dict[str, Any]:
    """Totals of the view by name and by track, and the delays from launch to kernel."""
    begin, end = query.view(line)
    totals = range_totals(line, begin, end, query.tracks(line), query.check)
    names, limit = totals.names, min(max(query.number("limit", 100), 0), MAX_NAMES)
    return {
        "begin_ps": begin,
        "end_ps": end,
        "events": int(names.count.sum()),
        "distinct_names": len(names),
        "tracks": [
            {
                "track": one.track,
                "events": one.events,
                "busy_ps": one.busy_ps,
                "busy_frac": one.busy_ps / (end - begin),
                "idle_frac": 1 - one.busy_ps / (end - begin),
            }
            for one in totals.tracks
        ],
        "names": [
            {
                "name": line.names[int(names.name[i])][:LABEL_LENGTH],
                "name_id": int(names.name[i]),
                "count": int(names.count[i]),
                "total_ps": int(names.total_ps[i]),
                "self_ps": int(names.self_ps[i]),
                # Rounded as the pages' language does, so that a report says the same.
                "mean_ps": int((2 * names.total_ps[i] + names.count[i]) // (2 * names.count[i])),
                "longest_ps": int(names.longest_ps[i]),
                "longest": int(names.example[i]),
            }
            for i in range(min(len(names), limit))
        ],
        "launches": len(totals.launch_delay_ps),
        "launch_delay_ps": _spread(totals.launch_delay_ps),
        "launch_gap_ps": _spread(totals.launch_gap_ps),
        "counters": [asdict(one) | {"change": one.last - one.first} for one in totals.counters],
    }


def _spread(values: I64) -> dict[str, float] | None:
    """Mean and quantiles; None without values."""
    if not len(values):
        return None
    points = np.quantile(values, [0, 0.5, 0.95, 1]).tolist()
    return {
        "mean": float(values.mean()),
        **dict(zip(("least", "median", "p95", "most"), points, strict=True)),
    }


def density(line: Timeline, query: Query) -> dict[str, Any]:
    """Per section and column: how many of its tracks were busy on average (for the minimap)."""
    begin, end = query.view(line)
    columns = min(max(query.number("columns", 1024), 1), MAX_COLUMNS)
    column_ps = -(-(end - begin) // columns)
    line.build_all()
    found = []
    for section in line.sections:
        busy, count = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
        members = [line.tracks[i] for i in section.tracks if line.tracks[i].counter is None]
        for track in members:
            start = begin - line.axis.shift_ps[track.host]
            more, starts = line.pyramid(track).density(start, column_ps, columns)
            busy, count = busy + more, count + starts
        found.append(
            {
                "section": section.id,
                "tracks": len(members),
                "active": np.round(busy / column_ps, 3).tolist(),
                "starts": count.tolist(),
            }
        )
    return {"begin_ps": begin, "column_ps": column_ps, "columns": columns, "sections": found}
