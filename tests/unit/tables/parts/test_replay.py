"""What a step saves without a part: replayed with what waits for what."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.tables.account import compute
from stepscope.tables.account.account import Account
from stepscope.tables.core import time_spans
from stepscope.tables.parts import replay
from stepscope.tables.parts.grouping import parts
from stepscope.tables.parts.replay import WhatIf, dependencies, saved_ps, what_if
from tests.profiles import event, nth
from tests.unit.tables.account.drawn import Letters, accounted, host

MS = 1e9
LETTERS: Letters = {
    "P": "$train.py:12 prepare",
    "F": "FunctionRun",
    "O": "a/MatMul:MatMul",
    "Q": "a/Sort:Sort",
    "I": "IteratorGetNext",
    "M": "Iterator::Map",
    "K": event("sgemm", correlation_id=nth),
}


def drawn(*rows: str, steps: int = 3, loop: str = "") -> Account:
    """Steps of 1 ms."""
    return accounted(host(*rows, steps=steps, loop=loop, **LETTERS))


def without(found: Account, name: str, cores: int | None = None) -> WhatIf:
    """What is saved without a part."""
    made = parts(found)
    at = next(at for at, part in enumerate(made) if name in (part.name, part.kind))
    return (what_if(found, made, cores=cores) if cores else what_if(found, made))[at]


def ms(found: WhatIf) -> tuple[float, float, float]:
    return found.alone_ps / MS, found.typical_ps / MS, found.most_ps / MS


@pytest.mark.parametrize(
    ("rows", "saved_ms"),
    [
        # With it go the 100 and 200 µs around the op and 0.3 of its 300 µs, which is less
        # than twice the function.
        (["PPPPFFFF..", "tf_pool  .....OOO.."], (0.4, 0.4, 0.4 + 0.3 + 0.3 * 0.3)),
        # Without it a step takes the 300 µs of work that it hid, and 100 more. At best the work
        # gets shorter, too: by half of what shared the cores with it, and by 0.3 of all 400.
        ([".PPPPPPPP.", "tf_pool  OOOO......"], (0.6, 0.6, 0.6 + 0.15 + 0.3 * 0.4)),
        # The step waits for 900 µs of ops. Of two cores it held one for 800 µs; and 0.3 of
        # the ops may go with it.
        ([".PPPPPPPP.", "tf_pool  OOOOOOOOO."], (0.1, 0.1, 0.1 + 0.4 + 0.3 * 0.9)),
    ],
    ids=["the work waits for it", "work goes on beside it", "ops have a core of theirs"],
)
def test_work_beside_a_function_bounds_what_it_saves(
    rows: list[str], saved_ms: tuple[float, float, float]
) -> None:
    thread, pool = rows
    name, _, ops = pool.partition("  ")
    found = drawn(thread * 3, f"{name}  {ops * 3}")
    assert ms(without(found, "prepare")) == pytest.approx(saved_ms, abs=1e-3)


def test_of_many_cores_a_function_holds_one() -> None:
    found = drawn(".PPPPPPPP." * 3, f"tf_pool  {'OOOO......' * 3}")
    most_ms = 0.6 + 0.3 / 8 + 0.3 * 0.4
    assert ms(without(found, "prepare", cores=8))[2] == pytest.approx(most_ms)


def test_a_wait_takes_back_what_the_thread_gained_before_it() -> None:
    """The device is busy for 900 of 1,000 µs: only its pause of 100 can go."""
    kernels = ("/device:GPU:0", f"Stream #7  {'.KKKKKKKKK' * 3}")
    found = drawn("PP........" * 3, *kernels)
    assert ms(without(found, "prepare"))[:2] == pytest.approx((0.1, 0.1))


def test_input_that_is_made_all_the_time_bounds_what_the_host_saves() -> None:
    """Without the function the thread would wait 300 µs longer for the pipeline."""
    found = drawn("IIII.PPP.." * 3, f"tf_data_private/1  {'M' * 30}")
    assert without(found, "prepare").alone_ps < 0.15 * MS
    assert without(found, "input").alone_ps == pytest.approx(0.4 * MS)


def test_a_burst_of_one_step_is_no_part_of_the_typical_one() -> None:
    found = drawn("PPPP..PPPP..PPPP.FFFF.PPPP..PPPP..", loop="S-----S-----S---------S-----S-----")
    step = (4 * 0.6 + 1.0) / 5
    assert ms(without(found, "prepare"))[:2] == pytest.approx((0.4, 4 / 6 * step))
    assert without(found, "framework").typical_ps == 0


def test_a_short_step_says_little_however_large_its_share() -> None:
    """All of the function is 400 of 2,000 µs; of the short step it has the whole, 200 of 200."""
    found = drawn("PPFFFFFFFFFFFFFFFFPP", loop="S-----------------S-")
    assert ms(without(found, "prepare"))[:2] == pytest.approx((0.2, 2 / 18 * 1.0))


def test_at_most_it_saves_what_it_has_of_a_step_that_nothing_made_longer() -> None:
    """Four steps of 600 µs have 400 of it each; of three of 1,000 µs the last alone has as much."""
    found = drawn(f"{'PPPP..' * 4}{'.' * 25}PPPP.", loop="S-----" * 4 + "S---------" * 3)
    saved = without(found, "prepare")
    step = (4 * 0.6 + 3 * 1.0) / 7
    assert saved.typical_ps / MS < 0.5 * step
    assert saved.most_ps / MS >= 4 / 6 * step


def test_of_ops_whose_function_is_unknown_any_may_go_with_an_op() -> None:
    found = drawn("." * 30, f"tf_pool  {'.OOOOQQ...' * 3}")
    assert without(found, "MatMul").most_ps / MS >= 0.6


def test_what_is_as_it_was_saves_nothing() -> None:
    found = drawn("PPPPFFFF.." * 2, f"tf_pool  {'.....OOO..' * 2}", steps=2)
    assert not saved_ps(found, dependencies(found), np.zeros(len(found.kind))).any()


def test_blocks_of_any_length_tell_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans reach into the next block, and what one block saves leads into the next."""

    def told() -> tuple[list[WhatIf], list[list[int]]]:
        found = drawn(
            "PPPPFFFF..PPPPFFFF..PPPPFFFF..",
            "tf_pool  .....OOOOOOOO..OOOO.......OOO.",
            "tf_pool  ..OOOOOO....OO........OO...O..",
        )
        return what_if(found, parts(found)), found.time_ps.tolist()

    whole = told()
    monkeypatch.setattr(time_spans, "_BLOCK", 1)
    for module in (compute, replay):
        monkeypatch.setattr(module, "BLOCK", 1)
    assert told() == whole
    assert any(one.alone_ps > 0 for one in whole[0])
