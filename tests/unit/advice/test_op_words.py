"""Ops: where they come from, once, and only what would help."""

from __future__ import annotations

from typing import Any

from stepscope.result import Finding
from stepscope.tables.parts.part_traits import ON_EACH_DEVICE
from tests.unit.advice.test_largest_part import account, first, op

FILE = "/home/me/project/model.py"


def said(family: str = "matmul", **changes: Any) -> Finding:
    return first(account(op(family, 6.0) | changes))


def test_a_sentence_has_no_folders_the_place_does() -> None:
    found = said(file=FILE, line=44, is_source=True, caller="/home/me/project/train.py:9 main")
    assert found.place is not None
    assert found.place.file == FILE


def test_what_each_device_does_whole_is_to_be_divided() -> None:
    found = said("dot_general", traits=ON_EACH_DEVICE)
    assert found.severity == "high"
