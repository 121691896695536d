"""Compiled functions stand for the runs of which no op was recorded."""

from __future__ import annotations

from stepscope.tables.account.account import account
from stepscope.tables.parts.grouping import lines_of, parts, with_programs
from tests.profiles import draw, event
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.unit.analysis.compiled import profile
from tests.unit.tables.account.test_account import STEP

STACK = [("train.py", 12, "scores"), ("train.py", 30, "loss_of")]


def lines(name: str) -> list[tuple[str, int, int]]:
    """What is known of the lines of a step's only part, whose program has this name."""
    entry = [
        instruction("x", "parameter", f32(1000), parameter_number=0),
        instruction("e", "exponential", f32(1000), "x", op_name="jit(f)/exp", stack=STACK),
        instruction("s", "add", f32(1000), "e", "e", op_name="jit(f)/add"),
    ]
    planes = draw(
        """
        /host:CPU
          python                S---------S---------
          "                     J.........J.........
          tf_XLAPjRtCpuClient   .RRRRRRRR..RRRRRRRR.
        """,
        unit_us=100,
        S=STEP,
        J=event("PjitFunction(train_step)"),
        R=event("ThunkExecutor::Execute (wait for completion)"),
    )
    (one,) = profile(metadata_plane((name, 7, program(name, entry))), *planes).hosts
    found = account(one)
    assert found is not None
    (largest,) = [part for part in with_programs(one, parts(found)) if part.kind == "program"]
    return [
        (line.name, line.frame.line, round(100 * line.share)) for line in lines_of(one, largest)
    ]


def test_its_program_has_the_lines_that_the_work_comes_from() -> None:
    assert lines("jit_train_step") == [("exp", 12, 91)]
