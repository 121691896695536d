"""Graph viewer: the instructions of a compiled program and how data flows between them."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import Annotated, Any

import numpy as np

from stepscope.errors import UsageError
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, us
from stepscope.tables.core.profile import Profile
from stepscope.tables.hlo.category import category, kind_of
from stepscope.tables.hlo.module import Computation, HloModule, Instruction
from stepscope.tables.hlo.neighbourhood import Subgraph, consumers, neighbourhood, producers, whole
from stepscope.tables.hlo.programs import Program, find_program, programs
from stepscope.tables.hlo.source import source_line
from stepscope.tables.hlo.text import expression
from stepscope.tables.sums.hlo_ops import profile_totals


class ProgramRow(Row):
    """A program that can be viewed."""

    program: Annotated[str, Column("Program", kind="name")]
    program_id: Annotated[str, Column("Program id", kind="text", hidden=True)]
    instructions: Annotated[int, Column("Instructions", kind="count")]
    time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]


class InstructionRow(Row):
    """One instruction of the program: where to go in the graph."""

    name: Annotated[str, Column("Instruction", kind="name")]
    opcode: Annotated[str, Column("Opcode", kind="category")]
    computation: Annotated[str, Column("Computation", kind="name")]
    framework_op: Annotated[str, Column("Framework op", kind="name")]
    time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    occurrences: Annotated[int, Column("Occurrences", kind="count")]


class ComputationRow(Row):
    """One computation of the program."""

    name: Annotated[str, Column("Computation", kind="name")]
    instructions: Annotated[int, Column("Instructions", kind="count")]
    called_by: Annotated[str, Column("Called by", kind="name")]
    is_entry: Annotated[bool, Column("Entry", kind="flag")]


class NodeRow(Row):
    """An instruction in the picture."""

    id: Annotated[int, Column("Id", kind="rank", hidden=True)]
    name: Annotated[str, Column("Instruction", kind="name")]
    opcode: Annotated[str, Column("Opcode", kind="category")]
    category: Annotated[str, Column("Category", kind="category")]
    kind: Annotated[
        str,
        Column(
            "Kind", kind="category", hidden=True, help="Class of the instruction, shown as colour."
        ),
    ]
    shape: Annotated[str, Column("Shape", kind="text")]
    result_bytes: Annotated[int, Column("Result", unit="B", kind="bytes")]
    computation: Annotated[str, Column("Computation", kind="category", hidden=True)]
    calls: Annotated[
        str, Column("Calls", kind="name", help="Called computations, separated by commas.")
    ]
    distance: Annotated[
        int,
        Column(
            "Distance",
            kind="number",
            help="Edges from the centre; negative towards its operands.",
        ),
    ]
    is_centre: Annotated[bool, Column("Centre", kind="flag", hidden=True)]
    is_root: Annotated[
        bool,
        Column("Root", kind="flag", hidden=True, help="Whether it is the computation's result."),
    ]
    hidden_neighbours: Annotated[
        int, Column("More", kind="count", help="Operands and users outside of the picture.")
    ]
    time_us: Annotated[float, Column("Self time", unit="µs", kind="time")]
    time_frac: Annotated[float, Column("Share of program", unit="%", kind="ratio")]
    framework_op: Annotated[str, Column("Framework op", kind="name")]
    source: Annotated[str, Column("Source", kind="text", hidden=True)]
    expression: Annotated[str, Column("HLO text", kind="text", hidden=True)]


class EdgeRow(Row):
    """Data that flows from one instruction in the picture to another."""

    source: Annotated[int, Column("From", kind="rank")]
    target: Annotated[int, Column("To", kind="rank")]
    operand: Annotated[int, Column("Operand", kind="rank")]
    shape: Annotated[str, Column("Shape", kind="text")]
    flow_bytes: Annotated[int, Column("Bytes", unit="B", kind="bytes")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of graph_viewer."""

    program: Annotated[
        str, Help('Program: "jit_step(12)", its name or its id. Default: the one that ran longest.')
    ] = ""
    node: Annotated[
        str, Help("Instruction to centre on, or computation. Default: the slowest op.")
    ] = ""
    radius: Annotated[int, Help("How many edges from the instruction to show.")] = 3
    max_nodes: Annotated[int, Help("Show at most this many instructions.")] = 2000


@dataclass(frozen=True, kw_only=True)
class GraphViewer(Result):
    """Part of a compiled program as a graph, and the names of all its instructions.

    Attributes:
        programs: The programs to choose from.
        program: Name of the shown program.
        program_id: Number of the shown program.
        centre: Instruction in the middle; "" if a whole computation is shown.
        computation: Computation of the centre, or the one shown.
        nodes: Instructions in the picture.
        edges: Connections in the picture.
        is_cut: Whether ``max_nodes`` omitted instructions.
        operand_names: Instructions that the centre reads; tuples are resolved.
        consumer_names: Instructions that read the centre; tuples are resolved.
        instructions: All instructions of the program, by time, then name.
        computations: All computations of the program.
        hlo_text: HLO text of the computation shown, or of the instructions in the picture.
    """

    tool = "graph_viewer"
    programs: Table[ProgramRow]
    program: str
    program_id: str
    centre: str
    computation: str
    nodes: Table[NodeRow]
    edges: Table[EdgeRow]
    is_cut: bool
    operand_names: tuple[str, ...]
    consumer_names: tuple[str, ...]
    instructions: Table[InstructionRow]
    computations: Table[ComputationRow]
    hlo_text: str


# {(program id, instruction): (self time in ps, runs)}
_Times = dict[tuple[int, str], tuple[int, int]]


def graph_viewer(profile: Profile, options: Options = Options()) -> GraphViewer:
    """The graph around an instruction, or of a computation."""
    if options.radius < 0 or options.max_nodes < 1:
        raise UsageError(
            "graph_viewer: radius must be 0 or more and max_nodes 1 or more.",
            hint="For example radius 3 and max_nodes 200.",
        )
    times = _times(profile)
    known = _sort_by_time(programs(profile), times)
    chosen = find_program(known, options.program, "graph_viewer")
    module = chosen.module
    own = {name: one for (id_, name), one in times.items() if id_ == chosen.program_id}
    centre, computation = _target(module, options.node, own)
    if centre is not None:
        part = neighbourhood(module, centre, options.radius, options.max_nodes)
        is_cut = len(part.nodes) >= options.max_nodes and any(part.hidden.values())
    else:
        part = whole(module, computation, options.max_nodes)
        is_cut = len(part.nodes) < len(computation.instructions)
    return GraphViewer(
        programs=_program_table(known, times),
        program=chosen.label,
        program_id=str(chosen.program_id),
        centre=centre.name if centre is not None else "",
        computation=computation.name,
        nodes=_nodes(module, part, centre, own),
        edges=_edges(part),
        is_cut=is_cut,
        operand_names=_names(producers(module, centre)) if centre is not None else (),
        consumer_names=_names(consumers(module, centre)) if centre is not None else (),
        instructions=_instruction_table(module, own),
        computations=_computation_table(module),
        hlo_text="\n".join(expression(module, one) for one in part.nodes.values()),
        diagnostics=_diagnostics(is_cut, options),
    )


def _times(profile: Profile) -> _Times:
    totals = profile_totals(profile)
    return {
        (op.program_id, op.name): (int(totals.self_ps[row]), int(totals.runs[row]))
        for row, op in enumerate(totals.ops)
        if op.is_hlo
    }


def _sort_by_time(known: list[Program], times: _Times) -> list[Program]:
    """Programs, the one that took most time first."""
    spent: dict[int, int] = {}
    for (id_, _name), (time, _runs) in times.items():
        spent[id_] = spent.get(id_, 0) + time
    return sorted(known, key=lambda one: (-spent.get(one.program_id, 0), one.label))


def _target(
    module: HloModule, wanted: str, own: dict[str, tuple[int, int]]
) -> tuple[Instruction | None, Computation]:
    """The instruction (or None) and the computation a person asked for."""
    name = wanted.lstrip("%")
    if not name:
        slowest = sorted(own, key=lambda one: (-own[one][0], one))
        name = next((one for one in slowest if one in module.instructions), "")
        if not name and module.entry is not None:
            return None, module.entry
    if name in module.instructions:
        found = module.instructions[name]
        return found, module.computations[found.computation_id]
    for computation in module.computations.values():
        if computation.name == name:
            return None, computation
    similar = [one for one in module.instructions if name.lower() in one.lower()][:5]
    raise UsageError(
        f"graph_viewer: {module.name} has no instruction or computation {wanted!r}.",
        hint=f"Similar: {', '.join(similar)}." if similar else "The list of instructions has all.",
    )


def _names(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    return tuple(one.name for one in instructions)


def _program_table(known: list[Program], times: _Times) -> Table[ProgramRow]:
    spent: dict[int, int] = {}
    for (id_, _name), (time, _runs) in times.items():
        spent[id_] = spent.get(id_, 0) + time
    return Table(
        ProgramRow,
        {
            "program": [one.label for one in known],
            "program_id": [str(one.program_id) for one in known],
            "instructions": [len(one.module.by_id) for one in known],
            "time_us": [us(spent.get(one.program_id, 0)) for one in known],
        },
    )


def _nodes(
    module: HloModule, part: Subgraph, centre: Instruction | None, own: dict[str, tuple[int, int]]
) -> Table[NodeRow]:
    whole_ps = sum(time for time, _runs in own.values())
    found: list[dict[str, Any]] = []
    for id_, one in part.nodes.items():
        computation = module.computations[one.computation_id]
        time = own[one.name][0] if one.name in own else None
        found.append(
            {
                "id": id_,
                "name": one.name,
                "opcode": one.opcode,
                "category": category(one),
                "kind": kind_of(category(one), one.opcode),
                "shape": str(one.shape),
                "result_bytes": one.shape.bytes,
                "computation": computation.name,
                "calls": ", ".join(called.name for called in module.called(one)),
                "distance": part.distance[id_],
                "is_centre": centre is not None and id_ == centre.id,
                "is_root": id_ == computation.root_id,
                "hidden_neighbours": part.hidden[id_],
                "time_us": us(time) if time is not None else nan,
                "time_frac": time / whole_ps if time is not None and whole_ps else nan,
                "framework_op": one.op_name,
                "source": source_line(module, one),
                "expression": expression(module, one),
            }
        )
    return Table.from_rows(NodeRow, found)


def _edges(part: Subgraph) -> Table[EdgeRow]:
    shapes = [part.nodes[edge.source].shape for edge in part.edges]
    return Table(
        EdgeRow,
        {
            "source": [edge.source for edge in part.edges],
            "target": [edge.target for edge in part.edges],
            "operand": [edge.operand for edge in part.edges],
            "shape": [str(shape) for shape in shapes],
            "flow_bytes": [shape.bytes for shape in shapes],
        },
    )


def _instruction_table(module: HloModule, own: dict[str, tuple[int, int]]) -> Table[InstructionRow]:
    found = sorted(module.by_id.values(), key=lambda one: (-own.get(one.name, (0, 0))[0], one.name))
    return Table(
        InstructionRow,
        {
            "name": [one.name for one in found],
            "opcode": [one.opcode for one in found],
            "computation": [module.computations[one.computation_id].name for one in found],
            "framework_op": [one.op_name for one in found],
            "time_us": [us(own[one.name][0]) if one.name in own else nan for one in found],
            "occurrences": np.asarray([own.get(one.name, (0, 0))[1] for one in found]),
        },
    )


def _computation_table(module: HloModule) -> Table[ComputationRow]:
    callers: dict[int, list[str]] = {}
    for one in module.by_id.values():
        for id_ in one.called_ids:
            callers.setdefault(id_, []).append(one.name)
    found = list(module.computations.values())
    return Table(
        ComputationRow,
        {
            "name": [one.name for one in found],
            "instructions": [len(one.instructions) for one in found],
            "called_by": [", ".join(callers.get(one.id, ())) for one in found],
            "is_entry": [one.id == module.entry_id for one in found],
        },
    )


def _diagnostics(is_cut: bool, options: Options) -> tuple[Diagnostic, ...]:
    if not is_cut:
        return ()
    text = f"Only {options.max_nodes} instructions are shown; raise max_nodes or lower radius."
    return (Diagnostic("graph-cut", "info", text),)


TOOL = Tool(
    id="graph_viewer",
    short="graph",
    title="Graph Viewer",
    tab="Graph",
    run=graph_viewer,
    options=Options,
    result=GraphViewer,
    times_of=("recording",),
)
