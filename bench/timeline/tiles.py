"""Tiles over HTTP: the time from the question to the last byte of the answer."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from bench.timeline.page import WIDTH_PX, random_views


@dataclass(frozen=True, slots=True)
class Tiles:
    """Answers to random views, each of all tracks of the session on one screen.

    Attributes:
        events: Of the recording.
        ms, bytes: Of each answer.
    """

    events: int
    ms: list[float]
    bytes: list[int]


def tiles(url: str, views: int) -> Tiles:
    """Ask a server for random views, one after the other on one connection."""
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=300)
    meta: dict[str, Any] = json.loads(_get(connection, "meta", {}))
    scope = {"v": meta["fingerprint"], "width_px": WIDTH_PX}
    times, sizes = [], []
    for begin, end in random_views(meta["begin_ps"], meta["end_ps"], views):
        began = time.perf_counter()
        answer = _get(connection, "tile", {**scope, "start_ps": begin, "end_ps": end})
        times.append(1e3 * (time.perf_counter() - began))
        sizes.append(len(answer))
    connection.close()
    return Tiles(int(meta["events"]), times, sizes)


def _get(connection: HTTPConnection, part: str, question: dict[str, Any]) -> bytes:
    connection.request("GET", f"/api/v1/timeline/{part}?{urlencode(question)}")
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise ConnectionError(f"timeline/{part}: {response.status} {body[:500]!r}")
    return body
