"""Memory viewer: what a compiled program keeps in memory, and what is there at its peak."""

from __future__ import annotations

from typing import Annotated, Any, Final

import numpy as np

from stepscope.errors import UsageError
from stepscope.panels import BarChart, Figure, Headline, LineChart, Picker, TableView
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of
from stepscope.tables.core.profile import Profile
from stepscope.tables.hlo.buffers import Allocation, BufferPlan
from stepscope.tables.hlo.category import category
from stepscope.tables.hlo.heap import Heap, bounded, simulate, unpadded_bytes
from stepscope.tables.hlo.module import HloModule
from stepscope.tables.hlo.programs import (
    PlannedProgram,
    Program,
    find_program,
    planned_programs,
)
from stepscope.tables.hlo.source import source_line

# XLA's memory spaces ("colors") that have a meaning.
_SPACES: Final = {
    0: "device memory",
    1: "on-chip memory",
    2: "scalar and semaphore memory",
    5: "host memory",
}
_SOURCES: Final = {
    "heap trace": "as the compiler recorded it",
    "lifetimes": "derived from the values' lifetimes",
    "none": "no value is freed: all memory is held while the program runs",
}


def space_name(space: int) -> str:
    """A memory space in words."""
    return _SPACES.get(space, f"memory space {space}")


class ProgramRow(Row):
    """A program that can be viewed."""

    program: Annotated[str, Column("Program", kind="name")]
    program_id: Annotated[str, Column("Program id", kind="text", hidden=True)]
    host: Annotated[str, Column("Host", kind="category", hidden=True)]
    allocated_bytes: Annotated[
        int,
        Column(
            "Allocated", unit="B", kind="bytes", sort="desc", help="Sum over all memory spaces."
        ),
    ]


class StepRow(Row):
    """One step of the heap; before the step this much is in use."""

    step: Annotated[int, Column("Point", kind="rank")]
    instruction: Annotated[str, Column("Before instruction", kind="name")]
    used_bytes: Annotated[int, Column("In use", unit="B", kind="bytes")]
    unpadded_bytes: Annotated[int, Column("Without padding", unit="B", kind="bytes")]


class BufferRow(Row):
    """One buffer."""

    buffer: Annotated[int, Column("Buffer", kind="rank", hidden=True)]
    instruction: Annotated[str, Column("Instruction", kind="name")]
    group: Annotated[
        str,
        Column(
            "Kind",
            kind="category",
            help='"Temporary" buffers come and go; all others live as long as the program runs.',
        ),
    ]
    category: Annotated[str, Column("Category", kind="category")]
    shape: Annotated[str, Column("Shape", kind="text")]
    size_bytes: Annotated[int, Column("Size", unit="B", kind="bytes", sort="desc")]
    unpadded_bytes: Annotated[int, Column("Without padding", unit="B", kind="bytes")]
    padding_bytes: Annotated[int, Column("Padding", unit="B", kind="bytes")]
    padding_frac: Annotated[float, Column("Padding share", unit="%", kind="ratio")]
    at_peak: Annotated[bool, Column("At peak", kind="flag")]
    first_step: Annotated[
        int, Column("First step", kind="count", hidden=True, help="-1: before the program begins.")
    ]
    last_step: Annotated[int, Column("Last step", kind="count", hidden=True)]
    allocation: Annotated[int, Column("Allocation", kind="rank", hidden=True)]
    offset_bytes: Annotated[int, Column("Offset", unit="B", kind="bytes", hidden=True)]
    framework_op: Annotated[str, Column("Framework op", kind="name")]
    source: Annotated[str, Column("Source", kind="text", hidden=True)]


class GroupRow(Row):
    """Memory at the peak by kind of buffer."""

    group: Annotated[str, Column("Kind", kind="category")]
    buffers: Annotated[int, Column("Buffers", kind="count")]
    size_bytes: Annotated[int, Column("Size", unit="B", kind="bytes", sort="desc")]
    padding_bytes: Annotated[int, Column("Padding", unit="B", kind="bytes")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of memory_viewer."""

    program: Annotated[
        str,
        Help('Program: "jit_step(12)", its name or its id. Default: the one that allocates most.'),
    ] = ""
    memory_space: Annotated[
        int, Help("Memory space: 0 device memory, 1 fast on-chip memory, 5 host memory.")
    ] = 0


@dataclass(frozen=True, kw_only=True)
class MemoryViewer(Result):
    """Memory of one compiled program over time, its peak, and the buffers live then.

    Attributes:
        programs: The programs to choose from.
        program: Name of the shown program.
        memory_space: Number of the shown memory space.
        memory_spaces: Numbers of the memory spaces that the program uses.
        memory_space_names: Names of the memory spaces.
        source: "heap trace" (recorded by the compiler), "lifetimes" (derived from the program) or
            "none" (no temporary buffers).
        source_text: Source of the lifetimes, in words.
        peak_bytes: Highest use, with padding.
        peak_unpadded_bytes: Highest use, without padding.
        peak_step: Row of ``timeline`` with the peak.
        peak_instruction: Instruction at the peak.
        parameter_bytes: Parameters, held for the whole run.
        constant_bytes: Constants, held for the whole run.
        output_bytes: Results, held for the whole run.
        thread_local_bytes: Thread-local memory, held for the whole run.
        temporary_bytes: Blocks shared by temporary buffers.
        allocated_bytes: All blocks of the memory space.
        timeline: Memory in use, instruction by instruction, including the memory held for the whole
            run.
        buffers: Buffers of the memory space, largest first.
        peak_groups: Memory at the peak by kind.
        program_id: Number of the shown program.
    """

    tool = "memory_viewer"
    programs: Table[ProgramRow]
    program: str
    program_id: str
    memory_space: int
    memory_spaces: tuple[int, ...]
    memory_space_names: tuple[str, ...]
    source: str
    source_text: str
    peak_bytes: int
    peak_unpadded_bytes: int
    peak_step: int
    peak_instruction: str
    parameter_bytes: int
    constant_bytes: int
    output_bytes: int
    thread_local_bytes: int
    temporary_bytes: int
    allocated_bytes: int
    timeline: Table[StepRow]
    buffers: Table[BufferRow]
    peak_groups: Table[GroupRow]


def memory_viewer(profile: Profile, options: Options = Options()) -> MemoryViewer:
    """The memory of one program of the profile."""
    found = planned_programs(profile)
    chosen = find_program([one.program for one in found], options.program, "memory_viewer")
    plan = next(one.plan for one in found if one.program is chosen)
    module, space = chosen.module, options.memory_space
    if space not in plan.colors:
        raise UsageError(
            f"{chosen.label} uses no memory space {space}.",
            hint=f"It uses {', '.join(map(str, plan.colors)) or 'none'}.",
        )
    heap = simulate(module, plan, space)
    own = [one for one in plan.allocations if one.color == space]
    held = [one for one in own if one.is_indefinite]
    held_bytes = bounded(sum(one.size_bytes for one in held))
    held_bare = bounded(sum(_bare(module, plan, one) for one in held))
    rows = _buffer_rows(module, plan, own, heap)
    instructions = [*heap.instructions, ""]
    return MemoryViewer(
        programs=_program_table(found),
        program=chosen.label,
        program_id=str(chosen.program_id),
        memory_space=space,
        memory_spaces=plan.colors,
        memory_space_names=tuple(map(space_name, plan.colors)),
        source=heap.source,
        source_text=_SOURCES[heap.source],
        peak_bytes=heap.peak_bytes + held_bytes,
        peak_unpadded_bytes=heap.peak_unpadded_bytes + held_bare,
        peak_step=heap.peak_step,
        peak_instruction=instructions[max(heap.peak_step - 1, 0)],
        parameter_bytes=_sum(held, "Parameter"),
        constant_bytes=_sum(held, "Constant"),
        output_bytes=_sum(held, "Output"),
        thread_local_bytes=_sum(held, "Thread-local"),
        temporary_bytes=_sum(own, "Temporary"),
        allocated_bytes=sum(one.size_bytes for one in own),
        timeline=Table(
            StepRow,
            {
                "step": np.arange(len(instructions)),
                "instruction": instructions,
                "used_bytes": np.asarray(heap.heap_bytes, dtype=np.int64) + held_bytes,
                "unpadded_bytes": np.asarray(heap.unpadded_bytes, dtype=np.int64) + held_bare,
            },
        ),
        buffers=Table(BufferRow, {n: [row[n] for row in rows] for n in columns_of(BufferRow)}),
        peak_groups=_groups(rows),
        diagnostics=_diagnostics(heap, chosen),
    )


def _program_table(found: tuple[PlannedProgram, ...]) -> Table[ProgramRow]:
    return Table(
        ProgramRow,
        {
            "program": [one.program.label for one in found],
            "program_id": [str(one.program.program_id) for one in found],
            "host": [one.program.host for one in found],
            "allocated_bytes": [one.allocated_bytes for one in found],
        },
    )


def _sum(allocations: list[Allocation], group: str) -> int:
    return sum(one.size_bytes for one in allocations if one.group == group)


def _bare(module: HloModule, plan: BufferPlan, allocation: Allocation) -> int:
    """Bytes of an allocation held all along that are data: of the largest value in it."""
    id_ = _largest(plan, allocation)
    return allocation.size_bytes if id_ is None else unpadded_bytes(module, plan, id_)


def _largest(plan: BufferPlan, allocation: Allocation) -> int | None:
    known = [(size, -id_) for id_, _offset, size in allocation.assigned if id_ in plan.buffers]
    return -max(known)[1] if known else None


def _buffer_rows(
    module: HloModule, plan: BufferPlan, allocations: list[Allocation], heap: Heap
) -> list[dict[str, Any]]:
    """Temporary buffers one by one; of what is held all along, each block by its largest value."""
    at_peak = set(heap.peak_buffers)
    end = len(heap.instructions)
    rows = []
    for allocation in allocations:
        if allocation.is_indefinite:
            id_ = _largest(plan, allocation)
            bare = _bare(module, plan, allocation)
            row = _row(module, plan, id_, allocation, allocation.size_bytes, bare)
            rows.append(row | {"at_peak": True, "first_step": -1, "last_step": end})
            continue
        for id_, offset, _size in allocation.assigned:
            if id_ not in heap.spans:
                continue
            size, bare = plan.buffers[id_].size_bytes, unpadded_bytes(module, plan, id_)
            row = _row(module, plan, id_, allocation, size, bare)
            first, last = heap.spans[id_]
            shown = {"at_peak": id_ in at_peak, "first_step": first, "last_step": last}
            rows.append(row | shown | {"offset_bytes": offset})
    rows.sort(key=lambda row: (-row["size_bytes"], row["buffer"]))
    return rows


def _row(
    module: HloModule, plan: BufferPlan, id_: int | None, block: Allocation, size: int, bare: int
) -> dict[str, Any]:
    buffer = plan.buffers.get(id_) if id_ is not None else None
    value = module.instructions.get(buffer.instruction) if buffer is not None else None
    name = buffer.instruction if buffer is not None else f"allocation {block.index}"
    if buffer is not None and buffer.shape_index:
        name += "".join(f"{{{place}}}" for place in buffer.shape_index)
    shape = value.shape.at(buffer.shape_index) if value is not None and buffer is not None else ""
    return {
        "buffer": -1 if id_ is None else id_,
        "instruction": name,
        "group": block.group,
        "category": category(value) if value is not None else "",
        "shape": str(shape),
        "size_bytes": size,
        "unpadded_bytes": bare,
        "padding_bytes": size - bare,
        "padding_frac": (size - bare) / size if size else 0.0,
        "allocation": block.index,
        "offset_bytes": 0,
        "framework_op": value.op_name if value is not None else "",
        "source": source_line(module, value) if value is not None else "",
    }


def _groups(rows: list[dict[str, Any]]) -> Table[GroupRow]:
    sums: dict[str, list[int]] = {}
    for row in rows:
        if row["at_peak"]:
            entry = sums.setdefault(row["group"], [0, 0, 0])
            for place, value in enumerate((1, row["size_bytes"], row["padding_bytes"])):
                entry[place] += value
    found = sorted(sums.items(), key=lambda item: -item[1][1])
    return Table(
        GroupRow,
        {
            "group": [group for group, _ in found],
            "buffers": [entry[0] for _, entry in found],
            "size_bytes": [entry[1] for _, entry in found],
            "padding_bytes": [entry[2] for _, entry in found],
        },
    )


def _diagnostics(heap: Heap, program: Program) -> tuple[Diagnostic, ...]:
    found = []
    if heap.source == "lifetimes":
        found.append(
            Diagnostic(
                "heap-trace-missing",
                "info",
                f"The compiler recorded no heap trace for {program.label}; lifetimes are worked "
                "out from its instructions in the order they are listed.",
            )
        )
    if not heap.is_sound:
        found.append(
            Diagnostic(
                "heap-trace-unsound",
                "warning",
                f"The heap trace of {program.label} frees more than it allocates, or "
                "allocates more than any memory has; its peak may "
                "be too low.",
            )
        )
    return tuple(found)


TOOL = Tool(
    id="memory_viewer",
    short="hlo_memory",
    title="Memory Viewer",
    tab="Program",
    run=memory_viewer,
    options=Options,
    result=MemoryViewer,
    page=(
        Headline(
            "{peak_bytes?}{program} has {peak_bytes} in use at its peak"
            "[, reached at {peak_instruction}]. | {program} uses none of this memory."
        ),
        Picker(
            option="program",
            title="Program",
            current="program_id",
            values="programs.program_id",
            labels="programs.program",
            detail="allocates {programs.allocated_bytes} on {programs.host}",
            clears=("memory_space",),
        ),
        Picker(
            option="memory_space",
            title="Memory",
            current="memory_space",
            values="memory_spaces",
            labels="memory_space_names",
        ),
        Figure("Peak", "{peak_bytes}", "at point {peak_step} of {timeline.rows}"),
        Figure("Peak without padding", "{peak_unpadded_bytes}", "padding comes from tiled shapes"),
        Figure("Temporary", "{temporary_bytes}", "blocks reused by several values"),
        Figure("Parameters", "{parameter_bytes}", "and {output_bytes} of results"),
        Figure("Allocated", "{allocated_bytes}", "{constant_bytes} of it constants"),
        LineChart(
            "timeline",
            title="Heap in program order",
            note="{count} points, {source_text}; click to see what is live",
            none="{source_text}.",
            label="Memory in use over {count} points of the program",
            noun=("point", "points"),
            tip="Point {step}",
            marked="peak {peak_bytes}",
            columns=("step", "used_bytes", "unpadded_bytes"),
            marker=("peak_step", "peak_bytes"),
            stepwise=True,
            chooses=True,
        ),
        BarChart(
            "buffers",
            title="{at_peak?}At the peak: the largest of {count} buffers"
            " | At point {chosen}: the largest of {count} buffers",
            note="reached at {instruction}",
            none="No buffer is live here.",
            noun=("buffer", "buffers"),
            label="{instruction}",
            value="size_bytes",
            text="{size_bytes}[ {shape}]",
            first=(
                "instruction",
                "size_bytes",
                "padding_bytes",
                "padding_frac",
                "group",
                "shape",
            ),
            live=("first_step", "last_step"),
            points="timeline",
        ),
        TableView("peak_groups", title="At the peak, by kind"),
        TableView(
            "buffers",
            title="All buffers",
            note="Some share memory: their sizes do not add up.",
            none="The program has none in this memory.",
            noun=("buffer", "buffers"),
            first=(
                "instruction",
                "size_bytes",
                "padding_bytes",
                "padding_frac",
                "group",
                "shape",
            ),
            main=True,
            sums=False,
        ),
    ),
)
