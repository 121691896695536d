"""``stepscope ask``: one of the questions that agents ask, answered within a budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from stepscope.errors import UsageError
from stepscope.surfaces.cli import arguments


@click.command()
@arguments.argument(
    "question",
    metavar="QUESTION",
    help="A question, such as summary; see `stepscope guide questions`.",
)
@arguments.path
@arguments.argument(
    "given", metavar="[NAME=VALUE]…", nargs=-1, required=False, help="Arguments of the question."
)
@arguments.max_tokens
@arguments.redact
@arguments.redact_key
@arguments.formats("text", "json", default="text")
def ask(
    question: str,
    path: str,
    given: tuple[str, ...],
    max_tokens: int,
    redact: str | None,
    redact_key: str | None,
    format: str,
) -> int:
    """Answer one question as short text, within a budget of tokens."""
    return answer(
        question, path, _arguments(question, given), max_tokens, redact, redact_key, format
    )


COMMAND = ask
#: As elsewhere: a wrong question is 2, nothing that could be shown is 3.
_EXIT_CODES = {"rows": 0, "none": 0, "unknown": 3, "error": 2}


def answer(
    name: str,
    path: str,
    given: Mapping[str, Any],
    max_tokens: int,
    redact: str | None,
    redact_key: str | None,
    format: str,
    *,
    source: str = "",
) -> int:
    """Ask and print; returns the exit code. ``explain`` may show lines of files in ``source``."""
    from stepscope.surfaces.agent.questions import question
    from stepscope.surfaces.agent.recordings import Recordings
    from stepscope.surfaces.format import json_of

    recordings = Recordings([path], arguments.redaction_of(redact, redact_key), source=source)
    reply = question(name).ask(recordings, given)
    text = reply.text(max_tokens)
    if format == "json":
        print(json_of({**reply.summary(), "text": text}))
    else:
        print(text, end="")
    recordings.close()
    return _EXIT_CODES[reply.outcome]


def _arguments(name: str, given: tuple[str, ...]) -> dict[str, Any]:
    """``name=value`` as the question takes them: numbers and objects from text."""
    from stepscope.surfaces.agent.questions import question

    known = question(name).properties
    found: dict[str, Any] = {}
    for one in given:
        key, equals, text = one.partition("=")
        if not equals:
            raise UsageError(f"{one!r} is not an argument.", hint="Give e.g. tool=kernel_stats.")
        kind = known.get(key, {}).get("type")
        if kind in ("integer", "object"):
            try:
                found[key] = json.loads(text)
            except ValueError as error:
                raise UsageError(f"{key} cannot be {text!r}.", hint=f"Give {kind}.") from error
        else:
            found[key] = text
    return found
