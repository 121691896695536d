"""The WSGI application: routes, guards, and errors as JSON. It mounts anywhere."""

from __future__ import annotations

import gzip
import hashlib
import logging
import mimetypes
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import Map, RequestRedirect, Rule
from werkzeug.security import safe_join
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from stepscope.errors import StepscopeError
from stepscope.session.workspace import Workspace
from stepscope.surfaces.http.answers import compressed, error_answer, json_answer
from stepscope.surfaces.http.api import Api
from stepscope.surfaces.http.security import Guard, cross_origin, cross_site, foreign_order
from stepscope.timeline.cancellation import GivenUp

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_CLIENT_GONE = 499  # as other servers log it; there is no official number

_log = logging.getLogger(__name__)

STATIC_FOLDER = Path(__file__).parents[1] / "static"

_ROUTES = Map(
    [
        Rule("/", endpoint="page"),
        Rule("/index.html", endpoint="page"),
        Rule("/api/v1/session", endpoint="session"),
        Rule("/api/v1/tools", endpoint="tools"),
        Rule("/api/v1/runs/facts", endpoint="run_facts"),
        Rule("/api/v1/runs/note", endpoint="run_note"),
        Rule("/api/v1/progress", endpoint="progress"),
        Rule("/api/v1/report", endpoint="report"),
        Rule("/api/v1/advice", endpoint="advice"),
        Rule("/api/v1/things", endpoint="things"),
        Rule("/api/v1/about", endpoint="about"),
        Rule("/api/v1/tool/<tool>", endpoint="tool"),
        Rule("/api/v1/tool/<tool>/<table>.<format>", endpoint="table"),
        Rule("/api/v1/pod/cells", endpoint="pod_cells"),
        Rule("/api/v1/sql", endpoint="sql"),
        Rule("/api/v1/sql/tables", endpoint="sql_tables"),
        Rule("/api/v1/sql/lanes", endpoint="sql_lanes"),
        Rule("/api/v1/sql.<format>", endpoint="sql_file"),
        Rule("/api/v1/timeline/<part>", endpoint="timeline"),
        Rule("/api/v1/capture", endpoint="capture"),
        Rule("/api/v1/capture/check", endpoint="capture_check"),
        Rule("/api/v1/capture/stop", endpoint="capture_stop"),
        Rule("/<path:name>", endpoint="static"),
    ],
    strict_slashes=False,
    merge_slashes=False,
)

_TEXTUAL = ("text/", "application/javascript", "application/json", "image/svg")
# Vite puts a content hash before the suffix; such a file never changes.
_HASHED = re.compile(r"-[\w-]{8,64}\.\w{1,8}$")

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


class Application:
    """Pages and API over one workspace.

    All URLs in answers are relative, so the application works below any path: mounted in
    another WSGI server (``SCRIPT_NAME``) or behind a proxy that keeps a prefix.
    """

    def __init__(self, workspace: Workspace, guard: Guard, static: Path = STATIC_FOLDER) -> None:
        self.workspace = workspace
        self.guard = guard
        self._api = Api(workspace, guard.settings.allow_capture, guard.settings.source)
        self._static = _StaticFiles(static)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(self._mounted(environ))
        return self.guard.protect(self._answer(request))(request.environ, start_response)

    def close(self) -> None:
        """Give up a recording that is under way."""
        self._api.captures.close()

    def _mounted(self, environ: WSGIEnvironment) -> WSGIEnvironment:
        """The environment with our prefix moved from the path to the script name."""
        prefix, path = self.guard.settings.prefix, environ.get("PATH_INFO", "")
        if prefix and (path == prefix or path.startswith(prefix + "/")):
            moved = dict(environ)
            moved["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + prefix
            moved["PATH_INFO"] = path[len(prefix) :]
            return moved
        return environ

    def _answer(self, request: Request) -> Response:
        if not self.guard.host_allowed(request):
            return _refusal(
                request,
                421,
                "host-not-allowed",
                "This name is not one of this server's.",
                "Open the printed address, or start with --allow-host NAME.",
            )
        if not request.query_string.isascii():
            return _refusal(
                request, 400, "bad-address", "The query is not ASCII.", "Write other bytes as %XX."
            )
        if request.method not in ("GET", "HEAD", "POST"):
            return _refusal(
                request, 405, "method-not-allowed", "Only GET, HEAD and POST are answered.", ""
            )
        if request.environ.get("PATH_INFO", "") == "":
            # Without the slash the page's relative URLs would resolve one level too high.
            return redirect(request.script_root.rsplit("/", 1)[-1] + "/" + _query(request), 308)
        try:
            return self._routed(request)
        except GivenUp:
            return Response(status=_CLIENT_GONE)  # for logs of what mounts us; nobody reads it
        except StepscopeError as error:
            return error_answer(request, error)
        except HTTPException as error:
            return _refusal(
                request, error.code or 500, "not-found", f"{error.name}.", "Check the address."
            )
        except Exception:  # a bug answers, too: the page says so and the terminal has the traceback
            _log.exception("%s %s failed", request.method, request.path)
            return _refusal(
                request,
                500,
                "bug",
                "This is a bug in Stepscope.",
                "The terminal has the traceback; report it.",
            )

    def _routed(self, request: Request) -> Response:
        try:
            endpoint, values = _ROUTES.bind_to_environ(request.environ).match()
        except (RequestRedirect, MethodNotAllowed) as error:
            raise NotFound from error
        refused = _wrong_method(request, endpoint)
        if refused is not None:
            return refused
        if endpoint == "page":
            return self._page(request)
        refused = self._unadmitted(request)
        if refused is not None:
            return refused
        if endpoint == "static":
            found = self._static.answer(request, values["name"])
            if found is None:
                raise NotFound
            return found
        handler: Any = getattr(self._api, endpoint)
        answer: Response = handler(request, **values)
        return answer

    def _unadmitted(self, request: Request) -> Response | None:
        if cross_origin(request) or foreign_order(request):
            return _refusal(
                request,
                403,
                "cross-site",
                "Another site may not use this.",
                "Open the page itself.",
            )
        if self.guard.admitted(request):
            return None
        status = 403 if self.guard.token_given(request) else 401
        return _refusal(
            request,
            status,
            "token",
            "The token is missing or wrong.",
            "Open the full address that `stepscope serve` printed; a restarted server has "
            "a new one.",
        )

    def _page(self, request: Request) -> Response:
        """The page; a token in the address becomes a cookie and leaves the address."""
        given = request.args.get("token")
        if given is not None and self.guard.settings.token_required:
            if not self.guard.matches(given):
                return _no_token_page(given=True)
            # A redirect another site began would go without the cookie, so it gets the page itself.
            response = self._index(request) if cross_site(request) else redirect("./", 303)
            self.guard.remember(response, request)
            return response
        if not self.guard.admitted(request):
            return _no_token_page(given=bool(self.guard.token_given(request)))
        return self._index(request)

    def _index(self, request: Request) -> Response:
        if not self._static.built:
            return _not_built_page()
        return self._static.answer(request, "index.html") or _not_built_page()


def _wrong_method(request: Request, endpoint: str) -> Response | None:
    """Reading is GET, ordering is POST; how an order goes can be read."""
    wanted = {
        "capture": ("GET", "HEAD", "POST"),
        "capture_check": ("POST",),
        "capture_stop": ("POST",),
        "run_note": ("POST",),
    }
    methods = wanted.get(endpoint, ("GET", "HEAD"))
    if request.method in methods:
        return None
    named = " or ".join(methods)
    return _refusal(request, 405, "method-not-allowed", f"Only {named} is answered here.", "")


def _query(request: Request) -> str:
    query = request.query_string.decode("latin-1")
    return f"?{query}" if query else ""


def _refusal(request: Request, status: int, slug: str, what: str, hint: str) -> Response:
    body = {"error": slug, "what": what, "where": request.path, "why": "", "hint": hint}
    return json_answer(request, body, status)


def _no_token_page(given: bool) -> Response:
    """The page for a browser without the right token: how to get in, without script."""
    why = (
        "The token in this address is not this server's: it was restarted, or the link is another "
        "server's."
        if given
        else "Stepscope shows recordings only to those who have the token of its server."
    )
    body = (
        f"<p>{why}</p>"
        "<p>The terminal that runs <code>stepscope serve</code> shows an address that ends in "
        "<code>?token=…</code>. Open that address once in this browser, then the link that you "
        "were given. Or paste the token here:</p>"
        '<form><input name="token" aria-label="Token" autocomplete="off" required> '
        "<button>Open</button></form>"
        '<p>Was it opened in this browser before? <a href="">Open this page again</a>.</p>'
    )
    return _page("Stepscope needs its token", body, 403 if given else 401)


def _not_built_page() -> Response:
    """What a browser sees when the web files are missing from the installation."""
    body = (
        "<p>The web pages were not built when this copy of Stepscope was installed; the "
        "recordings are served "
        "as JSON below <code>api/v1/</code> anyway.</p>"
        "<p>In a source checkout run:</p><pre>python3 dev.py web</pre>"
        "<p>For an installed package, install it again where node can be had (PyPI's node is "
        "enough):</p>"
        "<pre>pip install --force-reinstall --no-deps stepscope</pre>"
    )
    return _page("The web pages are not built", body, 503)


# Pages of their own, where the built style sheet is not there or not allowed.
_STYLE = (
    "body{max-width:40em;margin:12vh auto;padding:0 1em;font:16px/1.5 system-ui,sans-serif}"
    "h1{font-size:1.5em}input,button{font:inherit;padding:.3em .6em}"
    "input{width:24em;max-width:100%}"
)
_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


def _page(title: str, body: str, status: int) -> Response:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><meta name="viewport" '
        'content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    response = Response(text, status, mimetype="text/html")
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'"
    )
    response.headers["Cache-Control"] = "no-store"
    return response


class _StaticFiles:
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
            compressed(request, response, packed=_packed)
        return response


@lru_cache(maxsize=64)
def _content(path: str, mtime_ns: int, size: int) -> tuple[bytes, str]:
    """A file's bytes and tag; the modification time is part of the key so that a rebuild shows."""
    data = Path(path).read_bytes()
    return data, hashlib.sha256(data).hexdigest()[:20]


@lru_cache(maxsize=16)
def _packed(data: bytes) -> bytes:
    """A file's bytes as they travel: the best that gzip can do, once."""
    return gzip.compress(data, 9, mtime=0)
