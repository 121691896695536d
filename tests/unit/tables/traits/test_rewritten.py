"""Products that the compiler rewrote keep the place of what rearranges them."""

from __future__ import annotations

from typing import Any

from stepscope.tables.core.profile import Host
from stepscope.tables.traits.instructions import compiled_from
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("room.py", 13, "reverberate"), ("room.py", 24, "descend")]
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
