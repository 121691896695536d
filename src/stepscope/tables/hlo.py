"""HLO modules of a host: for each program, what its instructions are and where they came from.

Modules travel as ``Hlo Proto`` stats on ``/host:metadata``. A module is parsed when first asked
for; a damaged one is treated as absent, since everything else in the profile still stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stepscope.columns import pivot
from stepscope.columns.message import fields, packed_varints
from stepscope.columns.space import KIND_BYTES
from stepscope.errors import DecodeError
from stepscope.schema import names
from stepscope.tables.planes import PlaneKind, planes
from stepscope.tables.profile import Host, derived

# xla.PrimitiveType numbers of the element types of 16 bits and fewer that matrix units compute in.
_LOW_PRECISION = frozenset({10, 16, 19, 20, 23, 24, 25, 26, 27, 28, 29, 33})
_MATRIX_OPCODES = frozenset({"dot", "convolution", "custom-call"})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One HLO instruction.

    Attributes:
        op_name: The framework op it came from (``metadata.op_name``), "" when unknown.
        element_type: ``xla.PrimitiveType`` of its result (0: tuple or unknown).
    """

    name: str
    opcode: str
    op_name: str
    element_type: int
    id: int
    operand_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HloModule:
    """One compiled program: its instructions by name, over all its computations."""

    name: str
    instructions: dict[str, Instruction]
    by_id: dict[int, Instruction] = field(repr=False)

    def is_16_bit(self, instruction: Instruction) -> bool:
        """Whether it computes in 16 bits or fewer: its result, or a matrix op's operands."""
        if instruction.element_type in _LOW_PRECISION:
            return True
        if instruction.opcode not in _MATRIX_OPCODES:
            return False
        operands = (self.by_id.get(id_) for id_ in instruction.operand_ids)
        return any(op is not None and op.element_type in _LOW_PRECISION for op in operands)


class HloModules:
    """The modules of a host by program id; parsed on first use."""

    def __init__(self, protos: dict[int, bytes]) -> None:
        self._protos = protos
        self._parsed: dict[int, HloModule | None] = {}

    def __len__(self) -> int:
        return len(self._protos)

    def get(self, program_id: int) -> HloModule | None:
        """The module of a program, None when the file has none (or a damaged one)."""
        program_id &= (1 << 64) - 1
        if program_id not in self._parsed:
            proto = self._protos.get(program_id)
            self._parsed[program_id] = None if proto is None else _parse(proto)
        return self._parsed[program_id]

    def __iter__(self) -> Iterator[HloModule]:
        return (module for id_ in self._protos if (module := self.get(id_)) is not None)


@derived
def hlo_modules(host: Host) -> HloModules:
    """All HLO modules of a host, by program id (as an unsigned 64-bit number)."""
    space, kinds = host.space, planes(host).plane_kind
    metadata, stats = space.event_metadata, space.metadata_stats
    protos: dict[int, bytes] = {}
    for row in range(len(metadata)):
        if kinds[metadata.plane[row]] is not PlaneKind.METADATA:
            continue
        for stat in range(int(metadata.stat_begin[row]), int(metadata.stat_begin[row + 1])):
            key = int(stats.key[stat])
            is_proto = key >= 0 and space.stat_metadata.name[key] == names.HLO_PROTO
            if is_proto and stats.kind[stat] == KIND_BYTES:
                proto = pivot.read_bytes(space, stats.value[stat])
                protos[_program_id(metadata.name[row], int(metadata.id[row]))] = proto
    return HloModules(protos)


def _program_id(name: str, id_: int) -> int:
    """A module's program id: the number in "jit_f(64)"; the entry's own id when it has none."""
    inside = name.rpartition("(")[2].rstrip(")")
    return (int(inside) if inside.lstrip("-").isdigit() else id_) & ((1 << 64) - 1)


def _parse(proto: bytes) -> HloModule | None:
    try:
        for number, value in fields(proto):
            if number == 1 and isinstance(value, bytes):
                return _parse_module(value)
    except DecodeError:
        return None
    return None


def _parse_module(data: bytes) -> HloModule:
    name = ""
    found: list[Instruction] = []
    for number, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            name = value.decode("utf-8", "replace")
        elif number == 3 and isinstance(value, bytes):
            found += [
                _parse_instruction(item)
                for inner, item in fields(value)
                if inner == 2 and isinstance(item, bytes)
            ]
    return HloModule(name, {one.name: one for one in found}, {one.id: one for one in found})


def _parse_instruction(data: bytes) -> Instruction:
    name = opcode = op_name = ""
    element_type = id_ = 0
    operands: list[int] = []
    for number, value in fields(data):
        if isinstance(value, int):
            if number == 35:
                id_ = value
            elif number == 36:
                operands.append(value)
        elif number == 1:
            name = value.decode("utf-8", "replace")
        elif number == 2:
            opcode = value.decode("utf-8", "replace")
        elif number == 3:
            element_type = next((v for n, v in fields(value) if n == 2 and isinstance(v, int)), 0)
        elif number == 7:
            texts = (v for n, v in fields(value) if n == 2 and isinstance(v, bytes))
            op_name = next(texts, b"").decode("utf-8", "replace")
        elif number == 36:
            operands += packed_varints(value)
    return Instruction(name, opcode, op_name, element_type, id_, tuple(operands))
