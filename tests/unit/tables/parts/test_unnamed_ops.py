"""What a compiler makes for a product, without a name of its own, is part of the product."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import compiled_parts
from stepscope.tables.traits.instructions import compiled_from
from stepscope.tables.traits.op_families import family_of
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("/work/net.py", 16, "forward")]
X = instruction("x", "parameter", f32(8, 32, 32, 4), parameter_number=0)
W = instruction("w", "parameter", f32(3, 3, 4, 16), parameter_number=1)
PATH = "jit(step)/jvp()/conv_general_dilated"


def convolution(of: str) -> Instruction:
    return instruction(
        "conv.1", "convolution", f32(8, 32, 32, 16), of, "w", op_name=PATH, stack=HERE
    )


def made(
    name: str,
    reader: Instruction,
    *more: Instruction,
    op_name: str = "",
    **bodies: list[Instruction],
) -> Host:
    """A pool that runs a copy for 4 of 10 µs and what reads it for 6."""
    opcode = "fusion" if "fusion" in name else "copy"
    calls = ["turn"] if opcode == "fusion" else []
    copy = instruction(name, opcode, f32(32, 32, 8, 4), "x", op_name=op_name, calls=calls)
    given = instruction("given", "parameter", f32(8, 32, 32, 4), parameter_number=0)
    turn = [given, instruction("turned", "copy", f32(32, 32, 8, 4), "given")]
    proto = program("jit_step", [X, W, copy, reader, *more], bodies={"turn": turn, **bodies})
    ran = (name, 0.0, 4.0), (reader.name, 4.0, 6.0)
    thread = line(
        "tf_XLAEigen",
        *((one, at, length, {"hlo_op": one, "program_id": u(7)}) for one, at, length in ran),
    )
    loop = line("python", ("train", 0.0, 10.0, {"step_num": 0, "_r": 1}))
    (found,) = profile(metadata_plane(("jit_step", 7, proto)), host(loop, thread)).hosts
    return found


def parts_of(one: Host) -> dict[str, float]:
    found = account(one)
    assert found is not None
    listed = compiled_parts(one, found, owners(found))
    return {part.name: part.total_ps / 1e6 for part in listed if part.kind == "op"}


@pytest.mark.parametrize("name", ["copy.3", "transpose_copy_fusion.2"])
def test_it_is_counted_with_the_product_that_reads_it(name: str) -> None:
    one = made(name, convolution(name))
    assert parts_of(one) == {"convolution": pytest.approx(10.0)}
    event = int(one.space.lines[-1].begin)
    assert (compiled_from(one, event).file, compiled_from(one, event).line) == ("/work/net.py", 16)


def test_the_products_fusion_is_looked_into() -> None:
    inner = instruction("p", "parameter", f32(32, 32, 8, 4), parameter_number=0)
    other = instruction("q", "parameter", f32(3, 3, 4, 16), parameter_number=1)
    body = [
        inner,
        other,
        instruction(
            "conv.2", "convolution", f32(8, 32, 32, 16), "p", "q", op_name=PATH, stack=HERE
        ),
    ]
    fusion = instruction(
        "fusion.9",
        "fusion",
        f32(8, 32, 32, 16),
        "copy.3",
        "w",
        calls=["body"],
        op_name=PATH,
        stack=HERE,
    )
    assert parts_of(made("copy.3", fusion, body=body)) == {"conv_general_dilated": 10.0}


def test_what_the_program_asked_for_stays_apart() -> None:
    named = made("copy.3", convolution("copy.3"), op_name="jit(step)/copy")
    assert parts_of(named) == {"convolution": 6.0, "copy": 4.0}
    read = instruction("neg.1", "negate", f32(32, 32, 8, 4), "copy.3", op_name="jit(step)/neg")
    assert parts_of(made("copy.3", read))["copy"] == 4.0


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("transpose_copy_fusion.1", "copy"),
        ("copy_bitcast_fusion", "copy"),
        ("copy_add_fusion.2", "copy_add_fusion"),
    ],
)
def test_fusions_that_only_copy_are_copies(name: str, family: str) -> None:
    assert family_of(name) == family


def test_a_product_that_was_rewritten_has_the_name_of_what_rearranges_its_result() -> None:
    """XLA's fusions for a library are called after that: ynn_fusion."""
    inner = instruction("p", "parameter", f32(32, 32, 8, 4), parameter_number=0)
    other = instruction("q", "parameter", f32(3, 3, 4, 16), parameter_number=1)
    body = [inner, other, instruction("conv.2", "convolution", f32(8, 32, 32, 16), "p", "q")]
    fusion = instruction("ynn_fusion", "fusion", f32(8, 32, 32, 16), "copy.3", "w", calls=["body"])
    turned = instruction(
        "turned", "transpose", f32(8, 16, 32, 32), "ynn_fusion", op_name=PATH, stack=HERE
    )
    one = made("copy.3", fusion, turned, body=body)
    assert parts_of(one) == {"conv_general_dilated": pytest.approx(10.0)}
    event = int(one.space.lines[-1].begin) + 1
    assert (compiled_from(one, event).file, compiled_from(one, event).line) == ("/work/net.py", 16)
