"""The program's own Python on other threads, while the loop waits for what they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepscope.result import Place

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount
    from stepscope.verdicts.other_threads import RivalRow


def maker(account: StepAccount | None) -> RivalRow | None:
    """The thread that is in the program's Python most while the loop runs; None where none is.

    What tf.data calls goes first. Else one that holds the lock all the time is another matter
    (``gil-contention``).
    """
    listed = () if account is None else account.rivals.records()
    others = (one for one in listed if one.function and (one.makes_input or not one.loop_waits))
    return max(others, key=lambda one: (one.makes_input, one.busy_frac), default=None)


def said(one: RivalRow | None, whole: str = "the steps") -> str:
    """Where it is, for a share of ``whole``, as a sentence to go on with; "" of none."""
    if one is None:
        return ""
    at = f"{one.file}:{one.line}" if one.line else one.file
    who = "Another thread is" if one.count <= 1 else f"Meanwhile {one.count:.0f} threads are"
    return f" {who} in {one.function} ({at}) for {one.busy_frac:.0%} of {whole}."


def place(one: RivalRow | None) -> Place | None:
    """Where it is; None of none."""
    return None if one is None else Place(one.function, one.file, one.line or 0)
