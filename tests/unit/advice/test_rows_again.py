"""rows-again: what it promises and where, and when it is silent or cannot tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.registry import Answer, Silence, Unknown
from stepscope.tables.torch.growing_products import GrowingProducts
from tests.unit.advice.test_largest_part import account, op, part

GROWS = GrowingProducts("aten/addmm", 40, 56, 4, 5.0, 0.75)


def answer(grows: GrowingProducts | None = GROWS, *, has_shapes: bool = True) -> Answer:
    """Of steps of 10 ms, 8 of which run ops, in ``write``."""
    place = {"function": "write", "file": "story.py", "line": 9, "caller": ""}
    ops = op("matmul", 8.0) | place
    found = account(ops, part(kind="wait", name="wait", time_ms=2.0))
    host: Any = SimpleNamespace(growing_rows=grows, has_product_shapes=has_shapes)
    (one,) = next(rule for rule in RULES if rule.id == "rows-again").check(
        Results({"host_activity": host, "step_account": found})
    )
    return one


def test_it_tells_nothing_where_nothing_grows_or_nothing_was_noted() -> None:
    assert isinstance(answer(None), Silence)
    assert isinstance(answer(GrowingProducts("aten/mm", 96, 100, 1, 4.0, 0.1)), Silence)
    assert isinstance(answer(None, has_shapes=False), Unknown)
