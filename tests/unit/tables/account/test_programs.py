"""Compiled functions stand for the runs of which no op was recorded."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.account.parts import parts
from stepscope.tables.account.programs import with_programs
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def kinds(ops: str) -> dict[str, str]:
    """Kind and name of the parts of steps that run ``train_step`` on a pool's thread."""
    one = host(
        f"""
        /host:CPU
          python                S---------S---------
          "                     J.........J.........
          tf_XLAPjRtCpuClient   .RRRRRRRR..RRRRRRRR.
          "                     {ops}
        """,
        J=event("PjitFunction(train_step)"),
        R=event("ThunkExecutor::Execute (wait for completion)"),
        O=event("dot.3", hlo_op="dot.3", hlo_module="jit_train_step"),
    )
    found = account(one)
    assert found is not None
    return {part.kind: part.name for part in with_programs(one, parts(found))}


def test_a_run_without_ops_is_of_the_function_that_was_called() -> None:
    assert kinds("." * 20)["program"] == "train_step"


def test_where_an_op_was_recorded_the_runtime_is_the_runtime() -> None:
    found = kinds("..OOOO..............")
    assert "program" not in found
    assert "op" in found
