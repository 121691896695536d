"""Backward passes and optimizers in the account of a step."""

from __future__ import annotations

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.parts.grouping import parts
from tests.profiles import event, nth
from tests.unit.tables.account.test_account import host, owner_named, told


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


def test_a_closure_that_the_recording_cuts_is_the_models() -> None:
    """Only the forward pass of the last closure is recorded: it is not the optimizer's work."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .F-E-A-....U--------
          "        ............F--F----
        """,
        F=event("aten/mm:mm", **{names.SEQUENCE_NUMBER: 1}, args='{"Fwd thread id": 0}'),
        U=event("Optimizer.step#Adam.step"),
        E=event("autograd::engine::evaluate_function: MmBackward0"),
        A=event("aten/mul:mul"),
    )
    found = account(one)
    assert found is not None
    assert {part.name for part in parts(found) if part.kind == "op"} == {"matmul", "mul"}


def test_the_profilers_step_may_end_after_the_optimizers_it_begins_in() -> None:
    """Lightning runs the model within the optimizer's step, and the profiler's step() there."""
    one = host(
        """
        /host:CPU
          python   .U-------........U-------.......
          "        ..M...............M.............
          "        ...P---------------P------------
          "        ....E-..............E-..........
          "        ......A...............A.........
        """,
        P=event("ProfilerStep#7"),
        M=event("aten/mm:mm"),
        U=event("Optimizer.step#AdamW.step"),
        E=event("autograd::engine::evaluate_function: MmBackward0"),
        A=event("aten/mul:mul"),
    )
    found = account(one)
    assert found is not None
    names = {part.name for part in parts(found) if part.kind == "op"}
    assert {"matmul", "AdamW update"} <= names


def test_the_step_of_pytorchs_profiler_is_the_recorders_but_for_the_programs_code_in_it() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        T-------------------
          "        .......P--.....P---.
          "        .......E--.....H-E..
        """,
        T=event("$/home/me/train.py:40 train"),
        P=event("$torch/profiler/profiler.py:1227 step"),
        E=event("$torch/autograd/profiler.py:918 __enter__"),
        H=event("$/home/me/train.py:9 upload"),
    )
    assert told(one)["recorder", ""] == 0.5
    assert owner_named(one, "upload").total_ps == 200_000_000


def test_a_framework_that_traces_a_function_compiles_it_with_the_functions_own_code() -> None:
    """The line that calls the compiled function has all of it, whatever else its call does."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        T-------------------
          "        .J------...J------..
          "        .C.L----...C.L----..
          "        .....E-......E-.....
        """,
        T=event("$/home/me/train.py:40 train"),
        J=event("$jax/_src/pjit.py:250 cache_miss"),
        C=event("$jax/_src/pjit.py:466 _trace_for_jit"),
        L=event("$jax/_src/compiler.py:387 compile_or_get_cached"),
        E=event("$/home/me/train.py:9 encode"),
    )
    found = account(one)
    assert found is not None
    listed = {(part.kind, part.first.function): part.total_ps for part in parts(found)}
    assert listed["compile", "train"] == 1_200_000_000
