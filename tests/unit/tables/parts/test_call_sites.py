"""Which lines run a part's ops, and which calls of one line do."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import Account, account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, parts
from stepscope.tables.parts.sites import leading, sites_of
from stepscope.tables.traits.instructions import compiled_from
from tests.profiles import draw, event
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.model import u
from tests.unit.analysis.compiled import profile
from tests.unit.tables.account.test_account import STEP

Frame = tuple[str, int, str]
ENERGY: Frame = ("/home/me/hmc.py", 20, "energy")
FIRST: Frame = ("/home/me/hmc.py", 31, "leapfrog")
SECOND: Frame = ("/home/me/hmc.py", 36, "leapfrog")


def products(first: list[Frame], second: list[Frame], thread: str) -> tuple[Host, Account, Part]:
    """Those of two steps of 1 ms: ``A`` comes from the first stack, ``B`` from the other."""
    name = "jit(draw)/dot_general"
    entry = [
        instruction("x", "parameter", f32(64, 64), parameter_number=0),
        instruction(
            "dot.1", "dot", f32(64, 64), "x", "x", contracting=(1, 0), op_name=name, stack=first
        ),
        instruction(
            "dot.2",
            "dot",
            f32(64, 64),
            "dot.1",
            "x",
            contracting=(1, 0),
            op_name=name,
            stack=second,
        ),
    ]
    planes = draw(
        f"""
        /host:CPU
          python        S---------S---------
          tf_XLAEigen   {thread}
        """,
        unit_us=100,
        S=STEP,
        A=event("dot.1", hlo_op="dot.1", program_id=u(7)),
        B=event("dot.2", hlo_op="dot.2", program_id=u(7)),
    )
    of_program = metadata_plane(("jit_draw", 7, program("jit_draw", entry)))
    (one,) = profile(of_program, *planes).hosts
    found = account(one)
    assert found is not None
    largest = max(parts(found), key=lambda part: part.total_ps * (part.kind == "op"))
    return one, found, largest


Lines = list[tuple[int, int]]


def sites(first: list[Frame], second: list[Frame], thread: str) -> tuple[Lines, Lines]:
    """Lines of these products, and of their callers."""
    host, _found, part = products(first, second, thread)
    listed = sites_of(host, part)
    lines, callers = ([(site.line, round(100 * share)) for site, share in of] for of in listed)
    return lines, callers


def leading_line(first: list[Frame], second: list[Frame], thread: str) -> int:
    """The line that these products are placed at."""
    host, _found, part = products(first, second, thread)
    return compiled_from(host, leading(host, part)).line


HALVES = "AAAABBBB..AAAABBBB.."
STEP_LINE: Frame = ("/home/me/hmc.py", 50, "transition")


def test_the_caller_of_several_lines_is_listed() -> None:
    assert sites([FIRST, STEP_LINE], [SECOND, STEP_LINE], HALVES)[1] == [(50, 100)]


def test_a_part_is_placed_where_most_of_it_is_whichever_op_is_the_longest() -> None:
    assert leading_line([FIRST], [SECOND], "AABBBBBB..AABBBBBB..") == 36
    assert leading_line([FIRST], [SECOND], "AAAAAABB..AAAAAABB..") == 31


@pytest.mark.parametrize(
    ("first", "second", "thread", "lines"),
    [
        ([ENERGY, FIRST], [ENERGY, FIRST], HALVES, [(20, 100)]),
        ([FIRST], [SECOND], "AAAAAAAB..AAAAAAAB..", [(31, 88)]),
        ([], [], HALVES, []),
    ],
    ids=["one place", "one has nearly all", "nothing known"],
)
def test_one_line_with_most_of_it_is_listed_alone(
    first: list[Frame], second: list[Frame], thread: str, lines: Lines
) -> None:
    assert sites(first, second, thread)[0] == lines
