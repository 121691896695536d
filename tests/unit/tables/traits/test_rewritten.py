"""Products that the compiler rewrote keep the place of what rearranges them."""

from __future__ import annotations

from typing import Any

from stepscope.tables.core.profile import Host
from stepscope.tables.traits.instructions import compiled_from
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("room.py", 13, "reverberate"), ("room.py", 24, "descend")]
ELSEWHERE = [("room.py", 24, "descend")]
DRY = instruction("dry", "parameter", f32(4, 16384, 1), parameter_number=0)
ROOM = instruction("room", "parameter", f32(2048, 1, 1), parameter_number=1)


def convolved(*around: Instruction, taps: int = 2048, channels: int = 1, **more: Any) -> Host:
    """A thread that runs ``convolution``, which has no metadata, of a program with these around."""
    kernel = instruction("kernel", "reverse", f32(taps, 1, channels), "room")
    window = {"dimensions": [{"size": taps, "stride": 1}]}
    one = instruction(
        "convolution", "convolution", f32(4, 16384, channels), "dry", "kernel", window=window
    )
    proto = program("jit_descend", [DRY, ROOM, kernel, one, *around], **more)
    ran = ("convolution", 0.0, 10.0, {"hlo_op": "convolution", "program_id": u(7)})
    thread = host(line("tf_XLAEigen", ran))
    (found,) = profile(metadata_plane(("jit_descend", 7, proto)), thread).hosts
    return found


def place(of: Host) -> tuple[str, int]:
    found = compiled_from(of, int(of.space.lines[-1].begin))
    return found.file, found.line


def test_what_rearranges_its_result_has_its_place() -> None:
    flat = instruction("flat", "bitcast", f32(4, 16384), "convolution", stack=HERE)
    assert place(convolved(flat)) == ("room.py", 13)


def test_within_a_fusion_as_well_by_the_operand_that_it_is() -> None:
    fusion = instruction("fusion", "fusion", f32(4), "room", "convolution", calls=["fused"])
    body = [
        instruction("p", "parameter", f32(2048), parameter_number=0),
        instruction("q", "parameter", f32(4, 16384, 1), parameter_number=1),
        instruction("other", "bitcast", f32(2048), "p", stack=ELSEWHERE),
        instruction("mine", "bitcast", f32(4, 16384), "q", stack=HERE),
        instruction("sum", "reduce", f32(4), "mine", "other", stack=ELSEWHERE),
    ]
    assert place(convolved(fusion, bodies={"fused": body})) == ("room.py", 13)


def test_what_computes_with_its_result_has_a_place_of_its_own() -> None:
    used = instruction("used", "multiply", f32(4, 16384, 1), "convolution", stack=ELSEWHERE)
    assert place(convolved(used)) == ("", 0)
