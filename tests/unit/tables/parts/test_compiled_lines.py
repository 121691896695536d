"""A line whose ops are of several families is one part, as one change concerns them all."""

from __future__ import annotations

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, compiled_parts
from stepscope.tables.parts.shares import made_of
from tests.profiles import draw, event, space, u
from tests.profiles.drawing import Drawn
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.unit.tables.account.test_account import STEP
from tests.unit.tables.parts.test_shares import worded

AGGREGATE, LAYER = ("graph.py", 23, "aggregate"), ("graph.py", 28, "layer")
# Letter → instruction, opcode, path, line of the program.
OPS = {
    "T": ("transpose.1", "transpose", "jit(update)/transpose(jvp())/transpose", AGGREGATE),
    "C": ("convert.2", "convert", "jit(update)/jvp(jit(_one_hot))/convert_element_type", AGGREGATE),
    "D": ("dot.3", "dot", "jit(update)/jvp()/dot_general", AGGREGATE),
    "E": ("tanh.4", "tanh", "jit(update)/jvp()/tanh", LAYER),
    "Q": ("cholesky.6", "cholesky", "jit(update)/jit(cholesky)/cholesky", AGGREGATE),
    "V": ("divide.7", "divide", "jit(update)/jit(cholesky)/div", AGGREGATE),
    "A": ("add.8", "add", "jit(add)/add", AGGREGATE),
    "M": ("mul.9", "multiply", "jit(multiply)/mul", AGGREGATE),
    "P": ("dot.10", "dot", "jit(update)/jvp(vmap(jit(expm)))/jit(_squaring)/dot_general", LAYER),
    "B": ("select.11", "select", "jit(update)/jvp(vmap(jit(expm)))/jit(_where)/select_n", LAYER),
    "L": ("roll.5", "slice", "jit(update)/jvp(while)/body/while/slice", AGGREGATE),
}


def op(name: str) -> Drawn:
    return event(name, hlo_op=name, hlo_module="jit_update", program_id=u(7))


def parts_of(pool: str) -> dict[str, Part]:
    """By name; steps of 1 ms, 100 µs a character."""
    picture = f"""
        /host:CPU
          python               S---------S---------
          "                    W--------.W--------.
          tf_XLAEigen/1        {pool}
        """
    entry = [instruction("x", "parameter", f32(4), parameter_number=0)]
    entry += [
        instruction(name, code, f32(4), "x", op_name=path, stack=[at])
        for name, code, path, at in OPS.values()
    ]
    letters = {letter: op(name) for letter, (name, *_) in OPS.items()}
    drawn = draw(picture, unit_us=100, S=STEP, W=event("BlockHostUntilReady"), **letters)
    planes = (metadata_plane(("jit_update", 7, program("jit_update", entry))), *drawn)
    one = Host("h", decode(space(*planes)))
    found = account(one)
    assert found is not None
    return {part.name: part for part in compiled_parts(one, found, owners(found))}


def test_a_transposed_one_hot_matrix_and_its_product_are_one_line() -> None:
    made = parts_of("TTTCCDE..." * 2)
    assert {name: part.kind for name, part in made.items() if part.kind in ("op", "line")} == {
        "aggregate": "line",
        "tanh": "op",
    }
    assert made["aggregate"].total_ps == 2 * 600e6
    said = worded(made_of(made["aggregate"]))
    assert said == "transpose 50%, convert_element_type in one_hot 33%, dot_general 17%"


def test_a_line_that_is_mostly_one_family_is_that_family() -> None:
    made = parts_of("TTTTTCE..." * 2)
    assert made["transpose"].kind == "op"
    assert "aggregate" not in made


def test_a_line_of_mostly_products_is_a_layer() -> None:
    made = parts_of("TCDDDDE..." * 2)
    assert made["dot_general"].total_ps == 2 * 400e6
    assert "aggregate" not in made


def test_a_line_with_little_of_the_step_stands_for_nothing() -> None:
    assert "aggregate" not in parts_of("TC.....EE." * 2)


def test_a_decomposition_says_more_than_the_line_that_calls_it() -> None:
    assert parts_of("QQQQVVVE.." * 2)["cholesky"].total_ps == 2 * 400e6


def test_ops_that_are_dispatched_one_by_one_are_compiled_from_no_line() -> None:
    assert "aggregate" not in parts_of("AAAMMMM..." * 2)


def test_what_a_loop_runs_stays_the_loop() -> None:
    made = parts_of("TCLLLLLE.." * 2)
    assert made["while"].total_ps == 2 * 500e6


def test_products_that_a_function_of_a_matrix_is_made_of_are_that_function() -> None:
    """The others of the step are a layer's."""
    made = parts_of("PPPPBBBDD" * 2)
    assert made["layer"].total_ps == 2 * 700e6
    assert worded(made_of(made["layer"])) == "dot_general in expm 57%, select_n in expm 43%"
    assert made["dot_general"].total_ps == 2 * 200e6
