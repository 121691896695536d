"""A call of the loop's has all that is below it, however many places that is in."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import outer_calls, owners
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def below(*lines: str) -> dict[str, float]:
    """Milliseconds of two steps of 1 ms below each call."""
    text = "\n          ".join(f'"        {one}' for one in lines)
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          {text}
        """,
        L=event("$train.py:50 main"),
        C=event("$train.py:12 check"),
        N=event("$train.py:20 net"),
        T=event("$train.py:30 step"),
        j=event("PjitFunction(add)"),
        k=event("PjitFunction(train_step)"),
    )
    found = account(one)
    assert found is not None
    listed = outer_calls(found, owners(found))
    return {
        f"{one.site.function}{' of the loop' * one.is_loop}": round(one.total_ps / 1e9, 6)
        for one in listed
    }


def test_what_a_call_calls_is_below_it() -> None:
    """Of 1 ms, check has 600 µs, half of them in net; step has 200."""
    found = below(
        "L-------------------",
        "C-----TT..C-----TT..",
        ".N--..kk...N--..kk..",
        ".jjj.......jjj......",
    )
    assert found == {"main of the loop": 2.0, "check": 1.2, "net": 0.6, "step": 0.4}
    assert list(found) == sorted(found, key=lambda name: -found[name])
