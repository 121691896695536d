"""What to look at first in products, where names tell what they are of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stepscope.analysis.step_account import OwnerRow, StepAccount
from stepscope.result import Table
from tests.unit.advice.test_growing_steps import OWNER
from tests.unit.advice.test_largest_part import account, first, op


def running(part: dict[str, Any], *names: str) -> StepAccount:
    rows = [OWNER | {"name": name, "kind": "op"} for name in names]
    owners = Table(OwnerRow, {name: [row[name] for row in rows] for name in OWNER})
    return replace(account(part), owners=owners)


def test_a_product_that_is_sparse_already_depends_on_its_order() -> None:
    layer = op("matmul", 8.0) | {"function": "GraphConv.forward", "between": "in _sparse_mm"}
    (_look, *_rest) = first(running(layer, "aten/addmm")).actions
    first(running(op("dot_general", 8.0) | {"function": "gcn"}, "jit(f)/scatter-add"))
