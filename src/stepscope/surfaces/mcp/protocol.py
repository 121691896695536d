"""The Model Context Protocol, both eras: with a handshake (to 2025-11-25) and without (2026-07-28).

A client of the older era begins with ``initialize``; one of the newer era names the version in
every request's ``_meta`` and may ask ``server/discover``. The same handlers serve both: what the
newer era adds to a result, older clients ignore.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope import __version__

MODERN: Final = ("2026-07-28",)
#: Newest first.
HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
UNSUPPORTED_VERSION: Final = -32022

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
_CAPABILITIES: Final[dict[str, Any]] = {"tools": {}, "prompts": {}, "resources": {}}
_HOUR_MS: Final = 3_600_000

#: The server as it names itself.
SERVER: Final = {"name": "stepscope", "title": "Stepscope", "version": __version__}


class ProtocolError(Exception):
    """A request that the protocol does not allow: its code, a sentence, and data for the client."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def version_of(params: Mapping[str, Any]) -> str:
    """The version a request names, "" where it names none.

    Raises:
        ProtocolError: It is none that is spoken here.
    """
    meta = params.get("_meta")
    version = meta.get(_VERSION_KEY, "") if isinstance(meta, Mapping) else ""
    if version and version not in (*MODERN, *HANDSHAKE):
        raise ProtocolError(
            UNSUPPORTED_VERSION,
            "This version of the protocol is not spoken here.",
            {"supported": [*MODERN, *HANDSHAKE], "requested": str(version)[:40]},
        )
    return str(version)


def initialized(params: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """The answer to the handshake: the client's version, or our newest of that era."""
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[0],
        "capabilities": _CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": instructions,
    }


def discovered(instructions: str) -> dict[str, Any]:
    """The answer to ``server/discover``."""
    return lasting(
        {
            "supportedVersions": list(MODERN),
            "capabilities": _CAPABILITIES,
            "instructions": instructions,
        }
    )


def complete(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result that asks nothing back."""
    return {**result, "resultType": "complete", "_meta": {_SERVER_KEY: SERVER}}


def lasting(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result that is the same for everybody as long as the server runs."""
    return complete({**result, "ttlMs": _HOUR_MS, "cacheScope": "public"})


def answer(identity: Any, result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as a message."""
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def refusal(identity: Any, error: ProtocolError) -> dict[str, Any]:
    """An error as a message."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": identity, "error": body}
