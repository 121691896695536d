"""Device-level ops as a tree: by program, by category, or by where in the model they come from.

A node's time is the Σ self time of the ops below it and its FLOPs and bytes are theirs, so that
children always add up to their parent (reference §8.2, without its limit of 100 children).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np

from stepscope.records import dataclass, field
from stepscope.tables.ops.hlo_ops import HloOp
from stepscope.tables.ops.hlo_totals import COST_FIELDS, HloTotals

GroupBy = Literal["program", "category", "provenance"]
NodeKind = Literal["root", "program", "category", "scope", "group", "op", "idle"]
OUTSIDE = "outside of XLA"
UNNAMED = "(no framework op)"


@dataclass(slots=True)
class Node:
    """One node.

    Attributes:
        kind: What it stands for.
        op: The op of an "op" node.
        time_ps: Σ self time of the ops below.
        runs: Σ of their runs.
        costs: Σ of their costs, in the order of ``COST_FIELDS``; NaN where none is known.
        children: By time, largest first.
    """

    name: str
    kind: NodeKind
    op: HloOp | None = None
    time_ps: int = 0
    runs: float = 0
    costs: list[float] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


def op_tree(totals: HloTotals, group_by: GroupBy, *, include_idle: bool) -> Node:
    """The tree of all ops that ran."""
    leaves = list(_leaves(totals))
    root = Node("Program", "root")
    paths = {"program": _program_path, "category": _category_path, "provenance": _provenance_path}
    path = paths[group_by]
    # Where XLA compiled nothing, all is outside of it, and that says nothing.
    first = 0 if any(leaf.op and leaf.op.program for leaf in leaves) else 1
    index: dict[tuple[str, ...], Node] = {}
    for leaf in leaves:
        assert leaf.op is not None  # every leaf is an op
        parent = root
        steps = path(leaf.op)
        steps = steps if group_by == "category" else steps[first:]
        for depth, (name, kind) in enumerate(steps):
            key = tuple(step[0] for step in steps[: depth + 1])
            if key not in index:
                index[key] = Node(name, kind)
                parent.children.append(index[key])
            parent = index[key]
        parent.children.append(leaf)
    _group_duplicates(root)
    if include_idle and totals.idle_ps:
        root.children.append(
            Node("IDLE", "idle", time_ps=totals.idle_ps, costs=[np.nan] * len(COST_FIELDS))
        )
    _sum(root)
    return root


def _leaves(totals: HloTotals) -> Iterator[Node]:
    costs = np.stack([getattr(totals, name) for name in COST_FIELDS])
    # What a container moves and computes is counted in its body.
    costs[:, ~totals.is_innermost] = np.nan
    for row in np.flatnonzero(totals.runs > 0).tolist():
        op = totals.ops[row]
        time, runs = int(totals.self_ps[row]), totals.runs[row].item()
        yield Node(op.name, "op", op, time, runs, costs[:, row].tolist())


def _program_path(op: HloOp) -> list[tuple[str, NodeKind]]:
    return [(op.program or OUTSIDE, "program"), (op.category, "category")]


def _category_path(op: HloOp) -> list[tuple[str, NodeKind]]:
    return [(op.category, "category")]


def _provenance_path(op: HloOp) -> list[tuple[str, NodeKind]]:
    parts = list(scope_parts(op.framework_op)) or [UNNAMED]
    return [(op.program or OUTSIDE, "program"), *((part, "scope") for part in parts)]


def scope_parts(framework_op: str) -> Iterator[str]:
    """The path of a framework op, split at "/" outside of brackets."""
    depth, begin = 0, 0
    for place, letter in enumerate(framework_op):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "/" and depth <= 0:
            if place > begin:
                yield framework_op[begin:place]
            begin = place + 1
    if begin < len(framework_op):
        yield framework_op[begin:]


def _group_duplicates(root: Node) -> None:
    """Put ops that the compiler knows to be copies of one another under one node."""
    for node in list(_walk(root)):
        groups: dict[tuple[str, str], list[Node]] = {}
        others: list[Node] = []
        for child in node.children:
            if child.op is None:
                others.append(child)
            else:
                name = child.op.deduplicated_name or child.op.name
                groups.setdefault((child.op.program, name), []).append(child)
        if len(groups) + len(others) == len(node.children):
            continue
        node.children = others
        for members in groups.values():
            if len(members) == 1:
                node.children += members
            else:
                members.sort(key=lambda one: (-one.time_ps, one.name))
                title = f"{members[0].name} and its duplicate(s)"
                node.children.append(Node(title, "group", children=members))


def _walk(root: Node) -> Iterator[Node]:
    """Every node above the ops, parents first."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.op is None:
            yield node
            waiting += node.children


def _sum(root: Node) -> None:
    """Add up times, runs and costs from the ops to the root, and sort children by time."""
    for node in reversed(list(_walk(root))):
        if node.kind == "idle":
            continue
        node.time_ps = sum(child.time_ps for child in node.children)
        node.runs = sum(child.runs for child in node.children)
        node.costs = [
            _known_sum(child.costs[at] for child in node.children) for at in range(len(COST_FIELDS))
        ]
        node.children.sort(key=lambda child: (-child.time_ps, child.name))


def _known_sum(values: Iterable[float]) -> float:
    known = [value for value in values if value == value]  # NaN is not equal to itself
    return sum(known) if known else float("nan")
