"""What to do about functions and lines that mostly sort, decompose or solve."""

from __future__ import annotations

import pytest

from stepscope.advice.parts.line_words import instead_of_routine

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
