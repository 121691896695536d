"""A timeline as Chrome's JSON trace format, with stats, flows and counters.

Events are written column by column: each part of their text is a column of its own, and the
columns are joined, many events at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.columns.space import I64, KIND_DOUBLE, KIND_INT64, KIND_UINT64
from stepscope.timeline import CATEGORIES, Timeline, Track
from stepscope.timeline.arguments import Arguments, arguments
from stepscope.timeline.threads import Thread, arrows_between, threads

_CHUNK: Final = 1 << 17
_EXACT: Final = 1 << 53  # larger integers lose digits in readers that keep numbers as doubles


def chrome_trace(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """The text of a trace with every event that touches a range, piece by piece.

    Times are in µs from the session's origin, to the picosecond.
    """
    yield b'{"displayTimeUnit":"ns","traceEvents":[\n'
    separator = b""
    for piece in _pieces(timeline, begin_ps, end_ps):
        yield separator + piece
        separator = b",\n"
    yield b"\n]}\n"


def _pieces(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """Events joined by commas, many at a time."""
    names = pl.Series([json.dumps(name) for name in timeline.names], dtype=pl.String)
    found = list(threads(timeline, begin_ps, end_ps))
    yield _joined(_metadata(timeline, found))
    for number, thread in enumerate(found):
        head = f'"pid":{thread.track.section + 1},"tid":{number + 1}'
        for first in range(0, len(thread.event), _CHUNK):
            part = slice(first, first + _CHUNK)
            yield _slices(timeline, thread, part, head, names)
    yield from _arrows(timeline, found)
    for track in timeline.tracks:
        yield from _counters(timeline, track, begin_ps, end_ps)


def _joined(events: list[dict[str, Any]]) -> bytes:
    return ",\n".join(json.dumps(event, allow_nan=False) for event in events).encode()


def _metadata(timeline: Timeline, found: list[Thread]) -> list[dict[str, Any]]:
    """Names and order of processes (sections) and threads (tracks, or lanes that do not nest)."""
    hosts, events = timeline.profile.hosts, []

    def say(kind: str, pid: int, tid: int, **values: Any) -> None:
        events.append({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": values})

    for section in timeline.sections:
        name = f"{hosts[section.host].name} {section.name}" if len(hosts) > 1 else section.name
        say("process_name", section.id + 1, 0, name=name)
        say("process_sort_index", section.id + 1, 0, sort_index=section.id)
    for number, thread in enumerate(found):
        pid, tid, name = thread.track.section + 1, number + 1, thread.track.name
        if thread.lane < 0:
            say("thread_name", pid, tid, name=name)
        else:  # readers put the lanes of a track together again
            say("thread_name", pid, tid, name=f"{name} #{thread.lane + 1}", track=name)
        say("thread_sort_index", thread.track.section + 1, number + 1, sort_index=number)
    return events


def _slices(timeline: Timeline, thread: Thread, part: slice, head: str, names: pl.Series) -> bytes:
    """Slices and instants of a thread, joined."""
    begin, length = thread.begin_ps[part], (thread.end_ps - thread.begin_ps)[part]
    stats = arguments(timeline, thread.track, thread.event[part] - thread.track.first_event)
    columns = _times(begin).with_columns(
        long=length // 10**6,
        more=length % 10**6,
        name=names.gather(thread.name[part]),
        category=pl.Series(CATEGORIES, dtype=pl.String).gather(thread.category[part]),
        args=_args(stats, len(begin)),
    )
    lasting = pl.concat_str(pl.lit('{"ph":"X","dur":'), *_us("long", "more"))
    instant = (pl.col("long") == 0) & (pl.col("more") == 0)
    return _lines(
        columns,
        pl.when(instant).then(pl.lit('{"ph":"i","s":"t"')).otherwise(lasting),
        *_TS,
        pl.lit(f',{head},"name":'),
        "name",
        pl.lit(',"cat":"'),
        "category",
        pl.lit('"'),
        "args",
        pl.lit("}"),
    )


def _args(found: Arguments, events: int) -> pl.Series:
    """The stats of each event as the end of its JSON object; "" where it has none."""
    if not len(found):
        return pl.repeat("", events, dtype=pl.String, eager=True)
    names = pl.Series([json.dumps(name) for name in found.space.stat_metadata.name])
    pairs = pl.DataFrame({"of": found.of}).with_columns(
        pair=pl.concat_str(names.gather(found.name), pl.lit(":"), _values_of(found))
    )
    by_event = pairs.group_by("of", maintain_order=True).agg(pl.col("pair").str.join(","))
    text = pl.concat_str(pl.lit(',"args":{'), "pair", pl.lit("}")).alias("args")
    every = pl.DataFrame({"of": np.arange(events)})
    joined = every.join(by_event.select("of", text), on="of", how="left", maintain_order="left")
    return joined["args"].fill_null("")


def _values_of(found: Arguments) -> pl.Series:
    """The value of each stat as JSON."""
    places, texts = found.texts()
    spelt = pl.Series([json.dumps(text) for text in texts], dtype=pl.String)
    signed, real = found.bits.view(np.int64), found.bits.view(np.float64)
    small = (signed >= -_EXACT) & (signed <= _EXACT)
    where = [found.is_text]
    values = [spelt.gather(places)]
    for kind, numbers, plain in (
        (KIND_INT64, signed, small),
        (KIND_UINT64, found.bits, found.bits <= _EXACT),
        (KIND_DOUBLE, real, np.isfinite(real)),
    ):
        for quote, alike in (("", plain), ('"', ~plain)):
            where.append((found.kind == kind) & alike)
            text = pl.Series(numbers[where[-1]]).cast(pl.String)
            values.append(quote + text + quote)
    order = np.argsort(np.concatenate([np.flatnonzero(rows) for rows in where]))
    return pl.concat([one.rename("value") for one in values]).gather(order)


def _arrows(timeline: Timeline, found: list[Thread]) -> Iterator[bytes]:
    """Flow events at the begin of both ends."""
    event = np.concatenate([one.event for one in found] or [np.empty(0, np.int64)])
    begin = np.concatenate([one.begin_ps for one in found] or [np.empty(0, np.int64)])
    thread = np.repeat(np.arange(len(found)), [len(one.event) for one in found])
    place = pl.Series(
        [f',"pid":{one.track.section + 1},"tid":{i + 1}}}' for i, one in enumerate(found)],
        dtype=pl.String,
    )
    order = np.argsort(event, kind="stable")
    event = event[order]
    arrows, rows = arrows_between(timeline, event)
    for phase, ends in (("s", arrows.source[rows]), ("f", arrows.target[rows])):
        at = order[np.searchsorted(event, ends)]
        head = f'{{"ph":"{phase}","bp":"e","name":"flow","cat":"flow","id":'
        for first in range(0, len(at), _CHUNK):
            part = at[first : first + _CHUNK]
            columns = _times(begin[part]).with_columns(
                id=rows[first : first + _CHUNK] + 1, place=place.gather(thread[part])
            )
            yield _lines(columns, pl.lit(head), "id", *_TS, "place")


def _counters(timeline: Timeline, track: Track, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """Counter events of a range, with the value that held when it began."""
    if track.counter is None:
        return
    time = track.counter.time_ps + timeline.axis.shift_ps[track.host]
    low, high = np.searchsorted(time, [begin_ps, end_ps]).tolist()
    value = track.counter.value[max(low - 1, 0) : high]
    times = np.maximum(time[max(low - 1, 0) : high], begin_ps)[np.isfinite(value)]
    value = value[np.isfinite(value)]
    head = f'{{"ph":"C","pid":{track.section + 1},"tid":0,"name":{json.dumps(track.name)}'
    args = f',"args":{{{json.dumps(track.counter.unit or "value")}:'
    for first in range(0, len(times), _CHUNK):
        part = slice(first, first + _CHUNK)
        columns = _times(times[part]).with_columns(value=value[part])
        yield _lines(columns, pl.lit(head), *_TS, pl.lit(args), "value", pl.lit("}}"))


def _times(times_ps: I64) -> pl.DataFrame:
    """The parts of times that ``_TS`` writes."""
    return pl.DataFrame(
        {
            "whole": np.abs(times_ps) // 10**6,
            "rest": np.abs(times_ps) % 10**6,
            "early": times_ps < 0,
        }
    )


def _us(whole: str, rest: str) -> tuple[pl.Expr, pl.Expr]:
    """µs with their picoseconds after the point, where there are any."""
    digits = pl.col(rest).cast(pl.String).str.zfill(6).str.strip_chars_end("0")
    digits = pl.concat_str(pl.lit("."), digits)
    fraction = pl.when(pl.col(rest) > 0).then(digits).otherwise(pl.lit(""))
    return pl.col(whole).cast(pl.String), fraction


_TS: Final = (
    pl.when("early").then(pl.lit(',"ts":-')).otherwise(pl.lit(',"ts":')),
    *_us("whole", "rest"),
)


def _lines(columns: pl.DataFrame, *parts: pl.Expr | str) -> bytes:
    """The parts of each row joined, and the rows as the elements of a list."""
    return ",\n".join(columns.select(line=pl.concat_str(*parts))["line"].to_list()).encode()
