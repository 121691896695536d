"""What fusions and programs of XLA spend their work on, by line of the user's program."""

from __future__ import annotations

import pytest

from stepscope.tables.hlo.module import HloModule, parse_module
from stepscope.tables.hlo.source import source_frames
from stepscope.tables.traits.inside import inside, is_shared, lines_of_program, place_of_instruction
from stepscope.tables.traits.instructions import compiled_from
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

JAX = "/venv/lib/python3.12/site-packages/jax/_src/random.py"
DRAW = [(JAX, 700, "normal"), ("evolve.py", 49, "perturbations"), ("evolve.py", 56, "generation")]
JOIN = [("evolve.py", 57, "generation")]


def draws(name: str, opcode: str, op: str) -> Instruction:
    path = f"jit(generation)/jit(_normal)/jit(_uniform)/{op}"
    return instruction(name, opcode, f32(1000), "p", op_name=path, stack=DRAW)


def joined() -> list[Instruction]:
    """A program of one fusion, which is named after the concatenation it ends in."""
    return [
        instruction("x", "parameter", f32(1000), parameter_number=0),
        instruction(
            "concatenate_fusion",
            "fusion",
            f32(2000),
            "x",
            calls=["fused"],
            op_name="jit(generation)/concatenate",
            stack=JOIN,
        ),
    ]


def body(*inner: Instruction) -> list[Instruction]:
    end = instruction(
        "c",
        "concatenate",
        f32(2000),
        inner[-1].name,
        op_name="jit(generation)/concatenate",
        stack=JOIN,
    )
    return [instruction("p", "parameter", f32(1000), parameter_number=0), *inner, end]


def proto(*inner: Instruction) -> bytes:
    return program("jit_generation", joined(), bodies={"fused": body(*inner)})


def module(*inner: Instruction) -> HloModule:
    found = parse_module(proto(*inner))
    assert found is not None
    return found


NORMAL = (
    draws("r", "exponential", "erf_inv"),
    draws("s", "xor", "xor"),
    draws("t", "tanh", "mul"),
)


def test_a_fusion_is_what_has_most_of_its_work_not_what_it_ends_in() -> None:
    of = module(*NORMAL)
    most = inside(of, of.instructions["concatenate_fusion"])
    assert most is not None
    assert most.frame == ("evolve.py", 49, "perturbations")
    assert most.caller == "evolve.py:56 generation"
    # No op has most of it; the library's function around all of them does.
    assert most.name == "normal"
    assert most.share == 21_000 / 23_000


def test_one_whose_own_line_has_the_work_keeps_its_name() -> None:
    of = module(draws("s", "add", "add"))
    assert inside(of, of.instructions["concatenate_fusion"]) is None
    assert inside(of, of.instructions["x"]) is None


def test_the_lines_of_a_program_have_shares_of_all_its_work() -> None:
    found = lines_of_program(module(*NORMAL))
    assert [(one.name, one.frame.line) for one in found] == [("normal", 49), ("concatenate", 57)]
    assert sum(one.share for one in found) == 1.0


def test_an_op_that_ran_is_told_by_what_its_fusion_computes() -> None:
    thread = line(
        "tf_XLAEigen",
        ("concatenate_fusion", 0.0, 10.0, {"hlo_op": "concatenate_fusion", "program_id": u(7)}),
    )
    planes = metadata_plane(("jit_generation", 7, proto(*NORMAL))), host(thread)
    (one,) = profile(*planes).hosts
    found = compiled_from(one, int(one.space.lines[-1].begin))
    assert (found.inside, found.function, found.line) == ("normal", "perturbations", 49)
    assert found.inside_frac == pytest.approx(0.91, abs=0.005)


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
    function: str, frames: list[tuple[str, int, str]], is_of_all_calls: bool
) -> None:
    path = f"jit({function})/mul"
    product = instruction("mul.1", "multiply", f32(9), "x", "x", op_name=path, stack=frames)
    entry = [instruction("x", "parameter", f32(9), parameter_number=0), product]
    of = parse_module(program(f"jit_{function}", entry))
    assert of is not None
    one = of.instructions["mul.1"]
    assert is_shared(of, source_frames(of, one)) == is_of_all_calls
    place, _caller = place_of_instruction(of, one)
    assert bool(place.line) == (bool(frames) and not is_of_all_calls)
