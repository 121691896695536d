"""Through which library's call an op runs."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.parts.grouping import parts
from stepscope.tables.parts.shares import library_call
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def through(*lines: str, pool: str = 20 * ".") -> str:
    """The call that runs ``sort`` in two steps of 1 ms; ``lines`` from the outside in."""
    text = "\n          ".join(f'"        {one}' for one in lines)
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          {text}
          tf_pool  {pool}
        """,
        L=event("$/home/me/train.py:50 main"),
        T=event("$/home/me/train.py:30 track"),
        W=event("$/venv/lib/python3.11/site-packages/torchmetrics/metric.py:9 wrapped_func"),
        C=event("$/venv/lib/python3.11/site-packages/torchmetrics/auroc.py:40 AUROC.compute"),
        P=event("$/home/me/train.py:70 Mine.compute"),
        o=event("aten/sort:sort"),
        Q=event("$/usr/lib/python3.11/queue.py:154 Queue.get"),
        w=event("$/usr/lib/python3.11/threading.py:295 Condition.wait"),
        F=event("FunctionRun"),
        k=event("auc/TopKV2:TopKV2"),
    )
    found = account(one)
    assert found is not None
    listed = parts(found, owners(found))
    (part,) = (part for part in listed if part.kind == "op")
    return library_call(one, found, part, part.first.event)


def test_the_call_is_named_and_not_what_decorates_it() -> None:
    found = through(
        "L-------------------",
        "T--------.T--------.",
        "W-------..W-------..",
        "C-----....C-----....",
        ".ooo.......ooo......",
    )
    assert found == "torchmetrics.AUROC.compute"


def test_what_the_program_runs_itself_runs_within_none() -> None:
    assert through("L-------------------", "T-ooo-----T-ooo-----") == ""


def test_a_function_of_the_program_that_a_library_calls_back_is_the_programs() -> None:
    found = through(
        "L-------------------",
        "W-------..W-------..",
        "P-----....P-----....",
        ".ooo.......ooo......",
    )
    assert found == ""


def test_what_another_thread_runs_runs_within_no_call_of_this_one() -> None:
    calls = ("L-------------------", "C--------.C--------.", ".FFFFF.....FFFFF....")
    assert through(*calls, pool="..kkk.......kkk.....") == ""


def test_what_a_thread_runs_it_does_not_run_in_a_wait() -> None:
    """The last look saw the thread in its queue, and the op began before the next."""
    assert not through(
        "L-------------------",
        "Q----.....Q----.....",
        ".w---......w---.....",
        "..ooo.......ooo.....",
    )
