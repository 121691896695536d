"""One HLO module: its computations and the graph of their instructions.

The whole module is walked once for names, ids and edges; what few readers ask for (shapes,
attributes, source) stays in the instruction's bytes and is read on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from stepscope.errors import DecodeError
from stepscope.records import dataclass, field
from stepscope.tables.hlo.shape import Shape, parse_shape
from stepscope.wire.read import packed_varints, values

# Of HloModuleProto.
_SCHEDULE, _DEVICE_ASSIGNMENT, _STACK_FRAMES = 7, 15, 17
_FUSION_KINDS = {"kLoop": "Loop", "kInput": "Input", "kOutput": "Output", "kCustom": "Custom"}
# Field numbers of xla.HloInstructionProto.
_NAME, _OPCODE, _SHAPE, _METADATA, _FUSION_KIND = 1, 2, 3, 7, 11
_ID, _OPERANDS, _CALLED = 35, 36, 38
_CUSTOM_CALL_TARGET, _BACKEND_CONFIG = 28, 43
_PARAMETER_NUMBER, _LITERAL, _TUPLE_INDEX = 9, 8, 13
#: What runs its body in its own place, with its operands as the body's parameters.
ENCLOSES = ("fusion", "call")


@dataclass(frozen=True, eq=False)
class Instruction:
    """One HLO instruction.

    Attributes:
        operand_ids: Ids of its operands, in order.
        called_ids: Ids of the computations it calls (a fusion's body, a loop's body …).
        computation_id: The computation it belongs to.
        data: Its HloInstructionProto.
    """

    name: str
    opcode: str
    id: int
    operand_ids: tuple[int, ...]
    called_ids: tuple[int, ...]
    computation_id: int
    metadata: dict[int, int | bytes] = field(repr=False)
    shape_proto: bytes = field(repr=False)
    data: bytes = field(repr=False)

    @property
    def op_name(self) -> str:
        """The framework op it came from (``metadata.op_name``), "" when unknown."""
        return self._text(2)

    @property
    def op_type(self) -> str:
        """The type of the framework op, "" when unknown."""
        return self._text(1)

    @property
    def deduplicated_name(self) -> str:
        """The instruction this one repeats, "" when it stands for itself."""
        return self._text(12)

    @property
    def source(self) -> str:
        """``file:line`` of the program, "" when unknown."""
        file, line = self._text(3), self.metadata.get(4, 0)
        return f"{file}:{line}" if file and isinstance(line, int) else file

    def _text(self, number: int) -> str:
        value = self.metadata.get(number, b"")
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""

    @cached_property
    def shape(self) -> Shape:
        """Shape of its result."""
        return parse_shape(self.shape_proto)

    @property
    def element_type(self) -> int:
        """``xla.PrimitiveType`` of its result (0 or 13: tuple or unknown)."""
        return self.shape.element_type

    @cached_property
    def attributes(self) -> dict[int, list[int | bytes]]:
        """Every field of its proto by number, undecoded."""
        return fields_of(self.data)

    def message(self, number: int) -> bytes:
        """An attribute that is a message or text; empty when not set."""
        value = self.attributes.get(number, [b""])[0]
        return value if isinstance(value, bytes) else b""

    def ints(self, number: int) -> tuple[int, ...]:
        """An attribute that is a (repeated) number; none where it is damaged."""
        try:
            return ints_of(self.attributes.get(number, ()))
        except DecodeError:
            return ()

    @property
    def fusion_kind(self) -> str:
        """Kind of a fusion: "Loop", "Input", "Output" or "Custom"; else ""."""
        kind = self.message(_FUSION_KIND).decode("utf-8", "replace")
        return _FUSION_KINDS.get(kind, kind)

    @property
    def custom_call_target(self) -> str:
        """What a custom call calls, e.g. ``__cublas$gemm``."""
        return self.message(_CUSTOM_CALL_TARGET).decode("utf-8", "replace")

    @property
    def parameter_number(self) -> int:
        """Of a parameter: which of what its computation is given it stands for."""
        return next(iter(self.ints(_PARAMETER_NUMBER)), 0)

    @property
    def tuple_index(self) -> int:
        """Of a get-tuple-element: which element of the tuple it is."""
        return next(iter(self.ints(_TUPLE_INDEX)), 0)

    @property
    def literal(self) -> bytes:
        """Of a constant: its xla.LiteralProto."""
        return self.message(_LITERAL)

    @property
    def backend_config(self) -> str:
        """What the backend wrote about it (often JSON)."""
        return self.message(_BACKEND_CONFIG).decode("utf-8", "replace")


def fields_of(data: bytes) -> dict[int, list[int | bytes]]:
    """Every field of a message by number, undecoded; those before the damage where there is any."""
    found: dict[int, list[int | bytes]] = {}
    try:
        for number, value in values(data):
            found.setdefault(number, []).append(value)
    except DecodeError:
        pass  # what an instruction says of itself may be torn: the program still stands
    return found


def ints_of(values: list[int | bytes] | tuple[()]) -> tuple[int, ...]:
    """Numbers of a repeated field, packed or not."""
    found: list[int] = []
    for value in values:
        found += [value] if isinstance(value, int) else packed_varints(value)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Computation:
    """One computation: instructions in the order the module lists them."""

    name: str
    id: int
    root_id: int
    instructions: tuple[Instruction, ...] = field(repr=False)

    @property
    def root(self) -> Instruction:
        """The instruction whose result is the computation's."""
        by_id = (one for one in self.instructions if one.id == self.root_id)
        return next(by_id, self.instructions[-1])


@dataclass(frozen=True, eq=False)
class HloModule:
    """One compiled program.

    Attributes:
        instructions: All instructions by name, over all computations.
        by_id: The same by id.
        computations: Computations by id, in file order.
        entry_id: The computation the program starts in.
        buffer_assignment: The BufferAssignmentProto, empty when the file has none.
        stack_frames: The StackFrameIndexProto, empty when the file has none.
        device_assignment: The DeviceAssignmentProto, empty when the file has none.
        schedule: The HloScheduleProto, empty when the program was not scheduled.
    """

    name: str
    instructions: dict[str, Instruction] = field(repr=False)
    by_id: dict[int, Instruction] = field(repr=False)
    computations: dict[int, Computation] = field(repr=False)
    entry_id: int
    buffer_assignment: bytes = field(default=b"", repr=False)
    stack_frames: bytes = field(default=b"", repr=False)
    device_assignment: bytes = field(default=b"", repr=False)
    schedule: bytes = field(default=b"", repr=False)

    @property
    def entry(self) -> Computation | None:
        """The computation the program starts in."""
        return self.computations.get(self.entry_id)

    @cached_property
    def straight_ids(self) -> frozenset[int]:
        """Computations that a run of the program runs once: its entry, and what that calls.

        The bodies of loops and branches run as often as values say.
        """
        found, open_ids = {self.entry_id}, [self.entry_id]
        while open_ids:
            computation = self.computations.get(open_ids.pop())
            for one in computation.instructions if computation is not None else ():
                if one.opcode == "call":
                    new = [id_ for id_ in one.called_ids if id_ not in found]
                    found.update(new)
                    open_ids += new
        return frozenset(found)

    @cached_property
    def _sequences(self) -> dict[int, tuple[int, ...]]:
        """Ids of the instructions in the order in which they run, by computation."""
        found: dict[int, tuple[int, ...]] = {}
        for number, entry in values(self.schedule):
            if number == 1 and isinstance(entry, bytes):
                told = dict(values(entry))
                key, sequence = told.get(1, 0), told.get(2, b"")
                if isinstance(key, int) and isinstance(sequence, bytes):
                    ids = [value for field, value in values(sequence) if field == 1]
                    found[key] = ints_of(ids)
        return found

    def in_order(self, computation: Computation) -> tuple[Instruction, ...]:
        """A computation's instructions as they run, else as the module lists them."""
        try:
            ids = self._sequences.get(computation.id, ())
        except DecodeError:
            ids = ()
        known = tuple(self.by_id[id_] for id_ in ids if id_ in self.by_id)
        return known if len(known) == len(computation.instructions) else computation.instructions

    def operands(self, instruction: Instruction) -> Iterator[Instruction]:
        """The operands the module holds, in order."""
        return (self.by_id[id_] for id_ in instruction.operand_ids if id_ in self.by_id)

    def called(self, instruction: Instruction) -> Iterator[Computation]:
        """The computations an instruction calls."""
        ids = instruction.called_ids
        return (self.computations[id_] for id_ in ids if id_ in self.computations)

    def with_bodies(self, instruction: Instruction) -> Iterator[Instruction]:
        """An instruction, and those of its bodies where it is a fusion or a call."""
        yield instruction
        for body in self.called(instruction) if instruction.opcode in ENCLOSES else ():
            yield from body.instructions

    @cached_property
    def enclosing(self) -> dict[int, Instruction]:
        """By the id of a computation, the fusion or call that it is the body of, if of one only."""
        inside = {
            id_: [one for one in callers if one.opcode in ENCLOSES]
            for id_, callers in self.runs.items()
        }
        return {id_: callers[0] for id_, callers in inside.items() if len(callers) == 1}

    @cached_property
    def runs(self) -> dict[int, tuple[Instruction, ...]]:
        """By the id of a computation, the instructions that run it."""
        found: dict[int, list[Instruction]] = {}
        for one in self.by_id.values():
            for id_ in dict.fromkeys(one.called_ids):
                found.setdefault(id_, []).append(one)
        return {id_: tuple(callers) for id_, callers in found.items()}

    def given(self, instruction: Instruction) -> list[Instruction]:
        """What an instruction works on, across the bodies of fusions and calls.

        Of a fusion that is what its body ends in, of a body's parameter what the fusion is given
        for it; none of a program's own parameter, or of a loop's.
        """
        if instruction.opcode in ENCLOSES:
            return [body.root for body in self.called(instruction)]
        if instruction.opcode == "parameter":
            around = self.enclosing.get(instruction.computation_id)
            number = instruction.parameter_number
            if around is None or number >= len(around.operand_ids):
                return []
            operand = self.by_id.get(around.operand_ids[number])
            return [] if operand is None else [operand]
        return list(self.operands(instruction))

    @cached_property
    def users(self) -> dict[int, tuple[int, ...]]:
        """Ids of the instructions that read each instruction."""
        found: dict[int, list[int]] = {}
        for one in self.by_id.values():
            for operand in dict.fromkeys(one.operand_ids):
                found.setdefault(operand, []).append(one.id)
        return {id_: tuple(users) for id_, users in found.items()}


def parse_module(proto: bytes) -> HloModule | None:
    """The module in an HloProto; None when the bytes hold none or are damaged."""
    module = buffers = b""
    try:
        for number, value in values(proto):
            if number == 1 and isinstance(value, bytes):
                module = value
            elif number == 3 and isinstance(value, bytes):
                buffers = value
        return _parse(module, buffers) if module else None
    except DecodeError:
        return None


def parse_stack_frames(proto: bytes) -> bytes:
    """The StackFrameIndexProto of an HloProto, without reading its instructions; b"" without."""
    found = b""
    try:
        for number, module in values(proto):
            if number == 1 and isinstance(module, bytes):
                inside = (value for field, value in values(module) if field == _STACK_FRAMES)
                found = next((value for value in inside if isinstance(value, bytes)), b"")
    except DecodeError:
        return b""
    return found


def _parse(data: bytes, buffers: bytes) -> HloModule:
    name, entry_name, entry_id = "", "", 0
    stack_frames = device_assignment = schedule = b""
    computations: dict[int, Computation] = {}
    for number, value in values(data):
        if isinstance(value, int):
            entry_id = value if number == 6 else entry_id
        elif number == 1:
            name = value.decode("utf-8", "replace")
        elif number == 2:
            entry_name = value.decode("utf-8", "replace")
        elif number == 3:
            computation = _parse_computation(value)
            if computation.instructions:  # one without any is damage, and computes nothing
                computations[computation.id] = computation
        elif number == _SCHEDULE:
            schedule = value
        elif number == _DEVICE_ASSIGNMENT:
            device_assignment = value
        elif number == _STACK_FRAMES:
            stack_frames = value
    if entry_id not in computations:
        named = (one.id for one in computations.values() if one.name == entry_name)
        entry_id = next(named, next(reversed(computations), 0))
    found = [one for computation in computations.values() for one in computation.instructions]
    return HloModule(
        name=name,
        instructions={one.name: one for one in found},
        by_id={one.id: one for one in found},
        computations=computations,
        entry_id=entry_id,
        buffer_assignment=buffers,
        stack_frames=stack_frames,
        device_assignment=device_assignment,
        schedule=schedule,
    )


def _parse_computation(data: bytes) -> Computation:
    name, id_, root = "", 0, 0
    protos: list[bytes] = []
    for number, value in values(data):
        if isinstance(value, int):
            id_ = value if number == 5 else id_
            root = value if number == 6 else root
        elif number == 1:
            name = value.decode("utf-8", "replace")
        elif number == 2:
            protos.append(value)
    return Computation(name, id_, root, tuple(_parse_instruction(one, id_) for one in protos))


def _parse_instruction(data: bytes, computation_id: int) -> Instruction:
    name = opcode = ""
    shape = metadata = b""
    id_ = 0
    operands: list[int] = []
    called: list[int] = []
    for number, value in values(data):
        if isinstance(value, int):
            if number == _ID:
                id_ = value
            elif number == _OPERANDS:
                operands.append(value)
            elif number == _CALLED:
                called.append(value)
        elif number == _NAME:
            name = value.decode("utf-8", "replace")
        elif number == _OPCODE:
            opcode = value.decode("utf-8", "replace")
        elif number == _SHAPE:
            shape = value
        elif number == _METADATA:
            metadata = value
        elif number == _OPERANDS:
            operands += packed_varints(value)
        elif number == _CALLED:
            called += packed_varints(value)
    return Instruction(
        name,
        opcode,
        id_,
        tuple(operands),
        tuple(called),
        computation_id,
        dict(values(metadata)),
        shape,
        data,
    )
