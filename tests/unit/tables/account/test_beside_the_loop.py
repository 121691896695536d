"""What the account makes of other threads, and of recordings with one thread alone."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.account.parts import parts
from stepscope.tables.core.profile import Host
from tests.profiles import event, nth, space
from tests.profiles.model import host as host_plane
from tests.profiles.model import line, plane
from tests.unit.tables.account.test_account import host, owner_named, told


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


def test_a_gradient_is_of_the_line_that_ran_the_op_it_is_of() -> None:
    """Both steps call distance, whose subtraction autograd numbers, then backward."""
    backward = {"sequence_number": 7 + nth, "args": '{"Fwd thread id": 1}'}
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        T--------.T--------.
          "        .D--......D--.......
          "        ..O.......O-........
          "        .....B--........B-..
          "        ......G-........G-..
        """,
        T=event("$train.py:40 train"),
        D=event("$train.py:12 distance"),
        O=event("aten/sub:sub", sequence_number=7 + nth, args="{}"),
        B=event("MulBackward0:MulBackward0", **backward),
        G=event("aten/mul:mul"),
    )
    assert owner_named(one, "aten/mul").function == "distance"
    assert owner_named(one, "MulBackward0").function == "distance"
    assert owner_named(one, "train").function == "train"


def test_a_gradient_whose_forward_op_was_not_recorded_is_of_backwards_line() -> None:
    backward = {"sequence_number": 3, "args": '{"Fwd thread id": 1}'}
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        T--------.T--------.
          "        .D--......D--.......
          "        ..O.......O-........
          "        .....B--........B-..
        """,
        T=event("$train.py:40 train"),
        D=event("$train.py:12 distance"),
        O=event("aten/sub:sub", sequence_number=9, args="{}"),
        B=event("MulBackward0:MulBackward0", **backward),
    )
    assert owner_named(one, "MulBackward0").function == "train"


def test_the_ops_of_an_optimizers_step_are_one_part() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .M-U----...M-U----..
          "        ...AAB.......AAB....
        """,
        M=event("aten/mm:mm"),
        U=event("Optimizer.step#Adam.step"),
        A=event("aten/sqrt:sqrt"),
        B=event("aten/lerp_:lerp_"),
    )
    found = account(one)
    assert found is not None
    made = {part.name: part.total_ps / 1e9 for part in parts(found) if part.kind == "op"}
    assert made == {"Adam update": pytest.approx(0.6), "matmul": pytest.approx(0.4)}


def test_a_step_with_a_closure_is_not_all_the_optimizers() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .U------...U------..
          "        .M-E--.....M-E--....
          "        ...A-........A-.....
        """,
        M=event("aten/mm:mm"),
        U=event("Optimizer.step#LBFGS.step"),
        E=event("autograd::engine::evaluate_function: MmBackward0"),
        A=event("aten/mul:mul"),
    )
    found = account(one)
    assert found is not None
    assert {part.name for part in parts(found) if part.kind == "op"} == {"matmul", "mul"}


def test_ops_that_a_graph_names_after_its_optimizer_are_its_update() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .F------...F------..
          tf_pool  ..AAB.......AAB.....
        """,
        F=event("FunctionRun"),
        A=event("adam/Sqrt_3:Sqrt"),
        B=event("adam/AssignSubVariableOp_3:AssignSubVariableOp"),
    )
    found = account(one)
    assert found is not None
    made = {part.name: part.total_ps / 1e9 for part in parts(found) if part.kind == "op"}
    assert made == {"adam update": pytest.approx(0.6)}
