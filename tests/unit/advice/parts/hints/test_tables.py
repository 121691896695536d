"""Tables of which a batch looks up a few rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stepscope.analysis.step_account import OwnerRow
from stepscope.result import Table
from tests.unit.advice.test_growing_steps import OWNER
from tests.unit.advice.test_largest_part import account, first, op


def said(part: dict[str, Any], name: str, family: str = "UnsortedSegmentSum") -> bool:
    row = OWNER | {"kind": "op", "name": name, "family": family, "step_frac": 0.1}
    owners = Table(OwnerRow, {field: [row[field]] for field in OWNER})
    found = first(replace(account(part), owners=owners))
    return "embeddings_regularizer" in " ".join(found.actions)


def test_sums_by_segment_of_a_model_are_none() -> None:
    assert not said(op("elementwise", 6.0), "gnn/UnsortedSegmentSum")
    assert not said(op("elementwise", 6.0), "AddN_3/inputs_1", "Cast")


def test_products_have_nothing_to_do_with_it() -> None:
    assert not said(op("MatMul", 6.0), "AddN_3/inputs_1")
