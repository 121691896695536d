"""Steps played again: what is left of a saving, worked out by hand from each picture."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account import compute
from stepscope.tables.account.account import Account, account
from stepscope.tables.core import interval_overlap
from stepscope.tables.core.profile import Host
from stepscope.tables.parts import replay
from stepscope.tables.parts.grouping import parts
from stepscope.tables.parts.replay import WhatIf, dependencies, saved_ps, what_if
from tests.profiles import draw, event, nth, space
from tests.profiles.drawing import Drawn

STEP = event("train", step_num=nth, _r=1)
PREPARE = event("$train.py:12 prepare")
CALL = event("FunctionRun")
OP = event("a/MatMul:MatMul")
MS = 1e9


def drawn(picture: str, **events: Drawn) -> Account:
    """Steps of 1 ms, 100 µs a character."""
    found = account(Host("h", decode(space(*draw(picture, unit_us=100, S=STEP, **events)))))
    assert found is not None
    return found


def without(found: Account, name: str) -> WhatIf:
    """What is saved without a part."""
    made = parts(found)
    at = next(at for at, part in enumerate(made) if name in (part.name, part.kind))
    return what_if(found, made)[at]


def ms(found: WhatIf) -> tuple[float, float, float]:
    return found.alone_ps / MS, found.typical_ps / MS, found.most_ps / MS


def test_a_function_that_the_work_waits_for_saves_all_its_time() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------S---------
          "        PPPPFFFF..PPPPFFFF..PPPPFFFF..
          tf_pool  .....OOO.......OOO.......OOO..
        """,
        P=PREPARE,
        F=CALL,
        O=OP,
    )
    # 400 µs alone; with it the 100 and 200 µs around the op and a third of its 300 µs, which is
    # less than twice the function.
    assert ms(without(found, "prepare")) == pytest.approx((0.4, 0.4, 0.4 + 0.3 + 0.1))


def test_work_that_goes_on_beside_a_function_bounds_what_it_saves() -> None:
    """300 µs of work were hidden by 800 of Python: without it a step takes those 300 and 100."""
    found = drawn(
        """
        /host:CPU
          python   S---------S---------S---------
          "        .PPPPPPPP..PPPPPPPP..PPPPPPPP.
          tf_pool  OOOO......OOOO......OOOO......
        """,
        P=PREPARE,
        O=OP,
    )
    alone, typical, most = ms(without(found, "prepare"))
    assert alone == pytest.approx(0.6)
    assert typical == pytest.approx(0.6)
    # At best the work gets shorter, too: by half of the 300 µs that shared the cores with it, and
    # by a third of all 400.
    assert most == pytest.approx(0.6 + 0.15 + 0.4 / 3)
    # Of eight cores it held one.
    made = parts(found)
    at = next(at for at, one in enumerate(made) if one.name == "prepare")
    assert what_if(found, made, cores=8)[at].most_ps / MS == pytest.approx(0.6 + 0.3 / 8 + 0.4 / 3)


def test_what_runs_beside_ops_of_the_host_has_a_core_of_theirs() -> None:
    """The step waits for 900 µs of ops, which 800 of Python slow down: 100 go for sure."""
    found = drawn(
        """
        /host:CPU
          python   S---------S---------S---------
          "        .PPPPPPPP..PPPPPPPP..PPPPPPPP.
          tf_pool  OOOOOOOOO.OOOOOOOOO.OOOOOOOOO.
        """,
        P=PREPARE,
        O=OP,
    )
    # Of two cores it held one for 800 µs; and a third of the ops may go with it.
    assert ms(without(found, "prepare")) == pytest.approx((0.1, 0.1, 0.1 + 0.4 + 0.9 / 3), abs=1e-3)


def test_a_wait_takes_back_what_the_thread_gained_before_it() -> None:
    """The device is busy for 900 of 1,000 µs: only its pause of 100 can go."""
    found = drawn(
        """
        /host:CPU
          python     S---------S---------S---------
          "          PP........PP........PP........
        /device:GPU:0
          Stream #7  .KKKKKKKKK.KKKKKKKKK.KKKKKKKKK
        """,
        P=PREPARE,
        K=event("sgemm", correlation_id=nth),
    )
    assert ms(without(found, "prepare"))[:2] == pytest.approx((0.1, 0.1))


def test_input_that_is_made_all_the_time_bounds_what_the_host_saves() -> None:
    """Without the function the thread would wait 300 µs longer for the pipeline."""
    picture = """
        /host:CPU
          python   S---------S---------S---------
          "        IIII.PPP..IIII.PPP..IIII.PPP..
          tf_data_private/1  MMMMMMMMMMMMMMMMMMMMMMMMMMMMMM
    """
    events = {"I": event("IteratorGetNext"), "P": PREPARE, "M": event("Iterator::Map")}
    found = drawn(picture, **events)
    assert without(found, "prepare").alone_ps < 0.15 * MS
    assert without(found, "input").alone_ps == pytest.approx(0.4 * MS)


def test_a_burst_of_one_step_is_no_part_of_the_typical_one() -> None:
    found = drawn(
        """
        /host:CPU
          python   S-----S-----S---------S-----S-----
          "        PPPP..PPPP..PPPP.FFFF.PPPP..PPPP..
        """,
        P=PREPARE,
        F=CALL,
    )
    step = (4 * 0.6 + 1.0) / 5
    saved = without(found, "prepare")
    assert saved.alone_ps / MS == pytest.approx(0.4)
    assert saved.typical_ps / MS == pytest.approx(4 / 6 * step)
    assert without(found, "framework").typical_ps == 0


def test_a_short_step_says_little_however_large_its_share() -> None:
    """All of the function is 400 of 2,000 µs; of the short step it has the whole, 200 of 200."""
    found = drawn(
        """
        /host:CPU
          python   S-----------------S-
          "        PPFFFFFFFFFFFFFFFFPP
        """,
        P=PREPARE,
        F=CALL,
    )
    saved = without(found, "prepare")
    assert saved.alone_ps / MS == pytest.approx(0.2)
    assert saved.typical_ps / MS == pytest.approx(2 / 18 * 1.0)


def test_at_most_it_saves_what_it_has_of_a_step_that_nothing_made_longer() -> None:
    """Four steps of 600 µs have 400 of it each; of three of 1,000 µs the last alone has as much."""
    found = drawn(
        """
        /host:CPU
          python   S-----S-----S-----S-----S---------S---------S---------
          "        PPPP..PPPP..PPPP..PPPP...........................PPPP.
        """,
        P=PREPARE,
    )
    saved = without(found, "prepare")
    step = (4 * 0.6 + 3 * 1.0) / 7
    assert saved.typical_ps / MS < 0.5 * step
    assert saved.most_ps / MS >= 4 / 6 * step


def test_of_ops_whose_function_is_unknown_any_may_go_with_an_op() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------S---------
          tf_pool  .MMMMOO....MMMMOO....MMMMOO...
        """,
        M=event("a/MatMul:MatMul"),
        O=event("a/Sort:Sort"),
    )
    assert without(found, "MatMul").most_ps / MS >= 0.6


def test_what_is_as_it_was_saves_nothing() -> None:
    found = drawn(
        """
        /host:CPU
          python   S---------S---------
          "        PPPPFFFF..PPPPFFFF..
          tf_pool  .....OOO.......OOO..
        """,
        P=PREPARE,
        F=CALL,
        O=OP,
    )
    saved = saved_ps(found, dependencies(found), np.zeros(len(found.kind)))
    assert not saved.any()


def test_blocks_of_any_length_tell_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans reach into the next block, and what one block saves leads into the next."""

    def told() -> tuple[list[WhatIf], list[list[int]]]:
        found = drawn(
            """
            /host:CPU
              python   S---------S---------S---------
              "        PPPPFFFF..PPPPFFFF..PPPPFFFF..
              tf_pool  .....OOOOOOOO..OOOO.......OOO.
              tf_pool  ..OOOOOO....OO........OO...O..
            """,
            P=PREPARE,
            F=CALL,
            O=OP,
        )
        return what_if(found, parts(found)), found.time_ps.tolist()

    whole = told()
    monkeypatch.setattr(interval_overlap, "_BLOCK", 1)
    for module in (compute, replay):
        monkeypatch.setattr(module, "BLOCK", 1)
    assert told() == whole
    assert any(one.alone_ps > 0 for one in whole[0])
