"""Copies of arguments that are written into: by what, and where in the program."""

from __future__ import annotations

import pytest

from stepscope.tables.core.profile import Host
from stepscope.tables.parts.shares import writer_into_argument
from stepscope.tables.traits.instructions import compiled_from
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

HERE = [("decode.py", 8, "block"), ("decode.py", 21, "decode_one")]
CACHE = instruction("cache", "parameter", f32(2048, 64), parameter_number=0)
NEW = instruction("new", "parameter", f32(1, 64), parameter_number=1)
WHERE = instruction("where", "parameter", f32(), parameter_number=2)


def copied(*reads: Instruction, of: str = "cache", **more: list[Instruction]) -> tuple[Host, int]:
    """A thread that runs a copy of what is named ``of``, and its event."""
    made = instruction("made", "negate", f32(2048, 64), "cache", stack=HERE)
    copy = instruction("copy.1", "copy", f32(2048, 64), of)
    proto = program("jit_decode", [CACHE, NEW, WHERE, made, copy, *reads], bodies=more)
    thread = line("tf_XLAEigen", ("copy.1", 0.0, 10.0, {"hlo_op": "copy.1", "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_decode", 7, proto)), host(thread)).hosts
    return one, int(one.space.lines[-1].begin)


WRITE = instruction(
    "write", "dynamic-update-slice", f32(2048, 64), "copy.1", "new", "where", stack=HERE
)


def test_it_is_made_for_what_writes_into_it() -> None:
    one, event = copied(WRITE)
    assert writer_into_argument(one, event) == "dynamic-update-slice"
    found = compiled_from(one, event)
    assert (found.file, found.line, found.caller) == ("decode.py", 8, "decode.py:21 decode_one")


def test_within_a_fusion_as_well() -> None:
    fusion = instruction("fusion", "fusion", f32(2048, 64), "copy.1", "new", calls=["body"])
    body = [
        instruction("p", "parameter", f32(2048, 64), parameter_number=0),
        instruction("q", "parameter", f32(1, 64), parameter_number=1),
        instruction("inner", "scatter", f32(2048, 64), "p", "q", stack=HERE),
    ]
    one, event = copied(fusion, body=body)
    assert writer_into_argument(one, event) == "scatter"
    assert compiled_from(one, event).line == 8


@pytest.mark.parametrize(
    ("reads", "of"),
    [
        ([WRITE], "made"),
        ([instruction("sum", "reduce", f32(64), "copy.1", stack=HERE)], "cache"),
        ([], "cache"),
    ],
    ids=["of what the program made", "for what only reads", "for nothing"],
)
def test_other_copies_are_none(reads: list[Instruction], of: str) -> None:
    one, event = copied(*reads, of=of)
    assert writer_into_argument(one, event) == ""
    assert writer_into_argument(one, -1) == ""
