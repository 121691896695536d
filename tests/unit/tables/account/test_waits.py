"""When the loop's thread waits, though no event or call of its own lasts as long."""

from __future__ import annotations

import pytest

from tests.profiles import event
from tests.unit.tables.account.test_account import host, told


def test_between_two_marks_of_a_wait_the_thread_waits_whatever_runs() -> None:
    """The work was over long before the thread was woken: nothing of that is Python's."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .DW......W.DW.....W.
          tf_pool  ...OO........O......
        """,
        D=event("PjitFunction(step)"),
        W=event("CommonPjRtBuffer::Await"),
        O=event("a/MatMul:MatMul"),
    )
    # 600 and 500 µs between the marks, 200 and 100 of which an op runs; the marks have 100 each.
    assert told(one)["wait", "CommonPjRtBuffer::Await"] == pytest.approx(0.4 + 0.4 + 0.4)


def test_a_call_from_before_the_steps_waits_in_their_first_pause() -> None:
    """It ends with the work; what ran before the steps, and that it waited for it, is not seen."""
    picture = """
        /host:CPU
          python   ..S---------S---------
          "        L---------------------
          tf_pool  ......O---------------
        """
    ops = {"L": event("$train.py:12 wait_for_all"), "O": event("a/MatMul:MatMul")}
    assert told(host(picture, **ops)) == {("op", "a/MatMul"): 1.6, ("wait", ""): 0.4}
    prepares = picture.replace('"        L-----', '"        L--P--')
    ops["P"] = event("$train.py:30 prepare")
    assert told(host(prepares, **ops))["python", "prepare"] == 0.3


def test_what_xla_waits_within_a_scope_is_over_when_the_scope_is() -> None:
    """Freeing old parameters leaves such scopes; the batch that is made after them is Python's."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        DWPPPPPPP.DWPPPPPPP.
          tf_pool  .OOOOOOO...OOOOOOO..
        """,
        P=event("$loader.py:30 read_wav"),
        D=event("PjitFunction(step)"),
        W=event("Wait for usage holds"),
        O=event("a/MatMul:MatMul"),
    )
    assert told(one)["python", "read_wav"] == pytest.approx(1.4)
