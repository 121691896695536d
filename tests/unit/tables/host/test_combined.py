"""What XLA makes of several ops, with the names of all of them."""

from __future__ import annotations

from stepscope.tables.hlo.module import parse_module
from stepscope.tables.host.ops import hlo_framework_op
from tests.profiles.hlo import f32, instruction, program

COMBINED = "jit(step)/(transpose(jvp())/dot_general:transpose(jvp())/dot_general:jvp()/reduce_sum)"


def test_an_exchange_of_several_gradients_is_named_after_what_it_does() -> None:
    given = instruction("x", "parameter", f32(8), parameter_number=0)
    one = instruction("all-reduce.4", "all-reduce", f32(8), "x", op_name=COMBINED)
    plain = instruction(
        "dot.1", "dot", f32(8), "x", op_name="jit(step)/jvp(btd,bnd->btn)/dot_general"
    )
    module = parse_module(program("jit_step", [given, one, plain]))
    named = hlo_framework_op(module, "all-reduce.4")
    assert (named.name, named.type) == ("jit(step)/all-reduce", "all-reduce")
    assert hlo_framework_op(module, "dot.1").type == "dot_general"
