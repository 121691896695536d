"""Source files of a compiled program, as its frames name them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.tables.hlo.module import parse_module, parse_stack_frames
from stepscope.tables.hlo.source import source_files, source_frames
from tests.profiles.hlo import f32, instruction, program


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_damaged_program_says_nothing_of_files(cut: int) -> None:
    whole = program("jit_f", [instruction("abs.1", "abs", f32(4), stack=[("me.py", 7, "loss")])])
    assert source_files(parse_stack_frames(whole)) == {"me.py"}
    assert source_files(parse_stack_frames(whole[:-cut])) <= {"me.py"}
    index = parse_stack_frames(whole)[:-cut]
    assert source_files(index) <= {"me.py"}
    module = parse_module(whole)
    assert module is not None
    torn = replace(module, stack_frames=index)
    assert {one.file for one in source_frames(torn, module.instructions["abs.1"])} <= {"me.py"}
