"""Conditions of causes: comparisons of facts with thresholds, joined by and, or, not.

A fact that is absent makes its comparison false. A name in capitals is a threshold.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from stepscope.advice.catalogue import threshold

Values = Mapping[str, float | str | None]

_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda value, words: value in str(words).split(),
}


def first_failure(condition: str, facts: Values) -> tuple[str, str] | None:
    """Return the fact and the threshold of the first comparison that fails; None if all hold.

    The threshold is "" where the fact is not compared with one.

    Raises:
        ValueError: The condition has something that none may have.
    """
    tree = _parsed(condition)
    return None if _holds(tree, facts) else _failure(tree, facts)


@cache
def _parsed(condition: str) -> ast.expr:
    return ast.parse(condition, mode="eval").body


def _holds(node: ast.expr, facts: Values) -> bool:
    if isinstance(node, ast.BoolOp):
        whole = all if isinstance(node.op, ast.And) else any
        return whole(_holds(one, facts) for one in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _holds(node.operand, facts)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _value(node.left, facts), _value(node.comparators[0], facts)
        if left is None or right is None:
            return False
        return _COMPARE[type(node.ops[0])](left, right)
    value = _value(node, facts)
    return bool(value) and value == value


def _value(node: ast.expr, facts: Values) -> float | str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        return node.value
    if isinstance(node, ast.Name):
        return threshold(node.id) if node.id.isupper() else facts.get(node.id)
    raise ValueError(f"conditions cannot have {ast.unparse(node)!r}")


def _failure(node: ast.expr, facts: Values) -> tuple[str, str]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        false = (one for one in node.values if not _holds(one, facts))
        return _failure(next(false, node.values[0]), facts)
    if isinstance(node, ast.BoolOp):
        return _failure(node.values[0], facts)
    if isinstance(node, ast.UnaryOp):
        return _failure(node.operand, facts)
    if isinstance(node, ast.Compare):
        limit = node.comparators[0]
        at = limit.id if isinstance(limit, ast.Name) and limit.id.isupper() else ""
        return (node.left.id if isinstance(node.left, ast.Name) else "", at)
    return (node.id if isinstance(node, ast.Name) else "", "")
