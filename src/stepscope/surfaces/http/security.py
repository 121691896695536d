"""Access control: the Host header, the token, and headers for the browser.

The pages show names from strangers' files and the server reads local files, so it answers only
its own machine's names (no DNS rebinding), only with the token, and never to another origin.
"""

from __future__ import annotations

import re
from hmac import compare_digest

from werkzeug.wrappers import Request, Response

from stepscope.surfaces.http.settings import Settings, is_loopback

_WILDCARDS = ("0.0.0.0", "::", "")  # compared with, never bound here

_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; "
    "img-src 'self' data: blob:"
)

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


# A bracketed IPv6 address or a name, and nothing else but a port.
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::\d{1,5})?")


class Guard:
    """Decides about requests; ``port`` is known once the server is bound."""

    def __init__(self, settings: Settings, port: int) -> None:
        self.settings = settings
        self.cookie = f"stepscope_{port}"

    def host_allowed(self, request: Request) -> bool:
        """Whether the Host header names this machine, the bound address or an allowed name.

        The port is not compared: port forwarding (SSH, containers, editors) changes it.
        """
        if self.settings.mounted or self.settings.framed:
            return True
        name = _host_name(request.headers.get("Host", ""))
        if not name:
            return False
        bound = self.settings.address.strip("[]").lower()
        if is_loopback(name) or name in (extra.lower() for extra in self.settings.extra_hosts):
            return True
        if bound in _WILDCARDS:
            # Bound to every interface on purpose: the names are unknown, the token decides.
            return _is_address(name)
        return name == bound

    def token_given(self, request: Request) -> str:
        """The token a request carries, by cookie, header or query; "" for none."""
        bearer = request.headers.get("Authorization", "")
        if bearer.startswith("Bearer "):
            return bearer.removeprefix("Bearer ")
        return request.cookies.get(self.cookie) or request.args.get("token", "")

    def admitted(self, request: Request) -> bool:
        """Whether the request carries the right token (or none is asked for)."""
        if self.settings.framed:  # the application has moved it from the path to the script name
            return self.matches(request.script_root.rsplit("/", 1)[-1])
        return not self.settings.token_required or self.matches(self.token_given(request))

    def matches(self, token: str) -> bool:
        """Whether a token is the right one, in constant time."""
        return compare_digest(token.encode(), self.settings.token.encode())

    def protect(self, response: Response) -> Response:
        """Add the headers every answer has."""
        # Notebooks frame what mounts us, from places that only it can know.
        anywhere = self.settings.mounted or self.settings.framed
        policy = response.headers.get("Content-Security-Policy", _POLICY)
        response.headers["Content-Security-Policy"] = (
            policy if anywhere else f"{policy}; frame-ancestors 'self'"
        )
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def remember(self, response: Response, request: Request) -> None:
        """Give the browser the token as a cookie: hidden from scripts, kept from other sites."""
        response.set_cookie(
            self.cookie,
            self.settings.token,
            httponly=True,
            samesite="Strict",
            secure=request.is_secure,
            path=self.settings.prefix or "/",
        )


def cross_site(request: Request) -> bool:
    """Whether the browser says that another site made this request."""
    return request.headers.get("Sec-Fetch-Site", "none") == "cross-site"


def cross_origin(request: Request) -> bool:
    """Whether it says that another page made it, one on another port of this machine included."""
    return request.headers.get("Sec-Fetch-Site", "none") in ("cross-site", "same-site")


def foreign_order(request: Request) -> bool:
    """Whether an order (``POST``) comes from another page, as far as an old browser says."""
    origin = request.headers.get("Origin")
    if request.method != "POST" or origin is None or "Sec-Fetch-Site" in request.headers:
        return False  # what new browsers say is looked at for every request
    return origin.partition("://")[2] != request.headers.get("Host")


def _host_name(header: str) -> str:
    """The name in a Host header, without port and brackets; "" where it is none."""
    match = _HOST.fullmatch(header.strip().lower())
    return (match[1] or match[2]).rstrip(".") if match else ""


def _is_address(name: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
