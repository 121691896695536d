"""Gradients of gradients, for which a step goes backward through the same ops again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

# A penalty on gradients goes through them two or three times; from this share of the step on it is
# worth a sentence.
_OFTEN: Final = 4
_SOME_FRAC: Final = 0.2
_ASK_ONCE: Final = (
    "Ask for the gradient of each output once, with respect to all inputs together: each "
    "derivative is a column of it. Keep it, and take second derivatives from it. Where a whole "
    "Jacobian, its trace or a product with it is wanted, forward mode (torch.func.jvp, jacfwd) "
    "needs no pass for each output."
)


def higher_gradients(account: StepAccount) -> tuple[str, tuple[str, ...]]:
    """How often a step goes through them, as a sentence to go on with, and what to do; or none."""
    found, step = account.repeated_gradients, account.step_time_ms
    if found is None or not found.is_higher or found.times < _OFTEN:
        return "", ()
    if not found.time_ms >= _SOME_FRAC * step > 0:
        return "", ()
    place = f", most in {found.where}" if found.place is not None else ""
    sentence = (
        f" For gradients of gradients each step goes backward through the same forward ops "
        f"{found.times:.0f} times{place}: all but the first time takes {found.time_ms / step:.0%} "
        "of it."
    )
    return sentence, (_ASK_ONCE,)
