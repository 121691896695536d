"""Settings of the server."""

from __future__ import annotations

import ipaddress
import secrets

from stepscope.errors import UsageError
from stepscope.records import dataclass, field

DEFAULT_PORT = 8790


@dataclass(frozen=True)
class Settings:
    """Where and to whom the pages are served.

    Attributes:
        address: Address to bind.
        port: Port; 0 takes a free one, None takes ``DEFAULT_PORT`` or the next free one.
        token_required: Whether a request must carry the token; only loopback may do without.
        prefix: Path everything is below ("" or "/x"), for use behind a proxy.
        allow_capture: Whether programs elsewhere may be recorded from the pages.
        source: Folder whose source lines the pages may show; "" shows none, as a recording may
            name any file of this machine.
        extra_hosts: Names accepted in the Host header besides this machine's own.
        mounted: Whether another server hands the requests over. It decides then who may ask, under
            which names, and what may frame the pages: no token and no Host header is asked for.
        framed: Whether the pages are shown in frames of other sites, such as notebooks, in which
            browsers keep no cookies. The token is then the first part of every path, and who has it
            may ask under any name and from any frame.
        token: The secret in the printed URL.
    """

    address: str = "127.0.0.1"
    port: int | None = None
    token_required: bool = True
    prefix: str = ""
    extra_hosts: tuple[str, ...] = ()
    allow_capture: bool = False
    source: str = ""
    mounted: bool = False
    framed: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def __post_init__(self) -> None:
        if self.framed:
            object.__setattr__(self, "prefix", f"/{self.token}")
        if self.mounted or self.framed:
            object.__setattr__(self, "token_required", False)
        elif not self.token_required and not is_loopback(self.address):
            raise UsageError(
                "Without a token only this machine may be served.",
                where=f"--host {self.address} --no-token",
                why="Anyone who reaches the address could read the recordings.",
                hint="Drop --no-token, or bind 127.0.0.1 and use an SSH tunnel.",
                slug="token-required",
            )
        if self.allow_capture and not self.token_required and not self.mounted:
            raise UsageError(
                "Recording from the pages needs the token.",
                where="--allow-capture --no-token",
                why="Every user of this machine could make it connect and write elsewhere.",
                hint="Drop --no-token.",
                slug="token-required",
            )
        prefix = "/" + self.prefix.strip("/") if self.prefix.strip("/") else ""
        if any(part in ("", ".", "..") for part in prefix.split("/")[1:]) or not prefix.isascii():
            raise UsageError(
                f"--path-prefix cannot be {self.prefix!r}.", hint="Give a path such as /stepscope."
            )
        object.__setattr__(self, "prefix", prefix)


def is_loopback(address: str) -> bool:
    """Whether an address or host name can only mean this machine."""
    name = address.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
