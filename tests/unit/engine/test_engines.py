"""Engines answer for every item, whatever happens to the processes that work."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from stepscope.engine import ENGINES, Done, Failed, run
from stepscope.engine import pool as pool_engine
from stepscope.engine.pool import _Pool
from stepscope.errors import UsageError

LOCAL = ("here", "pool")


def double(item: int) -> int:
    return 2 * item


def refuse(item: int) -> int:
    if item == 3:
        raise ValueError("three is too many")
    return item


def die(item: tuple[str, str]) -> str:
    """Killed every time ("always"), the first time ("once": a file remembers), or never."""
    how, place = item
    mark = Path(place) / how
    if how == "always" or (how.startswith("once") and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return how


def outcomes(items: list[Any], work: Any, engine: str, **how: Any) -> dict[Any, Any]:
    found = run(items, work, engine=engine, bytes_of=lambda _: 1, **how)
    return {one.item: one.answer if isinstance(one, Done) else one.reason for one in found}


@pytest.mark.parametrize("engine", LOCAL)
def test_every_item_has_its_answer(engine: str) -> None:
    assert outcomes(list(range(7)), double, engine) == {one: 2 * one for one in range(7)}


@pytest.mark.parametrize("engine", LOCAL)
def test_one_failure_is_its_own(engine: str) -> None:
    found = outcomes(list(range(5)), refuse, engine)
    assert found == {0: 0, 1: 1, 2: 2, 3: "ValueError: three is too many", 4: 4}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes the way Unix does")
def test_who_kills_its_process_twice_is_named_and_all_others_are_answered(tmp_path: Path) -> None:
    names = ["a", "once1", "b", "always", "c", "once2", "d"]
    found = outcomes([(name, str(tmp_path)) for name in names], die, "pool", width=3)
    by_name = {name: answer for (name, _), answer in found.items()}
    assert "killed, twice" in by_name.pop("always")
    assert by_name == {name: name for name in names if name != "always"}


def test_a_pool_that_broke_takes_nothing_until_it_is_renewed(tmp_path: Path) -> None:
    pool = _Pool(1)
    try:
        assert pool.submit(die, ("always", str(tmp_path)))
        (future,) = pool.finished()
        assert isinstance(future.exception(), BrokenProcessPool)
        assert not pool.submit(die, ("a", str(tmp_path)))
        pool.renew()
        assert pool.submit(die, ("a", str(tmp_path)))
        assert [one.result() for one in pool.finished()] == ["a"]
    finally:
        pool.stop()


def test_a_process_that_the_executor_forgot_ends_with_the_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is one that was started while the pool broke: Python would wait for it at the end."""
    monkeypatch.setattr(pool_engine, "_END_SECONDS", 0.2)
    pool = _Pool(1)
    assert pool.submit(abs, -1)
    assert [future.result() for future in pool.finished()] == [1]
    forgotten = pool.started.Process(target=time.sleep, args=(600,))
    forgotten.start()
    pool.stop()
    assert len(pool.started.processes) == 2
    assert not any(one.is_alive() for one in pool.started.processes)


def test_a_process_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is one that the executor knows, and would wait for."""
    monkeypatch.setattr(pool_engine, "_END_SECONDS", 0.2)
    pool = _Pool(1)
    assert pool.submit(time.sleep, 600)
    pool.stop()
    assert [one.is_alive() for one in pool.started.processes] == [False]


def test_what_runs_at_once_fits_the_budget_and_the_largest_goes_first(tmp_path: Path) -> None:
    began: list[int] = []
    found = run(
        [1, 5, 3],
        double,
        engine="here",
        bytes_of=lambda item: began.append(item) or item,  # type: ignore[func-returns-value]
    )
    assert [one.item for one in found] == [5, 3, 1]


def test_a_budget_smaller_than_any_item_lets_one_run_at_a_time() -> None:
    found = run(list(range(4)), double, engine="pool", bytes_of=lambda _: 100, budget_bytes=1)
    assert sorted(one.item for one in found) == [0, 1, 2, 3]


def test_to_stop_is_to_stop_iterating() -> None:
    found = run(list(range(100)), double, engine="pool", bytes_of=lambda _: 1)
    assert isinstance(next(found), Done | Failed)
    found.close()  # type: ignore[attr-defined]  # engines are generators


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(UsageError, match="no engine 'spark'"):
        run([1], double, engine="spark", bytes_of=lambda _: 1)


def test_ray_gives_the_answers_of_the_others() -> None:
    pytest.importorskip("ray", reason="needs the extra pods")
    assert "ray" in ENGINES
    assert outcomes(list(range(5)), refuse, "ray") == outcomes(list(range(5)), refuse, "here")
