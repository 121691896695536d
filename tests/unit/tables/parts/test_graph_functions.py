"""A function of the program stands for the ops of a graph that it made."""

from __future__ import annotations

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.source import SourceFrame
from stepscope.tables.parts.grouping import Part, compiled_parts
from stepscope.tables.parts.shares import made_of
from tests.profiles import draw, event, space
from tests.profiles.model import environment
from tests.unit.tables.account.test_account import STEP
from tests.unit.tables.parts.test_shares import worded
from tests.unit.tables.traits.test_graph_lines import message

IMPROVE = SourceFrame("/me/stock.py", 70, "improve")
STACKS, SUMS, POLICY = (
    SourceFrame("/me/stock.py", 23, "stock_on"),
    SourceFrame("/me/stock.py", 25, "stock_on"),
    SourceFrame("/me/stock.py", 38, "order"),
)
#: Letter → op, its type, the line that made it.
OPS = {
    "P": ("stack_3", "Pack", STACKS),
    "U": ("Sum_3", "Sum", SUMS),
    "N": ("sub_3", "Sub", SUMS),
    "R": ("Relu", "Relu", POLICY),
    "M": ("MatMul", "MatMul", POLICY),
    "I": ("mul_9", "Mul", IMPROVE),
    "A": ("pow", "Pow", IMPROVE),
}
NOTED = message(
    {name: (at, IMPROVE) for name, _type, at in OPS.values()}
    | {"gradient_tape/stack_3/unstack": (IMPROVE,)}
)


def parts_of(pool: str, noted: bytes = NOTED) -> list[Part]:
    """Those of steps of 1 ms, 100 µs a character."""
    picture = f"""
        /host:CPU
          python               S---------S---------
          tf_Compute           {pool * 2}
    """
    letters = {key: event(f"{name}:{type_}") for key, (name, type_, _at) in OPS.items()}
    planes = draw(picture, unit_us=100, S=STEP, **letters)
    host = Host("host", decode(space(*planes, environment(graph_lines=noted))))
    found = account(host)
    assert found is not None
    return compiled_parts(host, found, owners(found))


def functions(pool: str, noted: bytes = NOTED) -> dict[str, float]:
    """Milliseconds of the parts that are functions."""
    found = parts_of(pool, noted)
    return {one.name: one.total_ps / 1e9 for one in found if one.kind == "function"}


def test_a_function_of_several_families_is_one_part() -> None:
    assert functions("PPUN.RM...") == {"stock_on": 0.8}
    (one,) = (each for each in parts_of("PPUN.RM...") if each.kind == "function")
    assert worded(made_of(one)) == "Pack 50%, Sub 25%, Sum 25%"


def test_what_is_mostly_one_family_stays_that() -> None:
    assert functions("PPPU..RM..") == {}


def test_a_layer_is_its_products_and_little_is_nobodys() -> None:
    assert functions("..RMM....") == {}
    assert functions("P.U.MMMMMMM") == {}


def test_what_asks_for_gradients_calls_all_and_is_no_part() -> None:
    assert functions("IIAA..RM..") == {}


def test_without_lines_there_is_none() -> None:
    assert functions("PPUN.RM...", b"{}") == {}
