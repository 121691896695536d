"""What a compiled program computes for each of many copies of the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.tables.hlo.module import parse_module
from stepscope.tables.traits.alike import AlikeValues
from stepscope.tables.traits.for_copies import copies
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("/work/plan.py", 114, "evaluate")]
ONE = instruction("one", "parameter", f32(64), parameter_number=0)
ROWS = instruction("rows", "parameter", f32(8, 64), parameter_number=1)
W = instruction("w", "parameter", f32(64, 32), parameter_number=2)
RATE = instruction("rate", "parameter", f32(), parameter_number=3)
COPIED = instruction("copied", "broadcast", f32(8, 64), "one", dimensions=[1], stack=HERE)


def dot(of: str, name: str = "last") -> Instruction:
    return instruction(name, "dot", f32(8, 32), of, "w", contracting=(1, 0))


def built(*entry: Instruction, bodies: dict[str, list[Instruction]] | None = None) -> bytes:
    return program("jit_step", [ONE, ROWS, W, RATE, *entry], bodies=bodies)


def found(*entry: Instruction, bodies: dict[str, list[Instruction]] | None = None) -> int:
    """How many times the last instruction computes the same."""
    module = parse_module(built(*entry, bodies=bodies))
    assert module is not None
    return AlikeValues(module).copies(module.instructions[entry[-1].name])[0]


def each(name: str, opcode: str, *operands: str) -> Instruction:
    return instruction(name, opcode, f32(8, 64), *operands)


def test_rows_that_are_copies_are_multiplied_again_and_again() -> None:
    proto = built(COPIED, dot("copied"))
    thread = line("tf_XLAEigen", ("last", 0.0, 10.0, {"hlo_op": "last", "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_step", 7, proto)), host(thread)).hosts
    assert copies(one, int(one.space.lines[-1].begin)) == (8, "plan.py:114")


def event_of(*entry: Instruction, bodies: dict[str, list[Instruction]] | None = None) -> int:
    """How many times what the last instruction works on at length is the same."""
    name, proto = entry[-1].name, built(*entry, bodies=bodies)
    thread = line("tf_XLAEigen", (name, 0.0, 10.0, {"hlo_op": name, "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_step", 7, proto)), host(thread)).hosts
    return copies(one, int(one.space.lines[-1].begin))[0]


def test_making_copies_is_no_work_on_them() -> None:
    """Lags that are broadcast to several rates of decay meet these later."""
    given = instruction("g", "parameter", f32(64), parameter_number=0)
    wide = instruction("wide", "broadcast", f32(8, 64), "g", dimensions=[1])
    last = instruction("last", "exponential", f32(8, 64), "wide")
    fused = instruction("fused", "fusion", f32(8, 64), "one", calls=["body"])
    assert event_of(fused, bodies={"body": [given, wide, last]}) == 1
    weights = instruction("v", "parameter", f32(64, 32), parameter_number=1)
    product = instruction("product", "dot", f32(8, 32), "last", "v", contracting=(1, 0))
    works = instruction("fused", "fusion", f32(8, 32), "one", "w", calls=["body"])
    assert event_of(works, bodies={"body": [given, weights, wide, last, product]}) == 8


def test_rows_that_differ_are_computed_once_each() -> None:
    assert found(dot("rows")) == 1


def test_what_differs_ends_it_and_what_does_not_keeps_it() -> None:
    assert found(COPIED, each("sum", "add", "copied", "rows"), dot("sum")) == 1
    assert found(COPIED, each("tanh.1", "tanh", "copied"), dot("tanh.1")) == 8
    scale = instruction("scale", "broadcast", f32(8, 64), "rate", dimensions=[])
    assert found(COPIED, scale, each("mul.1", "multiply", "scale", "copied"), dot("mul.1")) == 8


def test_one_number_everywhere_is_no_copy_of_work() -> None:
    """A state of zeros is multiplied by the weights: that is how networks begin."""
    zeros = instruction("zeros", "broadcast", f32(8, 64), "rate", dimensions=[])
    assert found(zeros, dot("zeros")) == 1


def test_a_gradient_that_all_that_were_added_up_share_is_none_either() -> None:
    name = "jit(step)/transpose(jvp())/broadcast_in_dim"
    back = instruction("back", "broadcast", f32(8, 64), "one", dimensions=[1], op_name=name)
    assert found(back, dot("back")) == 1


@pytest.mark.parametrize(
    ("between", "times"),
    [
        (instruction("x", "reshape", f32(2, 4, 64), "copied"), 8),
        (instruction("x", "reshape", f32(512), "copied"), 8),
        (instruction("x", "reshape", f32(8, 8, 8), "copied"), 8),
        (instruction("x", "transpose", f32(64, 8), "copied", dimensions=[1, 0]), 8),
        (instruction("x", "reduce", f32(8), "copied", "rate", dimensions=[1]), 8),
        (instruction("x", "reduce", f32(64), "copied", "rate", dimensions=[0]), 1),
        (instruction("x", "concatenate", f32(8, 128), "copied", "copied", dimensions=[1]), 16),
        (instruction("x", "concatenate", f32(8, 128), "copied", "rows", dimensions=[1]), 1),
        (instruction("x", "sort", f32(8, 64), "copied", dimensions=[1]), 8),
        (instruction("x", "slice", f32(4, 64), "copied"), 4),
        (instruction("x", "gather", f32(8, 64), "copied"), 1),
        (instruction("x", "cholesky", f32(8, 8, 8), "cubes"), 8),
        (instruction("x", "dot", f32(8, 8), "rows", "copied", contracting=(1, 1)), 8),
    ],
    ids=lambda one: one.opcode if isinstance(one, Instruction) else str(one),
)
def test_each_kind_of_op_keeps_what_it_must(between: Instruction, times: int) -> None:
    cubes = instruction("cubes", "reshape", f32(8, 8, 8), "copied")
    assert found(COPIED, cubes, between) == times


def test_the_same_rows_put_together_are_copies() -> None:
    row = instruction("row", "reshape", f32(1, 64), "one")
    joined = instruction("joined", "concatenate", f32(8, 64), *["row"] * 8, dimensions=[0])
    assert found(row, joined, dot("joined")) == 8


def test_a_batch_of_copies_goes_through_a_convolution() -> None:
    image = instruction("image", "parameter", f32(6, 6, 3), parameter_number=4)
    batch = instruction("batch", "broadcast", f32(5, 6, 6, 3), "image", dimensions=[1, 2, 3])
    taps = instruction("taps", "parameter", f32(3, 3, 3, 7), parameter_number=5)
    assert found(image, batch, taps, instruction(
        "last", "convolution", f32(5, 4, 4, 7), "batch", "taps"
    )) == 5  # fmt: skip


def test_a_transform_keeps_what_lies_before_its_dimensions() -> None:
    cubes = instruction("cubes", "broadcast", f32(4, 8, 64), "copied", dimensions=[1, 2])
    for lengths, times in (([64], 32), ([8, 64], 4), ([4, 8, 64], 1), ([], 1)):
        told = instruction("x", "fft", f32(4, 8, 64), "cubes", fft_length=lengths)
        assert found(COPIED, cubes, told) == times


def test_a_batch_in_groups_is_not_each_by_itself() -> None:
    batch = instruction("batch", "broadcast", f32(6, 4, 4, 3), "image", dimensions=[1, 2, 3])
    image = instruction("image", "parameter", f32(4, 4, 3), parameter_number=4)
    taps = instruction("taps", "parameter", f32(3, 3, 3, 6), parameter_number=5)
    last = instruction("last", "convolution", f32(2, 2, 2, 6), "batch", "taps")
    assert found(image, batch, taps, last) == 1


def test_it_goes_into_fusions_and_out_of_them() -> None:
    given = instruction("g", "parameter", f32(8, 64), parameter_number=0)
    inner = instruction("inner", "tanh", f32(8, 64), "g")
    fused = instruction("fused", "fusion", f32(8, 64), "copied", calls=["body"])
    assert found(COPIED, fused, dot("fused"), bodies={"body": [given, inner]}) == 8


def test_what_two_call_may_be_given_other_rows_each_time() -> None:
    given = instruction("g", "parameter", f32(8, 64), parameter_number=0)
    inner = instruction("inner", "tanh", f32(8, 64), "g")
    calls = [
        instruction(of, "call", f32(8, 64), name, calls=["body"])
        for of, name in (("first", "copied"), ("second", "rows"))
    ]
    assert found(COPIED, *calls, dot("first"), bodies={"body": [given, inner]}) == 1


def test_what_comes_round_in_a_loop_may_differ_each_time() -> None:
    given = instruction("g", "parameter", f32(8, 64), parameter_number=0)
    inner = instruction("inner", "dot", f32(8, 32), "g", "v", contracting=(1, 0))
    weights = instruction("v", "parameter", f32(64, 32), parameter_number=1)
    loop = instruction("loop", "while", f32(8, 32), "copied", calls=["body"])
    assert found(COPIED, loop, bodies={"body": [given, weights, inner]}) == 1


def test_a_bitcast_goes_by_layouts_and_not_by_dimensions() -> None:
    turned = instruction("x", "bitcast", f32(64, 8), "copied")
    turned.shape.layout.minor_to_major[:] = [0, 1]
    assert found(COPIED, turned) == 8
    assert found(COPIED, instruction("x", "bitcast", f32(64, 8), "copied")) == 8


def test_rows_that_each_come_several_times_are_copies_too() -> None:
    """As ``jnp.repeat`` of a batch makes them: aabbcc."""
    each_twice = instruction("wide", "broadcast", f32(8, 2, 64), "rows", dimensions=[0, 2])
    flat = instruction("flat", "reshape", f32(16, 64), "wide")
    last = instruction("last", "dot", f32(16, 32), "flat", "w", contracting=(1, 0))
    assert found(each_twice, flat, last) == 2


def test_a_solver_with_one_matrix_for_all_works_on_copies() -> None:
    matrix = instruction("matrix", "parameter", f32(8, 8), parameter_number=4)
    rights = instruction("rights", "parameter", f32(5, 8, 1), parameter_number=5)
    each = instruction("each", "broadcast", f32(5, 8, 8), "matrix", dimensions=[1, 2])
    solved = instruction("x", "custom-call", f32(5, 8, 1), "each", "rights",
                         custom_call_target="lapack_strsm_ffi")  # fmt: skip
    assert found(matrix, rights, each, solved) == 5
    other = instruction("x", "custom-call", f32(5, 8, 1), "each", "rights",
                        custom_call_target="my_kernel")  # fmt: skip
    assert found(matrix, rights, each, other) == 1


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Instruction], dict[str, NDArray[np.int64]]]:
    """A few ops on two arrays, and what each of them gives."""
    values = {name: np.asarray(draw(st.permutations(range(6)))).reshape(2, 3) for name in "ab"}
    made = [
        instruction(name, "parameter", f32(2, 3), parameter_number=at)
        for at, name in enumerate("ab")
    ]
    for at in range(draw(st.integers(1, 7))):
        of = draw(st.sampled_from(sorted(values)))
        value, name = values[of], f"x{at}"
        rank = value.ndim
        kind = draw(st.sampled_from(("broadcast", "reshape", "transpose", "concatenate", "add")))
        operands = [of]
        fields: dict[str, Any] = {}
        if kind == "broadcast":
            place = draw(st.integers(0, rank))
            result = np.repeat(np.expand_dims(value, place), draw(st.integers(2, 3)), axis=place)
            fields = {"dimensions": [one for one in range(rank + 1) if one != place]}
        elif kind == "reshape":
            sizes = [one for one in (1, 2, 3, 4, 6) if value.size % one == 0]
            first = draw(st.sampled_from(sizes))
            second = draw(st.sampled_from([one for one in sizes if value.size // first % one == 0]))
            result = value.reshape(first, second, -1)
        elif kind == "transpose":
            order = draw(st.permutations(range(rank)))
            result, fields = value.transpose(order), {"dimensions": list(order)}
        elif kind == "concatenate":
            along = draw(st.integers(0, rank - 1))
            result, operands = np.concatenate([value] * 2, axis=along), [of, of]
            fields = {"dimensions": [along]}
        else:
            alike = sorted(key for key, one in values.items() if one.shape == value.shape)
            operands = [of, draw(st.sampled_from(alike))]
            result = value + 7 * values[operands[1]]
        if result.size > 2_000:
            continue
        values[name] = result
        made.append(instruction(name, kind, f32(*result.shape), *operands, **fields))
    return made, values


@given(programs())
def test_what_is_said_to_be_alike_is(
    told: tuple[list[Instruction], dict[str, NDArray[np.int64]]],
) -> None:
    made, values = told
    module = parse_module(program("jit_step", made))
    assert module is not None
    found = AlikeValues(module).found
    for name, value in values.items():
        for at, each in found[module.instructions[name].id].items():
            extent = value.shape[at]
            assert extent % (each.whole * each.runs) == 0
            same = np.arange(extent) % (extent // each.whole) // each.runs * each.runs
            assert (value == value.take(same, axis=at)).all()
            assert len(set(same.tolist())) == extent // (each.whole * each.runs)
