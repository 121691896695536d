"""A model's own Python hands its ops over: what that costs goes with fewer calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.part_words import is_models

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

_RUN: Final = ("op", "function", "line", "eager")


def hands_over(account: StepAccount | None, function: str, own_ms: float) -> bool:
    """Whether a function is a model's or a layer's, whose ops take as long as its own Python.

    Args:
        account: The step account; None unknown.
        function: Of the program.
        own_ms: What its Python takes of a step.
    """
    if account is None or not is_models(function):
        return False
    parts = account.parts.records()
    return sum(part.time_ms for part in parts if part.kind in _RUN) >= own_ms
