"""``api/v1/timeline/…``: the requests of the timeline page, as in ``docs/timeline-format.md``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from hashlib import blake2b
from itertools import chain
from threading import BoundedSemaphore
from typing import Any, Final

from werkzeug.wrappers import Request, Response

from stepscope.errors import StepscopeError, UsageError
from stepscope.session import Session
from stepscope.surfaces.brought_names import bringing, names_in
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.surfaces.http import timeline_json
from stepscope.surfaces.http.answers import (
    compressed,
    download,
    error_answer,
    json_answer,
)
from stepscope.surfaces.http.flame_json import flame_answer
from stepscope.surfaces.http.leaving import check_of
from stepscope.surfaces.http.path_json import path_answer
from stepscope.surfaces.http.settings import is_loopback
from stepscope.surfaces.http.timeline_query import Query
from stepscope.surfaces.tiles import tile_format
from stepscope.surfaces.tiles.versions import version_of
from stepscope.timeline import Timeline, tile, timeline
from stepscope.timeline.tiles import MAX_SLICES, MAX_WIDTH_PX

_FOREVER: Final = "private, max-age=31536000, immutable"
_ALWAYS_ASK: Final = "private, no-cache"


class StaleTimeline(StepscopeError):
    """The recording behind a link is another one now."""

    slug = "stale-timeline"


class TooBusy(StepscopeError):
    """As many exports are under way as the server has room for."""

    slug = "server-busy"


# Each holds a thread while its client reads, and pieces that it has not read yet.
_EXPORTS: Final = BoundedSemaphore(3)


def answer(
    request: Request, session: Session, part: str, other: Callable[[str], Session]
) -> Response:
    """One part of the timeline; ``other`` gives the session of a run to compare with."""
    line = timeline(session.profile)
    stale = _stale(request, line)
    if stale is not None:
        return stale
    found = _unchanged(request, line)
    if found is None:
        query = Query(request.args, check_of(request))
        query.check()  # it may have gone while its request was queued
        if part == "export":
            return _export(session, line, query)
        if part == "tile":
            found = _tile(request, line, query)
        elif part == "flame":
            body = flame_answer(line, query, lambda run: timeline(other(run).profile))
            found = json_answer(request, bringing(body, names_in(body), session.profile))
        elif part in _PARTS:
            body = _PARTS[part](line, query)
            if part in _NAMING:
                body = bringing(body, names_in(body), session.profile)
            found = json_answer(request, body)
        else:
            raise UsageError(
                f"The timeline has no part {part!r}.",
                hint=f"One of tile, export, flame, {', '.join(_PARTS)}.",
            )
    # The version is that of this run; another one may be recorded again.
    lasting = request.args.get("v") == version_of(line) and not request.args.get("base_run")
    found.headers["Cache-Control"] = _FOREVER if lasting else _ALWAYS_ASK
    found.set_etag(_etag(request, line))
    return found


def _tile(request: Request, line: Timeline, query: Query) -> Response:
    begin, end = query.view(line)
    width = query.number("width_px", 1024)
    most = query.number("max_slices", MAX_SLICES)
    if not 0 < width <= MAX_WIDTH_PX or not 0 < most <= 65_535:
        raise UsageError(
            "timeline: width_px or max_slices is out of range.",
            hint=f"width_px: 1 to {MAX_WIDTH_PX}; max_slices: 1 to 65535.",
        )
    try:
        made = tile(line, query.wanted(line), begin, end, width, most, query.check)
    except ValueError as error:
        hint = "Ask for some tracks, or some lanes of one: tracks=3,12:0-40."
        raise UsageError(f"timeline: {error}.", hint=hint) from error
    if query.choice("format", ("binary", "json")) == "json":
        return json_answer(request, tile_format.plain(made))
    response = Response(tile_format.pack(made), mimetype=tile_format.MIMETYPE)
    # On the machine itself compressing costs more time than it saves.
    return response if is_loopback(request.remote_addr or "") else compressed(request, response)


def _export(session: Session, line: Timeline, query: Query) -> Response:
    """A recording, or a range of it, as a file to save."""
    chosen = RECORDING_FORMATS[query.choice("format", tuple(RECORDING_FORMATS))]
    begin, end = query.view(line)
    if not _EXPORTS.acquire(blocking=False):
        raise TooBusy(
            "Other exports are under way.",
            hint="Wait for them to end, or use `stepscope export`, which needs no server.",
        )
    pieces = _released(chosen.write(line, begin, end))
    first = next(pieces, b"")  # what cannot be written should fail before the answer begins
    response = download(b"", chosen.mimetype, session.name.rsplit("/", 1)[-1] + chosen.suffix)
    response.response = chain([first], pieces)
    response.call_on_close(pieces.close)
    response.headers.pop("Content-Length", None)
    return response


def _released(pieces: Iterable[bytes]) -> Generator[bytes, None, None]:
    """The pieces; another export may begin when they end, fail or are given up."""
    try:
        yield from pieces
    finally:
        _EXPORTS.release()


def _stale(request: Request, line: Timeline) -> Response | None:
    """An answer for links to a recording that was replaced since."""
    given = request.args.get("v")
    if given is None or given == version_of(line):
        return None
    error = StaleTimeline(
        "The recording or Stepscope has changed since this page was loaded.",
        hint="Load the page again.",
    )
    return error_answer(request, error, 410)


def _unchanged(request: Request, line: Timeline) -> Response | None:
    if not request.args.get("base_run") and request.if_none_match.contains(_etag(request, line)):
        return Response(status=304)
    return None


def _etag(request: Request, line: Timeline) -> str:
    what = f"{version_of(line)}\0{request.path}\0".encode()
    return blake2b(what + request.query_string, digest_size=12).hexdigest()


# Parts that name events. Those of `meta` are names of tracks and steps, of which there are many.
_NAMING: Final = frozenset({"names", "event", "flows", "search", "range", "path"})
_PARTS: Final[dict[str, Callable[[Timeline, Query], Any]]] = {
    "meta": timeline_json.meta,
    "names": timeline_json.names,
    "event": timeline_json.event,
    "flows": timeline_json.flow_arrows,
    "search": timeline_json.search_answer,
    "range": timeline_json.range_answer,
    "density": timeline_json.density,
    "path": path_answer,
}
