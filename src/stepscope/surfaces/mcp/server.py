"""The server: one JSON object per line; standard output carries nothing else."""

from __future__ import annotations

import json
import logging
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

from stepscope import __version__
from stepscope.surfaces.agent.guide import TOPICS, guide, instructions
from stepscope.surfaces.agent.questions import QUESTIONS, question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import DEFAULT_TOKENS

_log = logging.getLogger(__name__)

_LONGEST_LINE: Final = 1 << 20
_MAX_CANCELLED: Final = 1000
_PROMPT: Final = "diagnose"
_SCHEME: Final = "stepscope://guide/"
_HINTS: Final = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
Params = Mapping[str, Any]

_MODERN: Final = ("2026-07-28",)
#: Newest first.
_HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_INTERNAL_ERROR: Final = -32603
_UNSUPPORTED_VERSION: Final = -32022

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
_CAPABILITIES: Final[dict[str, Any]] = {"tools": {}, "prompts": {}, "resources": {}}
_HOUR_MS: Final = 3_600_000

#: The server as it names itself.
SERVER: Final = {"name": "stepscope", "title": "Stepscope", "version": __version__}


class McpServer:
    """Answers requests about recordings; it reads, and does nothing else."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings
        self._running: str | int | None = None
        self._cancelled: set[str | int] = set()
        self._methods: dict[str, Callable[[Params], dict[str, Any]]] = {
            "initialize": lambda params: _initialized(params, instructions()),
            "server/discover": lambda _: _discovered(instructions()),
            "ping": lambda _: {},
            "tools/list": self._tools,
            "tools/call": self._call,
            "prompts/list": self._prompts,
            "prompts/get": self._prompt,
            "resources/list": self._resources,
            "resources/templates/list": lambda _: _lasting({"resourceTemplates": []}),
            "resources/read": self._resource,
        }

    def serve(self, lines: BinaryIO, out: BinaryIO) -> None:
        """Answer until the input ends; a request that is cancelled meanwhile ends unanswered."""
        waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(target=self._read, args=(lines, waiting), daemon=True)
        with _interrupting(self._interrupt):
            reader.start()
            while line := waiting.get():
                try:
                    told = self.message(line)
                except _Cancelled:
                    told = None
                finally:
                    self._running = None
                if told is not None:
                    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
                    out.write(text.encode("utf-8", "backslashreplace") + b"\n")
                    out.flush()

    def _read(self, lines: BinaryIO, waiting: queue.SimpleQueue[bytes]) -> None:
        """Pass lines on, and look at each for what it cancels: the one that is answered waits."""
        while line := lines.readline(_LONGEST_LINE + 1):
            if b"notifications/cancelled" in line:
                self._cancel(line)
            if line.strip():
                waiting.put(line)
        waiting.put(b"")

    def _cancel(self, line: bytes) -> None:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return
        params = request.get("params") if isinstance(request, dict) else None
        if not isinstance(params, dict) or request.get("method") != "notifications/cancelled":
            return
        identity = params.get("requestId")
        if isinstance(identity, (str, int)):
            if len(self._cancelled) >= _MAX_CANCELLED:
                self._cancelled.clear()
            self._cancelled.add(identity)
            if self._running == identity and _CAN_INTERRUPT:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def _interrupt(self, *_: object) -> None:
        """End the request that is answered, if it was cancelled; called in the main thread."""
        if self._running is not None and self._running in self._cancelled:
            self._cancelled.discard(self._running)
            self._running = None
            raise _Cancelled

    def message(self, line: bytes) -> dict[str, Any] | None:
        """The answer to one message; None where it wants none."""
        try:
            if len(line) > _LONGEST_LINE:
                raise _ProtocolError(_INVALID_REQUEST, "The message is too long.")
            request = json.loads(line)
            # Half of a character (a lone surrogate) can be escaped, and written nowhere.
            json.dumps(request, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return _refusal(None, _ProtocolError(_PARSE_ERROR, "This is not JSON."))
        except _ProtocolError as error:
            return _refusal(None, error)
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            if isinstance(request, dict) and ("result" in request or "error" in request):
                return None  # an answer, and we asked nothing
            unfit = _ProtocolError(_INVALID_REQUEST, "This is not a request.")
            return _refusal(None, unfit)
        if "id" not in request:
            return None  # a notification
        identity = request["id"]
        if isinstance(identity, (str, int)):
            self._running = identity
            if identity in self._cancelled:  # before it was begun
                self._cancelled.discard(identity)
                raise _Cancelled
        return self._answered(request)

    def _answered(self, request: Mapping[str, Any]) -> dict[str, Any]:
        identity, params = request["id"], request.get("params") or {}
        try:
            if not isinstance(params, dict):
                raise _ProtocolError(_INVALID_PARAMS, "params must be an object.")
            _version_of(params)
            method = self._methods.get(request["method"])
            if method is None:
                raise _ProtocolError(_METHOD_NOT_FOUND, "There is no such method.")
            return _response(identity, method(params))
        except _ProtocolError as error:
            return _refusal(identity, error)
        except Exception:  # a bug is an answer, too: the session goes on
            _log.exception("%s failed", request["method"])
            return _refusal(
                identity, _ProtocolError(_INTERNAL_ERROR, "This is a bug in Stepscope.")
            )

    def _tools(self, _: Params) -> dict[str, Any]:
        tools = [
            {
                "name": one.id,
                "description": one.about,
                "inputSchema": one.schema,
                "annotations": _HINTS,
            }
            for one in map(question, QUESTIONS)
        ]
        return _lasting({"tools": tools})

    def _call(self, params: Params) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if name not in QUESTIONS or not isinstance(arguments, dict):
            raise _ProtocolError(_INVALID_PARAMS, "There is no such tool.")
        reply = question(str(name)).ask(self._recordings, arguments)
        # A refusal is short, and what it refuses may be the budget.
        failed = reply.outcome == "error"
        budget = DEFAULT_TOKENS if failed else arguments.get("max_tokens", DEFAULT_TOKENS)
        return _complete(
            {
                "content": [{"type": "text", "text": reply.text(budget)}],
                "structuredContent": reply.summary(),
                "isError": failed,
            }
        )

    def _prompts(self, _: Params) -> dict[str, Any]:
        about = "Find what limits a recorded run, and what to change."
        recording = {"name": "recording", "description": "Handle such as r1.", "required": False}
        prompt = {"name": _PROMPT, "description": about, "arguments": [recording]}
        return _lasting({"prompts": [prompt]})

    def _prompt(self, params: Params) -> dict[str, Any]:
        if params.get("name") != _PROMPT:
            raise _ProtocolError(_INVALID_PARAMS, "There is no such prompt.")
        message = {"role": "user", "content": {"type": "text", "text": guide("diagnose")}}
        return _complete({"description": "Diagnose a recording", "messages": [message]})

    def _resources(self, _: Params) -> dict[str, Any]:
        listed = [
            {"uri": _SCHEME + name, "name": name, "mimeType": "text/markdown"} for name in TOPICS
        ]
        return _lasting({"resources": listed})

    def _resource(self, params: Params) -> dict[str, Any]:
        uri = str(params.get("uri"))
        if not uri.startswith(_SCHEME) or uri[len(_SCHEME) :] not in TOPICS:
            raise _ProtocolError(_INVALID_PARAMS, "There is no such resource.")
        text = guide(uri[len(_SCHEME) :])
        content = {"uri": uri, "mimeType": "text/markdown", "text": text}
        return _lasting({"contents": [content]})


_CAN_INTERRUPT: Final = hasattr(signal, "pthread_kill")


class _Cancelled(BaseException):
    """The client wants no answer any more: it passes whatever catches errors."""


@contextmanager
def _interrupting(handler: Callable[..., None]) -> Iterator[None]:
    """Have a signal call a handler, where this is the thread that gets signals."""
    if not _CAN_INTERRUPT or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


class _ProtocolError(Exception):
    """A request that the protocol does not allow: its code, a sentence, and data for the client."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def _version_of(params: Mapping[str, Any]) -> str:
    """The version a request names, "" where it names none.

    Raises:
        _ProtocolError: It is none that is spoken here.
    """
    meta = params.get("_meta")
    version = meta.get(_VERSION_KEY, "") if isinstance(meta, Mapping) else ""
    if version and version not in (*_MODERN, *_HANDSHAKE):
        raise _ProtocolError(
            _UNSUPPORTED_VERSION,
            "This version of the protocol is not spoken here.",
            {"supported": [*_MODERN, *_HANDSHAKE], "requested": str(version)[:40]},
        )
    return str(version)


def _initialized(params: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """The answer to the handshake: the client's version, or our newest of that era."""
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in _HANDSHAKE else _HANDSHAKE[0],
        "capabilities": _CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": instructions,
    }


def _discovered(instructions: str) -> dict[str, Any]:
    """The answer to ``server/discover``."""
    return _lasting(
        {
            "supportedVersions": list(_MODERN),
            "capabilities": _CAPABILITIES,
            "instructions": instructions,
        }
    )


def _complete(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result that asks nothing back."""
    return {**result, "resultType": "complete", "_meta": {_SERVER_KEY: SERVER}}


def _lasting(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result that is the same for everybody as long as the server runs."""
    return _complete({**result, "ttlMs": _HOUR_MS, "cacheScope": "public"})


def _response(identity: Any, result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as a message."""
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def _refusal(identity: Any, error: _ProtocolError) -> dict[str, Any]:
    """An error as a message."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": identity, "error": body}
