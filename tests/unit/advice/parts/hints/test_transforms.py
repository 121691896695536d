"""Lengths of transforms with a large prime factor."""

from __future__ import annotations

import pytest

from stepscope.advice.parts.hints.transforms import awkward_length, instead_of_length
from tests.unit.advice.test_largest_part import account, first, part


@pytest.mark.parametrize(
    ("op", "shapes", "found"),
    [
        ("aten/_fft_r2c", "32×24×1021", (1021, 1021)),
        ("aten/_fft_c2c", "511×2018", (2018, 1009)),
        ("aten/_fft_r2c", "32×24×1024", None),
        ("aten/_fft_r2c", "16×1000", None),  # 2, 2, 2, 5, 5, 5
        ("aten/_fft_r2c", "16×37", None),  # short: nothing to gain
        ("aten/_fft_c2r", "32×24×511", None),  # half of 1020 or of 1021
        ("aten/mm", "64×1021, 1021×8", None),
        ("aten/_fft_r2c", "", None),
    ],
)
def test_a_length_is_awkward_by_its_largest_prime_factor(
    op: str, shapes: str, found: tuple[int, int] | None
) -> None:
    row = part(kind="op", name="fft" if "fft" in op else "matmul", op=op, shapes=shapes)
    (made,) = account(row).parts.records()
    assert awkward_length(made) == found


def test_what_to_pad_to_is_said_with_what_is_saved() -> None:
    row = part(kind="op", name="fft", op="aten/_fft_r2c", shapes="8×1021", first_kind="op")
    found = first(account(row))
    assert found.saving_low_ms == pytest.approx(0.5 * 5.0)
    row = part(kind="op", name="fft", op="aten/_fft_r2c", shapes="8×2018")
    (made,) = account(row).parts.records()
    assert "has the prime factor 1009: pad to 2025" in instead_of_length(made)
