"""Messages in, messages out: one JSON object a line; standard output carries nothing else."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

from stepscope.surfaces.agent.guide import TOPICS, guide, instructions
from stepscope.surfaces.agent.questions import QUESTIONS, question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import DEFAULT_TOKENS
from stepscope.surfaces.mcp import protocol
from stepscope.surfaces.mcp.protocol import ProtocolError

_log = logging.getLogger(__name__)

_LONGEST_LINE: Final = 1 << 20
_PROMPT: Final = "diagnose"
_SCHEME: Final = "stepscope://guide/"
_HINTS: Final = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
Params = Mapping[str, Any]


class McpServer:
    """Answers requests about recordings; it reads, and does nothing else."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings
        self._methods: dict[str, Callable[[Params], dict[str, Any]]] = {
            "initialize": lambda params: protocol.initialized(params, instructions()),
            "server/discover": lambda _: protocol.discovered(instructions()),
            "ping": lambda _: {},
            "tools/list": self._tools,
            "tools/call": self._call,
            "prompts/list": self._prompts,
            "prompts/get": self._prompt,
            "resources/list": self._resources,
            "resources/templates/list": lambda _: protocol.lasting({"resourceTemplates": []}),
            "resources/read": self._resource,
        }

    def serve(self, lines: BinaryIO, out: BinaryIO) -> None:
        """Answer until the input ends."""
        while line := lines.readline(_LONGEST_LINE + 1):
            if not line.strip():
                continue
            told = self.message(line)
            if told is not None:
                text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
                out.write(text.encode("utf-8", "backslashreplace") + b"\n")
                out.flush()

    def message(self, line: bytes) -> dict[str, Any] | None:
        """The answer to one message; None where it wants none."""
        try:
            if len(line) > _LONGEST_LINE:
                raise ProtocolError(protocol.INVALID_REQUEST, "The message is too long.")
            request = json.loads(line)
        except (ValueError, RecursionError):
            return protocol.refusal(None, ProtocolError(protocol.PARSE_ERROR, "This is not JSON."))
        except ProtocolError as error:
            return protocol.refusal(None, error)
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            if isinstance(request, dict) and ("result" in request or "error" in request):
                return None  # an answer, and we asked nothing
            unfit = ProtocolError(protocol.INVALID_REQUEST, "This is not a request.")
            return protocol.refusal(None, unfit)
        if "id" not in request:
            return None  # a notification
        return self._answered(request)

    def _answered(self, request: Mapping[str, Any]) -> dict[str, Any]:
        identity, params = request["id"], request.get("params") or {}
        try:
            if not isinstance(params, dict):
                raise ProtocolError(protocol.INVALID_PARAMS, "params must be an object.")
            protocol.version_of(params)
            method = self._methods.get(request["method"])
            if method is None:
                raise ProtocolError(protocol.METHOD_NOT_FOUND, "There is no such method.")
            return protocol.answer(identity, method(params))
        except ProtocolError as error:
            return protocol.refusal(identity, error)
        except Exception:  # a bug is an answer, too: the session goes on
            _log.exception("%s failed", request["method"])
            return protocol.refusal(
                identity, ProtocolError(protocol.INTERNAL_ERROR, "This is a bug in Stepscope.")
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
        return protocol.lasting({"tools": tools})

    def _call(self, params: Params) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if name not in QUESTIONS or not isinstance(arguments, dict):
            raise ProtocolError(protocol.INVALID_PARAMS, "There is no such tool.")
        reply = question(str(name)).ask(self._recordings, arguments)
        # A refusal is short, and what it refuses may be the budget.
        failed = reply.outcome == "error"
        budget = DEFAULT_TOKENS if failed else arguments.get("max_tokens", DEFAULT_TOKENS)
        return protocol.complete(
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
        return protocol.lasting({"prompts": [prompt]})

    def _prompt(self, params: Params) -> dict[str, Any]:
        if params.get("name") != _PROMPT:
            raise ProtocolError(protocol.INVALID_PARAMS, "There is no such prompt.")
        message = {"role": "user", "content": {"type": "text", "text": guide("diagnose")}}
        return protocol.complete({"description": "Diagnose a recording", "messages": [message]})

    def _resources(self, _: Params) -> dict[str, Any]:
        listed = [
            {"uri": _SCHEME + name, "name": name, "mimeType": "text/markdown"} for name in TOPICS
        ]
        return protocol.lasting({"resources": listed})

    def _resource(self, params: Params) -> dict[str, Any]:
        uri = str(params.get("uri"))
        if not uri.startswith(_SCHEME) or uri[len(_SCHEME) :] not in TOPICS:
            raise ProtocolError(protocol.INVALID_PARAMS, "There is no such resource.")
        text = guide(uri[len(_SCHEME) :])
        content = {"uri": uri, "mimeType": "text/markdown", "text": text}
        return protocol.lasting({"contents": [content]})
