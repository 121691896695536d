"""A readable part of a program's graph: what feeds an instruction and what it feeds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from stepscope.records import dataclass
from stepscope.tables.hlo.module import ENCLOSES, Computation, HloModule, Instruction

# Bodies in bodies are looked through so far.
_DEEPEST: Final = 32


@dataclass(frozen=True, slots=True)
class Edge:
    """``target`` reads ``source`` as operand number ``operand``."""

    source: int
    target: int
    operand: int


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Part of a graph.

    Attributes:
        nodes: Instructions by id, nearest to the centre first.
        distance: Edges between each and the centre; negative on the side of its operands.
        edges: Edges among the nodes.
        hidden: Per node, how many of its operands and users are not part of it.
    """

    nodes: dict[int, Instruction]
    distance: dict[int, int]
    edges: list[Edge]
    hidden: dict[int, int]


def neighbourhood(module: HloModule, centre: Instruction, radius: int, limit: int) -> Subgraph:
    """Instructions within ``radius`` edges of the centre, at most ``limit`` of them.

    From the centre the walk goes up through operands and down through users, not to and fro:
    the siblings of an operand are not part of an instruction's story.
    """
    distance = {centre.id: 0}
    fronts = {-1: [centre.id], 1: [centre.id]}
    for step in range(1, radius + 1):
        for side, front in fronts.items():
            reached: list[int] = []
            for id_ in front:
                for other in _next(module, id_, side):
                    if other not in distance and len(distance) < limit:
                        distance[other] = side * step
                        reached.append(other)
            fronts[side] = reached
    return _part(module, distance)


def whole(module: HloModule, computation: Computation, limit: int) -> Subgraph:
    """The first ``limit`` instructions of a computation."""
    return _part(module, {one.id: 0 for one in computation.instructions[:limit]})


def consumers(module: HloModule, instruction: Instruction) -> list[Instruction]:
    """Who reads an instruction, seen through tuples and their elements."""
    return _through(module, instruction, 1)


def producers(module: HloModule, instruction: Instruction) -> list[Instruction]:
    """Whom an instruction reads, seen through tuples and their elements."""
    return _through(module, instruction, -1)


def readers(module: HloModule, one: Instruction) -> list[tuple[Instruction, int]]:
    """What reads an instruction, into and out of the bodies of fusions and calls; [] unknown.

    Each with the id of the operand by which it reads it: what calls a body stands for its result.
    """
    for _ in range(_DEEPEST):  # of bodies in bodies; a damaged program's may go in circles
        body = module.computations.get(one.computation_id)
        if body is None or body.root_id != one.id:
            break
        around = module.enclosing.get(body.id)
        if around is None or module.users.get(one.id):
            return []
        one = around
    users = (module.by_id[id_] for id_ in module.users.get(one.id, ()))
    return [(each, one.id) for user in users for each in _entered(module, user, one)]


def _entered(module: HloModule, user: Instruction, one: Instruction) -> list[Instruction]:
    """The parameters of a fusion's body that stand for what it is given; itself, if no fusion."""
    if user.opcode not in ENCLOSES:
        return [user]
    numbers = [at for at, id_ in enumerate(user.operand_ids) if id_ == one.id]
    return [
        each
        for body in module.called(user)
        for each in body.instructions
        if each.opcode == "parameter" and each.parameter_number in numbers
    ]


def _through(module: HloModule, instruction: Instruction, side: int) -> list[Instruction]:
    found: dict[int, Instruction] = {}
    waiting, seen = deque(_next(module, instruction.id, side)), set[int]()
    while waiting:
        id_ = waiting.popleft()
        if id_ in seen:
            continue
        seen.add(id_)
        if module.by_id[id_].opcode == "get-tuple-element":
            waiting += _next(module, id_, side)
        else:
            found[id_] = module.by_id[id_]
    return list(found.values())


def _next(module: HloModule, id_: int, side: int) -> Iterator[int]:
    ids = module.by_id[id_].operand_ids if side < 0 else module.users.get(id_, ())
    return (one for one in ids if one in module.by_id)


def _part(module: HloModule, distance: dict[int, int]) -> Subgraph:
    nodes = {id_: module.by_id[id_] for id_ in distance}
    edges = [
        Edge(operand, id_, place)
        for id_, one in nodes.items()
        for place, operand in enumerate(one.operand_ids)
        if operand in nodes
    ]
    hidden = {
        id_: sum(1 for other in set(one.operand_ids) if other not in nodes)
        + sum(1 for other in module.users.get(id_, ()) if other not in nodes)
        for id_, one in nodes.items()
    }
    return Subgraph(nodes, distance, edges, hidden)
