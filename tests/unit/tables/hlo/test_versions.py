"""What the programs of one function differ in: shapes, a value compiled in, or nothing."""

from __future__ import annotations

import pytest

from stepscope.tables.hlo.versions import versions_of
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import host, line
from tests.unit.analysis.compiled import profile

HERE = [("/work/net.py", 9, "Net.train_step"), ("/work/loop.py", 21, "fit")]
LATER = [("/work/net.py", 12, "Net.train_step"), ("/work/loop.py", 21, "fit")]


NORM = ("/venv/lib/python3.11/site-packages/flax/linen/normalization.py", 223, "_normalize")


def version(
    rows: int = 8, rate: bytes = b"\x01", op: str = "multiply", *, within: bool = False
) -> bytes:
    x = instruction("x", "parameter", f32(rows, 4), op_name="batch", parameter_number=0)
    scale = instruction("scale", "constant", f32(), literal=rate)
    last = instruction("last", "add", f32(rows, 4), "x", "x", stack=HERE)
    stack = [*[NORM] * within, *LATER]
    by = instruction("by", op, f32(rows, 4), "x", "scale", stack=stack)
    body: list[Instruction] = [x, scale, by, last]
    return program("jit_train_step", body)


def found(*programs: bytes) -> tuple[str, str] | None:
    listed = [("jit_train_step", at, one) for at, one in enumerate(programs, start=7)]
    (one,) = profile(metadata_plane(*listed), host(line("python", ("x", 0.0, 1.0)))).hosts
    told = versions_of(one, "train_step")
    if told is None:
        return None
    assert told.place is not None and told.caller is not None
    assert (told.place.line, told.caller.line, told.caller.function) == (9, 21, "fit")
    return told.differs, told.what


def test_shapes_are_told_with_the_arguments_name() -> None:
    """In the order of the file, which is the recorder's."""
    sizes = [version(rows) for rows in (8, 9, 10, 11)]
    assert found(*sizes) == ("shapes", "batch: f32[11,4], f32[10,4], f32[9,4], …")


def test_a_value_is_told_with_the_line_that_uses_it() -> None:
    assert found(version(), version(rate=b"\x02")) == ("values", "net.py:12")


def test_it_is_the_programs_line_and_not_the_librarys_below_it() -> None:
    made = version(within=True), version(rate=b"\x02", within=True)
    assert found(*made) == ("values", "net.py:12")


def test_of_programs_of_other_forms_the_most_that_are_alike_tell() -> None:
    """A power of 1 needs no op: the value changed the program's form as well."""
    assert found(version(op="power"), version(), version(rate=b"\x02")) == ("values", "net.py:12")
    assert found(version(op="power"), version()) == ("values", "")


def test_the_same_program_is_a_new_function_object() -> None:
    assert found(version(), version()) == ("nothing", "")


@pytest.mark.parametrize("programs", [(), (version(),)])
def test_one_version_differs_from_none(programs: tuple[bytes, ...]) -> None:
    assert found(*programs) is None
