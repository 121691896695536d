"""The declaration of a question, and code that all questions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from stepscope.errors import NothingToShow, StepscopeError, UsageError
from stepscope.records import dataclass, replace
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.agent.reply import DEFAULT_TOKENS, MOST_TOKENS, WIDE, AgentReply, data

RECORDING: Final = {"type": "string", "description": "Handle such as r1; the newest by default."}
MAX_TOKENS: Final = {
    "type": "integer",
    "minimum": 0,
    "maximum": MOST_TOKENS,
    "default": DEFAULT_TOKENS,
}
CURSOR: Final = {"type": "integer", "minimum": 0, "description": "Row to go on from."}
TEXT: Final = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        id: Its name.
        about: What it answers, for who chooses among the questions.
        properties: Its arguments as JSON Schema.
        answer: (recordings, arguments) → the answer.
        required: Arguments that must be there.
    """

    id: str
    about: str
    properties: Mapping[str, Mapping[str, Any]]
    answer: Callable[[Recordings, Mapping[str, Any]], AgentReply]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """All arguments as a JSON Schema."""
        return {
            "type": "object",
            "properties": {name: dict(one) for name, one in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }

    def ask(self, recordings: Recordings, arguments: Mapping[str, Any]) -> AgentReply:
        """The answer; what cannot be answered is an answer, too."""
        try:
            self._check(arguments)
            reply = self.answer(recordings, arguments)
        except NothingToShow as error:
            reply = unknown(error.why or error.what, error.hint)
        except StepscopeError as error:
            # Paths and names are in `where`; an agent needs what to do.
            reply = AgentReply(
                "error", tables=(data("error", ("what", "why", "do"), [_told(error, recordings)]),)
            )
        if "recording" not in self.properties or reply.outcome == "error" or reply.recording:
            return reply
        name = str(arguments.get("recording") or "")
        entry = recordings.entry(name)
        return replace(
            reply, recording=entry.handle, files_used=recordings.session(name).files_used
        )

    def _check(self, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that the schema does not know, and what it does not take for them."""
        kinds = {"string": str, "integer": int, "object": dict, "array": list}
        for name, value in arguments.items():
            if name not in self.properties:
                raise UsageError(
                    "There is an argument that this question does not take.",
                    hint=f"It takes {', '.join(self.properties) or 'none'}.",
                )
            schema = self.properties[name]
            wanted = kinds[str(schema["type"])]
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise UsageError(f"{name} must be of type {schema['type']}.")
            least, most = schema.get("minimum"), schema.get("maximum")
            if least is not None and value < least:
                raise UsageError(f"{name} cannot be less than {least:,}.")
            if most is not None and value > most:
                raise UsageError(f"{name} cannot be more than {most:,}.")
        missing = [name for name in self.required if name not in arguments]
        if missing:
            raise UsageError(f"{missing[0]} is missing.", hint=f"Needed: {', '.join(missing)}.")


def _told(error: StepscopeError, recordings: Recordings) -> tuple[str, str, str]:
    """What an error says, without where a root lies on this machine."""
    texts = [error.what, error.why, error.hint]
    for root in {entry.root for entry in recordings.entries}:
        texts = [text.replace(root, "ROOT") for text in texts]
    return texts[0], texts[1], texts[2]


def unknown(missing: str, record: str) -> AgentReply:
    """Nobody can know from this recording, and how to record it."""
    return AgentReply(
        "unknown",
        ("This recording cannot tell. That is not the same as: there is nothing.",),
        (data("how_to_record", ("missing", "do"), [(missing, record)], width=WIDE),),
    )
