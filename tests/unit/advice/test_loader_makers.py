"""Where a DataLoader without workers makes its batches, and what to keep of that."""

from __future__ import annotations

from stepscope.advice.rules.input.loader_workers import _maker, _where
from tests.unit.advice.test_largest_part import account, op, part

GETS = part(
    kind="input", name="input", function="Photos.__getitem__", file="/work/data.py", line=31,
    time_ms=4.0, input_frac=1.0,
)  # fmt: skip


def test_the_function_that_most_of_it_is_in_is_named() -> None:
    small = GETS | {"function": "Photos._open", "line": 24, "time_ms": 1.0, "step_frac": 0.1}
    found = _maker(account(small, GETS, op("MatMul", 5.0)))
    assert _where(found) == " Most of that is in Photos.__getitem__ (data.py:31)."


def test_without_a_line_or_a_good_share_nobody_is() -> None:
    assert _maker(account(GETS | {"line": None})) is None
    assert _maker(account(GETS | {"time_ms": 0.1, "step_frac": 0.01})) is None
    assert _maker(account(GETS | {"input_frac": 0.2})) is None
    assert _maker(None) is None
    assert _where(None) == ""
