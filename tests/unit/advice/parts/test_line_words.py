"""What to do about functions and lines that mostly sort, decompose or solve."""

from __future__ import annotations

import pytest

from stepscope.advice.parts.line_words import instead_of_routine
from tests.unit.advice.test_largest_part import account, first, op

EIGEN = "decompose that once"


@pytest.mark.parametrize(
    ("made_of", "said"),
    [
        ("linalg_matrix_exp 37% (a.py:89), matmul 35%, fill in aten::linalg_matrix_exp 14%", EIGEN),
        ("dot_general in expm 55%, broadcast_in_dim in expm 16%", EIGEN),
        ("linalg_matrix_exp 30%, matmul 70%", ""),
        ("expm1 90%", ""),
        ("linalg_eigh 50% (a.py:3), mul 20%", "every n-th step"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_routine_with_much_of_a_part_is_what_it_is_for(made_of: str, said: str) -> None:
    found = instead_of_routine(made_of)
    assert (said in found) if said else not found


@pytest.mark.parametrize("kind", ["function", "line"])
def test_it_is_the_first_thing_to_do_about_a_function_or_a_line(kind: str) -> None:
    part = op("probs", 8.0) | {"kind": kind, "made_of": "dot_general in expm 55%"}
    assert EIGEN in first(account(part)).actions[0]
