"""The program's own Python on other threads, while the loop waits for what they make."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.hints.calls import of_call
from stepscope.result import Finding, Place

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount
    from stepscope.verdicts.other_threads import RivalRow


# What to do about the function that makes batches, which is to be named.
_DO_LESS: Final = (
    "Do less for each element in {}: cut, resize or filter before what works on each value; what "
    "is the same in each pass once, before the loop; tables and files as arrays in memory; whole "
    "batches instead of single rows."
)


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
    who = "Another thread runs" if one.count <= 1 else f"Meanwhile {one.count:.0f} threads run"
    call = f"{one.call} in " if one.call else ""
    return f" {who} Python for {one.busy_frac:.0%} of {whole}, most in {call}{one.function} ({at})."


def asked(one: RivalRow | None) -> tuple[str, ...]:
    """Return what to do about its call; () if none is known."""
    return () if one is None else of_call(one.call, is_most=True)


def place(one: RivalRow | None) -> Place | None:
    """Where it is; None of none."""
    return None if one is None else Place(one.function, one.file, one.line or 0)


def less_work(function: str) -> tuple[str, ...]:
    """Return what to do about the function that makes batches."""
    return (_DO_LESS.format(function),)


def with_maker(one: Finding, place: Place) -> Finding:
    """A finding about input that says which function makes the batches, and to do less there."""
    at = f"{place.file}:{place.line}" if place.line else place.file
    call = f"{place.call} in " if place.call else ""
    where = f" Most of it runs in {call}{place.function} ({at})."
    return replace(
        one,
        # A rule that has named the function by its line has said it.
        message=one.message if f"{place.function} ({at})" in one.message else one.message + where,
        # One that has asked by its name has done that, too.
        actions=tuple(dict.fromkeys((*one.actions, *less_work(place.function)))),
    )
