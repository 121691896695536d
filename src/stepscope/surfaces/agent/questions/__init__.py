"""One question per file, each with a ``QUESTION``; adding one is a file here and a line below."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from stepscope.errors import UsageError
from stepscope.surfaces.agent.question import Question

QUESTIONS: Final = (
    "recordings",
    "summary",
    "advise",
    "table",
    "timeline",
    "explain",
    "compare",
    "sql",
    "check",
)


@cache
def question(name: str) -> Question:
    """The question of this name; raises ``UsageError`` for another."""
    if name not in QUESTIONS:
        raise UsageError("There is no such question.", hint=f"One of {', '.join(QUESTIONS)}.")
    found: Question = import_module(f"{__name__}.{name}").QUESTION
    return found
