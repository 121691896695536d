"""Where in the program an op of a compiled function comes from."""

from __future__ import annotations

import pytest

from stepscope.tables.traits.instructions import compiled_from
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.model import host, line, u
from tests.unit.analysis.compiled import profile

JAX = "/venv/lib/python3.12/site-packages/jax/_src/numpy/linalg.py"
Stack = list[tuple[str, int, str]]


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
    entry = [
        instruction("x", "parameter", f32(4), parameter_number=0),
        instruction("abs.1", "abs", f32(4), "x", stack=stack),
    ]
    thread = line("tf_XLAEigen", ("abs.1", 0.0, 10.0, {"hlo_op": "abs.1", "program_id": u(7)}))
    (one,) = profile(metadata_plane(("jit_f", 7, program("jit_f", entry))), host(thread)).hosts
    event = int(one.space.lines[-1].begin)
    found = compiled_from(one, event)
    assert (found.file, found.line, found.function) == place
    assert found.caller == caller
    assert found.data_type == "f32"
