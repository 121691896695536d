"""Responses: JSON (compressed where it pays), downloads, errors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from werkzeug.wrappers import Request, Response

from stepscope.errors import StepscopeError

_COMPRESS_FROM_BYTES = 4096
# Level 1: a large table is compressed in well under its transfer time even on loopback.
_LEVEL = 1


def json_answer(request: Request, body: Any, status: int = 200) -> Response:
    """A JSON answer."""
    text = json.dumps(
        body, default=asdict, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    # Texts can be encoded; should one slip through, its escape in JSON is better than no answer.
    data = text.encode("utf-8", "backslashreplace")
    response = Response(data, status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return compressed(request, response)


# With this header a request takes foreseen errors as an answer: browsers log every other status.
SOFT_ERRORS = "X-Stepscope-Errors"
SOFT_STATUS = "X-Stepscope-Status"
_FORESEEN = (409, 422)


def error_answer(request: Request, error: StepscopeError, status: int | None = None) -> Response:
    """An error as JSON, with the status its kind has.

    The pages ask for nothing to show and unreadable input (409, 422) to arrive with 200 and the
    status in a header, because these are states of a page and not failures of it.
    """
    status = status or status_of(error)
    if status in _FORESEEN and request.headers.get(SOFT_ERRORS) == "soft":
        answer = json_answer(request, error.to_dict())
        answer.headers[SOFT_STATUS] = str(status)
        return answer
    return json_answer(request, error.to_dict(), status)


def status_of(error: StepscopeError) -> int:
    """HTTP status for a kind of error: 400 usage, 409 nothing to show, 422 unreadable input."""
    if error.anchor in ("no-such-run", "no-such-host", "no-such-table", "no-such-event"):
        return 404
    own = {
        "capture-not-allowed": 403,
        "capture-running": 409,
        "empty-selection": 409,
        "capture-extra": 501,
        "server-busy": 503,
        "sql": 422,
        "sql-closed": 422,
    }
    if error.anchor in own:
        return own[error.anchor]
    return {2: 400, 3: 409}.get(type(error).exit_code, 422)


def download(data: bytes, mimetype: str, name: str) -> Response:
    """A file to save."""
    response = Response(data, mimetype=mimetype)
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    response.headers["Content-Disposition"] = f'attachment; filename="{safe}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _quickly(data: bytes) -> bytes:
    return gzip.compress(data, _LEVEL, mtime=0)


def compressed(
    request: Request, response: Response, packed: Callable[[bytes], bytes] = _quickly
) -> Response:
    """The response gzipped, when it is large and the browser takes it."""
    response.vary.add("Accept-Encoding")
    data = response.get_data()
    if len(data) >= _COMPRESS_FROM_BYTES and request.accept_encodings.quality("gzip") > 0:
        response.set_data(packed(data))
        response.headers["Content-Encoding"] = "gzip"
    return response
