"""Memory that compiled programs need, from XLA's buffer assignment.

The compiler lays out all memory of a program beforehand: its parameters, results, constants and
one block for temporaries. That says how much memory running it takes without any allocator event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.errors import DecodeError
from stepscope.records import dataclass
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.memory.breakdown import Holding
from stepscope.wire.read import values

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule

PARAMETER: Final = "parameter"
CONSTANT: Final = "constant"
OUTPUT: Final = "output"
TEMPORARY: Final = "temp"
# Field numbers of xla.BufferAssignmentProto, BufferAllocationProto, LogicalBufferProto.
_LOGICAL, _ALLOCATION = 1, 3
_SIZE, _THREAD_LOCAL, _IS_PARAMETER, _LIVE_OUT, _COLOR, _ASSIGNED, _IS_CONSTANT = (
    2,
    3,
    5,
    7,
    8,
    9,
    12,
)
_DEFINED_AT, _INSTRUCTION_ID = 3, 4


@dataclass(frozen=True, slots=True)
class ProgramMemory:
    """What one program needs in one memory space.

    Attributes:
        program: Module and program id, as "jit_step(12)".
        space: XLA's number of the memory space ("color"): 0 is the device's main memory.
        total_bytes: All allocations together, while it runs.
        holdings: The allocations, largest first; origin is "compiled".
    """

    program: str
    space: int
    total_bytes: int
    holdings: tuple[Holding, ...]


@derived
def program_memories(host: Host) -> tuple[ProgramMemory, ...]:
    """Memory of the host's programs, the largest first."""
    modules = hlo_modules(host)
    found = [
        memory
        for id_ in modules.ids()
        if (module := modules.get(id_)) is not None
        for memory in _memories_of(module, f"{module.name}({id_})")
    ]
    return tuple(sorted(found, key=lambda one: (-one.total_bytes, one.program, one.space)))


def has_program_memory(host: Host) -> bool:
    """Whether ``program_memories`` has any; programs are read up to the first that has."""
    return any(_memories_of(module, module.name) for module in hlo_modules(host))


@dataclass(frozen=True, slots=True)
class _Allocation:
    space: int
    size: int
    kind: str
    buffers: tuple[int, ...]


def _memories_of(module: HloModule, program: str) -> list[ProgramMemory]:
    try:
        defined, allocations = _parse(module.buffer_assignment)
    except DecodeError:
        return []
    spaces: dict[int, list[Holding]] = {}
    for one in allocations:
        if one.size:
            spaces.setdefault(one.space, []).append(_holding(module, defined, one))
    return [
        ProgramMemory(
            program,
            space,
            sum(one.allocated_bytes for one in held),
            tuple(sorted(held, key=lambda one: (-one.allocated_bytes, one.region, one.op))),
        )
        for space, held in spaces.items()
    ]


def _holding(module: HloModule, defined: dict[int, int], one: _Allocation) -> Holding:
    """An allocation by the instruction whose value it holds; temporaries share theirs."""
    instructions = [
        module.by_id[defined[buffer]]
        for buffer in one.buffers
        if defined.get(buffer) in module.by_id
    ]
    op = shape = context = ""
    if one.kind == TEMPORARY and len(instructions) > 1:
        context = f"{len(instructions)} values that share it"
    elif instructions:
        first = instructions[0]
        op, shape, context = first.op_name or first.name, str(first.shape), first.name
    return Holding(op, one.kind, "", shape, context, "compiled", 1, one.size, None, None, None)


def _parse(data: bytes) -> tuple[dict[int, int], list[_Allocation]]:
    """``{logical buffer: id of the instruction that defines it}``, and the allocations."""
    defined: dict[int, int] = {}
    allocations = []
    for number, value in values(data):
        if isinstance(value, int):
            continue
        if number == _LOGICAL:
            buffer, instruction = _logical_buffer(value)
            defined[buffer] = instruction
        elif number == _ALLOCATION:
            one = _allocation(value)
            if one is not None:
                allocations.append(one)
    return defined, allocations


def _logical_buffer(data: bytes) -> tuple[int, int]:
    buffer = instruction = 0
    for number, value in values(data):
        if number == 1 and isinstance(value, int):
            buffer = value
        elif number == _DEFINED_AT and isinstance(value, bytes):
            for inner, id_ in values(value):
                if inner == _INSTRUCTION_ID and isinstance(id_, int):
                    instruction = id_
    return buffer, instruction


def _allocation(data: bytes) -> _Allocation | None:
    """An allocation; None for those that live on the stack of a thread."""
    numbers: dict[int, int] = {}
    buffers = []
    for number, value in values(data):
        if isinstance(value, int):
            numbers[number] = value
        elif number == _ASSIGNED:
            buffers += [id_ for inner, id_ in values(value) if inner == 1 and isinstance(id_, int)]
    if numbers.get(_THREAD_LOCAL):
        return None
    kinds = ((_IS_PARAMETER, PARAMETER), (_IS_CONSTANT, CONSTANT), (_LIVE_OUT, OUTPUT))
    kind = next((name for flag, name in kinds if numbers.get(flag)), TEMPORARY)
    return _Allocation(numbers.get(_COLOR, 0), numbers.get(_SIZE, 0), kind, tuple(buffers))
