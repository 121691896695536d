"""What the account makes of other threads, and of recordings with one thread alone."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import parts
from tests.profiles import event, space
from tests.profiles.model import host as host_plane
from tests.profiles.model import line, plane
from tests.unit.tables.account.test_account import host, told


@pytest.mark.parametrize(
    ("sort", "sorting_ms"), [(".OOOOOOO..", 0.7), (".OO.......", 0.0)], ids=["as long", "short"]
)
def test_of_ops_that_run_beside_each_other_one_that_is_unusual_has_the_time(
    sort: str, sorting_ms: float
) -> None:
    """A loss and a sort of like length, on two threads: a person can do without the sort.

    Where the sort is short beside the loss, it costs nothing.
    """
    one = host(
        f"""
        /host:CPU
          python      {2 * ("S" + 9 * "-")}
          "           {2 * ("F" + 9 * "-")}
          tf_pool     {2 * ".LLLLLLLL."}
          tf_compute  {2 * sort}
        """,
        F=event("FunctionRun"),
        L=event("loss/SparseSoftmaxCrossEntropyWithLogits:SparseSoftmaxCrossEntropyWithLogits"),
        O=event("sort/TopKV2:TopKV2"),
    )
    found = account(one)
    assert found is not None
    times = {owner.name: owner.total_ps / 1e9 for owner in owners(found)}
    assert times.get("sort/TopKV2", 0.0) == pytest.approx(2 * sorting_ms)


@pytest.mark.parametrize("thread", ["tf_XLAEigen", "-839201", "worker"])
def test_a_runtimes_work_is_known_on_a_thread_without_a_name(thread: str) -> None:
    """``worker`` is a thread of the program's own: what it does is not waited for."""
    one = host(
        f"""
        /host:CPU
          python       S---------S---------
          "            PP........PP........
          {thread:12} ..XXXXXX....XXXXXX..
        """,
        P=event("$train.py:12 prepare"),
        X=event("ThunkExecutor::Execute"),
    )
    of_runtime = told(one).get(("runtime", "ThunkExecutor::Execute"), 0.0)
    assert of_runtime == (0.0 if thread == "worker" else 1.2)


def test_python_alone_is_accounted_for_as_a_whole() -> None:
    """A program of NumPy under the sampler: no framework wrote anything."""
    samples = line(
        "MainThread",
        ("$slow.py:4 main", 0, 1000),
        ("$slow.py:9", 0, 400),
        ("$slow.py:2 work", 0, 400),
    )
    one = Host("h", decode(space(plane(names.PYTHON_SAMPLES_PLANE, samples))))
    found = account(one)
    assert found is not None
    assert found.found.markers.is_window
    assert {part.name: part.total_ps / 1e9 for part in parts(found)} == {
        "main": pytest.approx(0.6),
        "work": pytest.approx(0.4),
    }


def test_a_runtimes_call_that_is_the_only_step_is_work() -> None:
    one = Host(
        "h", decode(space(host_plane(line("julia", ("PjRtLoadedExecutable::Execute", 0, 900)))))
    )
    assert set(told(one)) == {("framework", "")}


def test_a_pause_of_what_a_call_waits_for_is_waiting_too() -> None:
    """Methods of C++ objects leave no call of their own: the program's line waits to its end."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .W--------.W--------
          tf_pool  ...OO.OOOO...OO.OOOO
        """,
        W=event("$train.py:78 main"),
        O=event("a/MatMul:MatMul"),
    )
    # What comes before it computes is the program's own.
    assert told(one) == {
        ("op", "a/MatMul"): 1.2,
        ("wait", ""): 0.2,
        ("python", "main"): 0.4,
        ("unrecorded", ""): 0.2,
    }
