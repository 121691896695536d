"""Requests and batches of a model server, from the events its runtime leaves on host threads.

A request is the outermost run event on its thread (reference §8.9). A batching server puts the
inputs of several requests into a queue; another thread runs them together. The scheduler marks
both ends with the same context id, which is how a request finds the batch that answered it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stepscope.columns import StatColumn, nest, stats_by_name, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.planes import LineKind, PlaneKind, lines_of
from stepscope.tables.core.presence import any_event, entries_called
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work

NONE = -1
_STATS = (
    names.MODEL_ID,
    names.BATCH_SIZE_AFTER_PADDING,
    names.PADDING_AMOUNT,
    names.BATCHING_INPUT_TASK_SIZE,
    names.PRODUCER_TYPE,
    names.PRODUCER_ID,
    names.CONSUMER_TYPE,
    names.CONSUMER_ID,
)


@dataclass(frozen=True, eq=False, slots=True)
class DeviceTime:
    """How long the devices of the host worked while each span lasted (ps), by kind of work.

    Spans at the same time share this time: it is not a sum over spans.
    """

    compute_ps: I64
    to_device_ps: I64
    from_device_ps: I64
    any_ps: I64


@dataclass(frozen=True, eq=False, slots=True)
class Requests:
    """Requests of a host in order of their start.

    Attributes:
        start_ps, duration_ps: From the call to its answer.
        model: Name of the model, "" when the server does not say.
        size: Examples in it; ``NONE`` when not said.
        batch: Index into ``Batches``, ``NONE`` when it was run alone.
        queued_ps: From entering the queue to the begin of its batch; ``NONE`` without one.
        device: What the devices did meanwhile.
    """

    start_ps: I64
    duration_ps: I64
    model: list[str]
    size: I64
    batch: I64
    queued_ps: I64
    device: DeviceTime

    def __len__(self) -> int:
        return len(self.start_ps)


@dataclass(frozen=True, eq=False, slots=True)
class Batches:
    """Batches of a host in order of their start.

    Attributes:
        start_ps, duration_ps: While it was processed.
        model: As its requests.
        requests: Requests in it.
        size: Examples in it without padding; ``NONE`` when not said.
        padded_size: Examples the model ran; ``NONE`` when not said.
        waited_ps: From its first request entering the queue to its begin; ``NONE`` if not linked.
        device: What the devices did meanwhile.
    """

    start_ps: I64
    duration_ps: I64
    model: list[str]
    requests: I64
    size: I64
    padded_size: I64
    waited_ps: I64
    device: DeviceTime

    def __len__(self) -> int:
        return len(self.start_ps)


@dataclass(frozen=True, slots=True)
class Serving:
    """What a model server did."""

    requests: Requests
    batches: Batches


@derived
def serving(host: Host) -> Serving | None:
    """The requests and batches of a host; None when no server event was recorded."""
    if not has_serving(host):
        return None
    events = _Events(host)
    owner = events.owners()
    request_rows = events.in_time(np.flatnonzero(events.is_request & (owner == NONE)))
    batch_rows = events.in_time(np.flatnonzero(events.is_batch & (owner == NONE)))
    linked = events.links(owner, request_rows, batch_rows)
    model = events.models(owner)
    # A batch that does not say its model has that of a request in it.
    for request, batch in zip(linked.request.tolist(), linked.batch.tolist(), strict=True):
        named = model.get(int(request_rows[request]))
        if named:
            model.setdefault(int(batch_rows[batch]), named)
    return Serving(
        _requests(events, request_rows, batch_rows, linked, model, owner),
        _batches(events, batch_rows, linked, model, owner),
    )


def has_serving(host: Host) -> bool:
    """Whether a server's event was recorded."""
    entries = entries_called(host, (*names.REQUEST_EVENTS, *names.BATCH_EVENTS))
    return any_event(host, _server_lines(host), entries=entries, timed=False)


def _server_lines(host: Host) -> list[int]:
    return lines_of(host, LineKind.THREAD, PlaneKind.HOST)


@dataclass(frozen=True, eq=False, slots=True)
class _Links:
    """Which request joined which batch, and when it entered the queue."""

    request: I64
    batch: I64
    entered_ps: I64


class _Events:
    """The events of the threads that serve, with the stats of ``_STATS``."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.events = host.space.events
        self.is_request = self._named(names.REQUEST_EVENTS)
        self.is_batch = self._named(names.BATCH_EVENTS)
        on_thread = host.space.on_lines(_server_lines(host))
        self.is_request &= on_thread
        self.is_batch &= on_thread

    @cached_property
    def columns(self) -> dict[str, StatColumn]:
        """The stats, read only where there is a server."""
        return stats_by_name(self.host.space, _STATS)

    def _named(self, wanted: tuple[str, ...]) -> Bool:
        per_name = np.asarray(
            [name in wanted for name in self.host.space.event_metadata.name] or [False], dtype=bool
        )
        chosen: Bool = per_name[self.events.metadata]
        return chosen

    def in_time(self, rows: I64) -> I64:
        """Rows by start."""
        ordered: I64 = rows[np.argsort(self.events.start_ps[rows], kind="stable")]
        return ordered

    def owners(self) -> I64:
        """Per event, the outermost request or batch around it on its thread, ``NONE`` outside.

        Only events with serving stats and the requests and batches themselves are looked at.
        """
        roots = self.is_request | self.is_batch
        select = roots.copy()
        for column in self.columns.values():
            select[column.rows] = True
        space = self.host.space
        parent = nest(
            self.events.start_ps, self.events.duration_ps, space.line_begin, select=select
        ).parent
        owner = np.full(len(self.events), NONE, dtype=np.int64)
        above = np.where(select, parent, NONE).astype(np.int64)
        while (above >= 0).any():
            inside = np.flatnonzero(above >= 0)
            at_root = roots[above[inside]]
            owner[inside[at_root]] = above[inside[at_root]]
            above[inside] = parent[above[inside]]
        return owner

    def links(self, owner: I64, requests: I64, batches: I64) -> _Links:
        """Join the producers inside requests to the consumers that are, or are in, batches."""
        made = self._context(names.PRODUCER_TYPE, names.PRODUCER_ID)
        used = self._context(names.CONSUMER_TYPE, names.CONSUMER_ID)
        request_of = {int(row): i for i, row in enumerate(requests.tolist())}
        batch_of = {int(row): i for i, row in enumerate(batches.tolist())}
        by_context: dict[tuple[int, int], int] = {}
        for row, context in used.items():
            batch = batch_of.get(row, batch_of.get(int(owner[row]), NONE))
            if batch != NONE:
                by_context[context] = batch
        found = []
        for row, context in made.items():
            request = request_of.get(row, request_of.get(int(owner[row]), NONE))
            if request != NONE and context in by_context:
                end = int(self.events.start_ps[row] + self.host.space.length_ps[row])
                found.append((request, by_context[context], end))
        columns = np.asarray(found, dtype=np.int64).reshape(-1, 3)
        return _Links(columns[:, 0], columns[:, 1], columns[:, 2])

    def _context(self, type_name: str, id_name: str) -> dict[int, tuple[int, int]]:
        """``{event row: (context type, id)}`` of the batch schedulers."""
        types, ids = self.columns[type_name], self.columns[id_name]
        kind = dict(zip(types.rows.tolist(), types.ints.tolist(), strict=True))
        wanted = np.isin(ids.rows, types.rows[np.isin(types.ints, names.BATCHING_CONTEXTS)])
        return {
            row: (kind[row], id_)
            for row, id_ in zip(ids.rows[wanted].tolist(), ids.ints[wanted].tolist(), strict=True)
        }

    def models(self, owner: I64) -> dict[int, str]:
        """``{request or batch row: model}``, said by it or by an event in it."""
        column = self.columns[names.MODEL_ID].texts
        found: dict[int, str] = {}
        for row, text in zip(column.rows.tolist(), column.texts(), strict=True):
            found.setdefault(row if owner[row] == NONE else int(owner[row]), text)
        return found

    def sums_within(self, name: str, owner: I64, rows: I64) -> I64:
        """Σ of a stat over each row and the events in it, ``NONE`` where nothing says it."""
        column = self.columns[name]
        whose = np.where(owner[column.rows] == NONE, column.rows, owner[column.rows])
        place = np.searchsorted(np.sort(rows), whose)
        back = np.argsort(rows, kind="stable")
        place[place == len(rows)] = 0
        has = (rows[back][place] == whose) if len(rows) else np.zeros(len(whose), dtype=bool)
        total = np.zeros(len(rows), dtype=np.int64)
        said = np.zeros(len(rows), dtype=bool)
        np.add.at(total, back[place[has]], column.ints[has])
        said[back[place[has]]] = True
        return np.where(said, total, NONE)


def _requests(
    events: _Events,
    rows: I64,
    batch_rows: I64,
    linked: _Links,
    model: dict[int, str],
    owner: I64,
) -> Requests:
    start, duration = events.events.start_ps[rows], events.host.space.length_ps[rows]
    batch = np.full(len(rows), NONE, dtype=np.int64)
    queued = np.full(len(rows), NONE, dtype=np.int64)
    # A large request split over several batches belongs to the last: that one ends it.
    order = np.argsort(linked.batch, kind="stable")
    request, joined = linked.request[order], linked.batch[order]
    batch[request] = joined
    begin = events.events.start_ps[batch_rows]
    if len(joined):
        queued[request] = np.maximum(begin[joined] - linked.entered_ps[order], 0)
    names_ = [
        model.get(int(row), model.get(int(batch_rows[b]), "") if b >= 0 else "")
        for row, b in zip(rows.tolist(), batch.tolist(), strict=True)
    ]
    size = events.sums_within(names.BATCHING_INPUT_TASK_SIZE, owner, rows)
    device = _device_time(events.host, start, start + duration)
    return Requests(start, duration, names_, size, batch, queued, device)


def _batches(
    events: _Events, rows: I64, linked: _Links, model: dict[int, str], owner: I64
) -> Batches:
    start, duration = events.events.start_ps[rows], events.host.space.length_ps[rows]
    count = len(rows)
    pairs = np.unique(np.stack([linked.batch, linked.request]), axis=1)
    entered = np.full(count, np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(entered, linked.batch, linked.entered_ps)
    has = np.bincount(linked.batch, minlength=count) > 0
    padded = events.sums_within(names.BATCH_SIZE_AFTER_PADDING, owner, rows)
    padding = events.sums_within(names.PADDING_AMOUNT, owner, rows)
    return Batches(
        start_ps=start,
        duration_ps=duration,
        model=[model.get(int(row), "") for row in rows.tolist()],
        requests=np.bincount(pairs[0], minlength=count).astype(np.int64),
        size=np.where(padded >= 0, padded - np.maximum(padding, 0), NONE),
        padded_size=padded,
        waited_ps=np.where(has, np.maximum(start - entered, 0), NONE),
        device=_device_time(events.host, start, start + duration),
    )


def _device_time(host: Host, begin: I64, end: I64) -> DeviceTime:
    """Time in each span during which a device worked, by kind of work."""
    found = device_events(host)
    kinds = {
        "compute_ps": np.isin(found.work, (Work.COMPUTE_16, Work.COMPUTE_32, Work.COLLECTIVE)),
        "to_device_ps": found.work == Work.HOST_TO_DEVICE,
        "from_device_ps": found.work == Work.DEVICE_TO_HOST,
        "any_ps": ~found.is_container,
    }
    return DeviceTime(
        **{
            name: covered(
                *union_spans(
                    found.start_ps[chosen & ~found.is_container],
                    found.end_ps[chosen & ~found.is_container],
                ),
                begin,
                end,
            )
            for name, chosen in kinds.items()
        }
    )
