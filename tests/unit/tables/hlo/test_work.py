"""How much the instructions of a program have to do, against one another."""

from __future__ import annotations

from math import isnan, log2

import pytest

from stepscope.tables.hlo.cost import CostAnalysis
from stepscope.tables.hlo.module import HloModule, parse_module
from stepscope.tables.hlo.work import body_work, program_work
from tests.profiles.hlo import Instruction, f32, instruction, program

ELEMENTS = 1000.0


def module_of(*entry: Instruction, **bodies: list[Instruction]) -> HloModule:
    found = parse_module(program("jit_f", entry, bodies=bodies))
    assert found is not None
    return found


def works(module: HloModule) -> dict[str, float]:
    return {one.name: work for one, work in program_work(module)}


def parameter(name: str, *extents: int) -> Instruction:
    return instruction(name, "parameter", f32(*extents), parameter_number=0)


@pytest.mark.parametrize(
    ("opcode", "times"),
    [("add", 1.0), ("divide", 4.0), ("exponential", 10.0), ("bitcast", 0.0), ("broadcast", 0.0)],
)
def test_what_works_on_elements_takes_a_time_for_each(opcode: str, times: float) -> None:
    found = works(module_of(parameter("x", 1000), instruction("y", opcode, f32(1000), "x")))
    assert found == {"x": 0.0, "y": times * ELEMENTS}


def test_a_product_takes_a_tenth_of_an_addition_for_each_of_its_flops() -> None:
    product = instruction("y", "dot", f32(10, 30), "x", "w", contracting=(1, 0))
    found = works(module_of(parameter("x", 10, 20), parameter("w", 20, 30), product))
    assert found["y"] == pytest.approx(0.1 * 2 * 10 * 20 * 30)


def test_a_loop_counts_as_often_as_it_is_known_to_run() -> None:
    inner = [parameter("p", 1000), instruction("s", "add", f32(1000), "p", "p")]
    for config, times in ((b'{"known_trip_count":{"n":"7"}}', 7.0), (b"", 10.0), (b"[", 10.0)):
        loop = instruction("l", "while", f32(1000), "x", calls=["body"], backend_config=config)
        assert works(module_of(parameter("x", 1000), loop, body=inner))["s"] == times * ELEMENTS


def test_of_the_branches_of_a_condition_one_runs() -> None:
    first = [parameter("p", 1000), instruction("s", "add", f32(1000), "p", "p")]
    second = [parameter("q", 1000), instruction("t", "negate", f32(1000), "q")]
    either = instruction("c", "conditional", f32(1000), "x", calls=["yes", "no"])
    found = works(module_of(parameter("x", 1000), either, yes=first, no=second))
    assert (found["s"], found["t"]) == (ELEMENTS / 2, ELEMENTS / 2)


def test_decompositions_grow_with_the_cube_of_their_size() -> None:
    def made(size: int, target: str) -> float:
        call = instruction(
            "y", "custom-call", f32(size, size), "x", custom_call_target=target.encode()
        )
        return works(module_of(parameter("x", size, size), call))["y"]

    assert made(200, "lapack_spotrf_ffi") == pytest.approx(8 * made(100, "lapack_spotrf_ffi"))
    assert made(100, "lapack_sgesdd_ffi") > 20 * made(100, "lapack_spotrf_ffi")
    assert made(100, "somebodys_call") == 2 * 100 * 100


def test_a_transform_of_a_prime_length_takes_several_times_as_long() -> None:
    def made(length: int) -> float:
        fft = instruction("y", "fft", f32(length), "x")
        return works(module_of(parameter("x", length), fft))["y"]

    assert made(4096) == pytest.approx(2.5 * 4096 * log2(4096))
    assert made(4093) > 5 * made(4096)


def test_what_a_fusion_encloses_is_counted_for_it_alone() -> None:
    inner = [parameter("p", 1000), instruction("s", "tanh", f32(1000), "p")]
    module = module_of(
        parameter("x", 1000),
        instruction("f", "fusion", f32(1000), "x", calls=["fused"]),
        instruction("z", "add", f32(1000), "f", "f"),
        fused=inner,
    )
    fusion = module.instructions["f"]
    assert [(one.name, work) for one, work in body_work(module, fusion)][1:] == [("s", 1e4)]


@pytest.mark.parametrize("opcode", ["call", "fusion", "while"])
def test_a_program_that_calls_itself_ends(opcode: str) -> None:
    """Three times over, so that to follow each call would take 3¹⁶ steps."""
    calls = [instruction(name, opcode, f32(10), "p", calls=["again"]) for name in "stu"]
    entry = [parameter("x", 10), instruction("c", opcode, f32(10), "x", calls=["again"])]
    module = module_of(*entry, again=[parameter("p", 10), *calls])
    assert len(list(program_work(module))) <= 300_000
    assert isnan(CostAnalysis(module).of(module.instructions["c"]).flops)
