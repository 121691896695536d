"""Where compiled ops come from: lines of instructions, of fusions and of rewritten ops."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule, parse_module
from stepscope.tables.hlo.source import source_frames
from stepscope.tables.traits.inside import inside, is_shared, lines_of_program, place_of_instruction
from stepscope.tables.traits.instructions import CompiledOp, compiled_from
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

JAX = "/venv/lib/python3.12/site-packages/jax/_src/random.py"
Stack = list[tuple[str, int, str]]


def parameter(name: str, *shape: int) -> Instruction:
    return instruction(name, "parameter", f32(*shape), parameter_number=0)


def ran(op: str, proto: bytes) -> CompiledOp:
    """What is known of an op that a thread ran of this program."""
    thread = line("tf_XLAEigen", (op, 0.0, 10.0, {"hlo_op": op, "program_id": u(7)}))
    one: Host
    (one,) = profile(metadata_plane(("jit_f", 7, proto)), host(thread)).hosts
    return compiled_from(one, int(one.space.lines[-1].begin))


@pytest.mark.parametrize(
    ("stack", "place", "caller"),
    [
        (
            [(JAX, 90, "norm"), ("fit.py", 12, "assign"), ("fit.py", 40, "lloyd")],
            ("fit.py", 12, "assign"),
            "fit.py:40 lloyd",
        ),
        ([("fit.py", 12, "loop"), ("fit.py", 13, "loop")], ("fit.py", 12, "loop"), ""),
        ([(JAX, 90, "norm")], (JAX, 90, "norm"), ""),
        ([], ("", 0, ""), ""),
    ],
    ids=["the library's caller", "one function", "nothing but a library", "not recorded"],
)
def test_it_is_the_innermost_line_of_the_program(
    stack: Stack, place: tuple[str, int, str], caller: str
) -> None:
    entry = [parameter("x", 4), instruction("abs.1", "abs", f32(4), "x", stack=stack)]
    found = ran("abs.1", program("jit_f", entry))
    assert (found.file, found.line, found.function) == place
    assert (found.caller, found.data_type) == (caller, "f32")


def test_what_rearranges_the_result_of_a_rewritten_op_has_its_place() -> None:
    """XLA's convolution has no metadata of its own."""
    here = [("room.py", 13, "reverberate"), ("room.py", 24, "descend")]
    window = {"dimensions": [{"size": 2048, "stride": 1}]}
    convolved = instruction(
        "convolution", "convolution", f32(4, 16384, 1), "dry", "room", window=window
    )
    entry = [
        parameter("dry", 4, 16384, 1),
        instruction("room", "parameter", f32(2048, 1, 1), parameter_number=1),
        convolved,
        instruction("flat", "bitcast", f32(4, 16384), "convolution", stack=here),
    ]
    found = ran("convolution", program("jit_descend", entry))
    assert (found.file, found.line) == ("room.py", 13)


# ------------------------------------------------------------------ fusions

DRAW = [(JAX, 700, "normal"), ("evolve.py", 49, "perturbations"), ("evolve.py", 56, "generation")]
JOINS: dict[str, Any] = {
    "op_name": "jit(generation)/concatenate",
    "stack": [("evolve.py", 57, "generation")],
}


def draws(name: str, opcode: str, op: str) -> Instruction:
    path = f"jit(generation)/jit(_normal)/jit(_uniform)/{op}"
    return instruction(name, opcode, f32(1000), "p", op_name=path, stack=DRAW)


NORMAL = (
    draws("r", "exponential", "erf_inv"),
    draws("s", "xor", "xor"),
    draws("t", "tanh", "mul"),
)


def joined(*inner: Instruction) -> bytes:
    """A program of one fusion, which is named after the concatenation it ends in."""
    end = instruction("c", "concatenate", f32(2000), inner[-1].name, **JOINS)
    fusion = instruction("join", "fusion", f32(2000), "x", calls=["fused"], **JOINS)
    body = [parameter("p", 1000), *inner, end]
    return program("jit_generation", [parameter("x", 1000), fusion], bodies={"fused": body})


def parsed(proto: bytes) -> HloModule:
    found = parse_module(proto)
    assert found is not None
    return found


def test_a_fusion_is_what_has_most_of_its_work_not_what_it_ends_in() -> None:
    of = parsed(joined(*NORMAL))
    most = inside(of, of.instructions["join"])
    assert most is not None
    assert most.frame == ("evolve.py", 49, "perturbations")
    assert most.caller == "evolve.py:56 generation"
    # No op has most of it; the library's function around all of them does.
    assert (most.name, most.share) == ("normal", 21_000 / 23_000)
    found = ran("join", joined(*NORMAL))
    assert (found.inside, found.function, found.line) == ("normal", "perturbations", 49)
    assert found.inside_frac == pytest.approx(0.91, abs=0.005)


def test_one_whose_own_line_has_the_work_keeps_its_name() -> None:
    of = parsed(joined(draws("s", "add", "add")))
    assert inside(of, of.instructions["join"]) is None
    assert inside(of, of.instructions["x"]) is None


def test_the_lines_of_a_program_have_shares_of_all_its_work() -> None:
    found = lines_of_program(parsed(joined(*NORMAL)))
    assert [(one.name, one.frame.line) for one in found] == [("normal", 49), ("concatenate", 57)]
    assert sum(one.share for one in found) == 1.0


@pytest.mark.parametrize(
    ("function", "frames", "is_of_all_calls"),
    [
        ("multiply", [("layers.py", 8, "normalize"), ("train.py", 40, "main")], True),
        ("_reduce_sum", [("layers.py", 8, "normalize")], True),
        # Functions of the user's, whose lines are their own.
        ("_step", [("trainer.py", 8, "Trainer._step")], False),
        ("train_step", [("train.py", 8, "loss")], False),
        ("multiply", [("train.py", 8, "multiply")], False),
        ("_step", [], False),  # whose it is, is not recorded
        ("multiply", [], True),
    ],
)
def test_one_op_that_jax_runs_by_itself_has_the_lines_of_its_first_call(
    function: str, frames: Stack, is_of_all_calls: bool
) -> None:
    path = f"jit({function})/mul"
    product = instruction("mul.1", "multiply", f32(9), "x", "x", op_name=path, stack=frames)
    of = parsed(program(f"jit_{function}", [parameter("x", 9), product]))
    one = of.instructions["mul.1"]
    assert is_shared(of, source_frames(of, one)) == is_of_all_calls
    place, _caller = place_of_instruction(of, one)
    assert bool(place.line) == (bool(frames) and not is_of_all_calls)
