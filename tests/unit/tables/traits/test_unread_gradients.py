"""Gradients that only a norm, or a product with zero, reads."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.traits.unread_gradients import unread_gradients
from tests.profiles import space
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program, tuple_of

BACK = "jit(step)/transpose(jvp(Net))/dot_general"
NORM = "jit(step)/reduce_sum"


def scalar(name: str, opcode: str, *operands: str, **fields: Any) -> Instruction:
    return instruction(name, opcode, f32(), *operands, **fields)


def weights(name: str, opcode: str, *operands: str, **fields: Any) -> Instruction:
    return instruction(name, opcode, f32(8, 8), *operands, **fields)


def parameters() -> list[Instruction]:
    return [
        weights("trunk", "parameter", parameter_number=0, op_name="params['trunk']"),
        weights("head", "parameter", parameter_number=1, op_name="params['head']"),
        weights("x", "parameter", parameter_number=2),
    ]


def product(name: str, *operands: str) -> Instruction:
    return weights(name, "dot", *operands, op_name=BACK, contracting=(1, 0))


def clipped(of_trunk: str = "trunk") -> list[Instruction]:
    """Both gradients make the norm, and that of the head moves it by as much as the norm allows."""
    results = (
        weights("d_moved", "multiply", "d_trunk", "scale", op_name="jit(step)/mul"),
        weights("as_it_was", "copy", "trunk"),
    )
    return [
        *parameters(),
        product("d_head", "x", "head"),
        product("d_trunk", "d_head", "trunk"),
        scalar("s_head", "reduce", "d_head", op_name=NORM),
        scalar("s_trunk", "reduce", "d_trunk", op_name=NORM),
        scalar("norm", "add", "s_head", "s_trunk"),
        weights("scale", "broadcast", "norm"),
        weights("moved", "multiply", "d_head", "scale", op_name="jit(step)/mul"),
        *(one for one in results if one.name == of_trunk),
        instruction("all", "tuple", tuple_of(f32(8, 8), f32(8, 8)), of_trunk, "moved"),
    ]


def f32_literal(value: float) -> bytes:
    """An xla.LiteralProto: a shape, and one packed f32."""
    return b"\x0a\x02\x10\x0b" + b"\x42\x04" + struct.pack("<f", value)


def unread(*entry: Instruction, **bodies: list[Instruction]) -> tuple[set[str], tuple[str, ...]]:
    """Names of the instructions, and of the weights that are given back."""
    plane = metadata_plane(("jit_step", 7, program("jit_step", entry, bodies=bodies)))
    found = unread_gradients(Host("h", decode(space(plane))))
    if not found:
        return set(), ()
    (one,) = found
    return {one.module.by_id[id_].name for id_ in one.ids}, one.kept


@pytest.mark.parametrize("given", ["trunk", "as_it_was"])
def test_a_gradient_of_what_is_given_back_as_it_came_is_for_its_norm_alone(given: str) -> None:
    assert unread(*clipped(given)) == ({"d_trunk"}, ("params['trunk']",))


def test_what_moves_its_weights_is_read() -> None:
    assert unread(*clipped("d_moved")) == (set(), ())


def test_a_sum_of_the_loss_reads_what_it_sums() -> None:
    """A penalty on gradients is a part of the loss, whose own gradient needs them."""
    entry = [
        one if one.name != "s_trunk" else scalar(
            "s_trunk", "reduce", "d_trunk", op_name="jit(step)/jvp(Net)/reduce_sum"
        )
        for one in clipped()
    ]  # fmt: skip
    assert unread(*entry) == (set(), ())


def test_a_fusion_that_sums_the_gradient_it_computes_computes_it_for_nothing() -> None:
    body = [
        weights("p0", "parameter", parameter_number=0),
        weights("p1", "parameter", parameter_number=1),
        product("inner", "p0", "p1"),
        scalar("sum", "reduce", "inner", op_name=NORM),
    ]
    entry = [
        one
        if one.name != "s_trunk"
        else scalar("s_trunk", "fusion", "d_head", "trunk", calls=["fused"], op_name=NORM)
        for one in clipped()
        if one.name != "d_trunk"
    ]
    assert unread(*entry, fused=body) == ({"s_trunk"}, ("params['trunk']",))


@pytest.mark.parametrize(("value", "is_unread"), [(0.0, True), (0.5, False)])
def test_a_gradient_that_is_multiplied_by_zero_changes_nothing(
    value: float, is_unread: bool
) -> None:
    entry = [
        *parameters(),
        product("d_trunk", "x", "trunk"),
        scalar("factor", "constant", literal=f32_literal(value)),
        weights("mask", "broadcast", "factor"),
        weights("masked", "multiply", "d_trunk", "mask"),
        weights("moved", "add", "trunk", "masked"),
        instruction("all", "tuple", tuple_of(f32(8, 8)), "moved"),
    ]
    assert unread(*entry) == ({"d_trunk"} if is_unread else set(), ())


def test_a_body_that_is_called_twice_reads_all_that_it_is_given() -> None:
    """Whose its parameter is, is unknown: neither gradient is for nothing."""
    shared = [
        weights("p0", "parameter", parameter_number=0),
        weights("scaled", "negate", "p0", op_name="jit(step)/neg"),
    ]
    entry = [
        *parameters(),
        product("d_head", "x", "head"),
        product("d_trunk", "x", "trunk"),
        weights("one", "call", "d_head", calls=["shared"]),
        weights("other", "call", "d_trunk", calls=["shared"]),
        instruction("all", "tuple", tuple_of(*[f32(8, 8)] * 3), "trunk", "one", "other"),
    ]
    assert unread(*entry, shared=shared) == (set(), ())


def test_a_sum_over_gradients_of_other_extents_is_what_a_program_is_for() -> None:
    """Score matching sums gradients by the input, beside weights that stay as they are."""
    entry = [
        weights("trunk", "parameter", parameter_number=0, op_name="params['trunk']"),
        instruction("x", "parameter", f32(3, 8), parameter_number=1),
        instruction("d_x", "dot", f32(3, 8), "x", "trunk", op_name=BACK, contracting=(1, 0)),
        scalar("score", "reduce", "d_x", op_name=NORM),
        instruction("all", "tuple", tuple_of(f32(8, 8), f32()), "trunk", "score"),
    ]
    assert unread(*entry) == (set(), ())
