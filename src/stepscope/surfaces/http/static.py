"""The built web files."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from functools import lru_cache
from pathlib import Path

from werkzeug.security import safe_join
from werkzeug.wrappers import Request, Response

from stepscope.surfaces.http.answers import compressed

_TEXTUAL = ("text/", "application/javascript", "application/json", "image/svg")
# Vite puts a content hash before the suffix; such a file never changes.
_HASHED = re.compile(r"-[\w-]{8,}\.\w+$")

# The system's registry can map .js to text/plain; with nosniff such a module would not run.
_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".html": "text/html",
    ".json": "application/json",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
}


class StaticFiles:
    """Files below one folder, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def built(self) -> bool:
        """Whether the web files were built."""
        return (self.folder / "index.html").is_file()

    def answer(self, request: Request, name: str) -> Response | None:
        """The file of this relative name; None when there is none below the folder."""
        joined = safe_join(str(self.folder), name)
        if joined is None:
            return None
        path = Path(joined)
        try:
            if not path.is_file() or not path.resolve().is_relative_to(self.folder.resolve()):
                return None
        except OSError:  # no file can have this name
            return None
        status = path.stat()
        data, tag = _content(str(path), status.st_mtime_ns, status.st_size)
        kind = (
            _TYPES.get(path.suffix)
            or mimetypes.guess_type(path.name)[0]
            or "application/octet-stream"
        )
        response = Response(data, mimetype=kind)
        response.set_etag(tag)
        immutable = _HASHED.search(path.name) is not None
        response.headers["Cache-Control"] = (
            "private, max-age=31536000, immutable" if immutable else "no-cache"
        )
        response.make_conditional(request)
        if response.status_code == 200 and kind.startswith(_TEXTUAL):
            compressed(request, response)
        return response


@lru_cache(maxsize=64)
def _content(path: str, mtime_ns: int, size: int) -> tuple[bytes, str]:
    """A file's bytes and tag; the modification time is part of the key so that a rebuild shows."""
    data = Path(path).read_bytes()
    return data, hashlib.sha256(data).hexdigest()[:20]
