"""What a recording says of an op: the line of the program it came from, and its data type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.hlo import hlo_modules
from stepscope.tables.hlo.shape import PRIMITIVES


@dataclass(frozen=True, slots=True)
class CompiledOp:
    """Of one op; empty where nothing was recorded of it.

    Attributes:
        file, line: Of the program, where the op was made.
        data_type: As XLA writes it.
        opcode: Of XLA's instruction.
    """

    file: str = ""
    line: int = 0
    data_type: str = ""
    opcode: str = ""


# PyTorch's names of the types that matter here, and what the other frameworks call them.
_TORCH_TYPES: Final = {
    "double": "f64",
    "float": "f32",
    "c10::Half": "f16",
    "c10::BFloat16": "bf16",
    "c10::complex<double>": "c128",
    "c10::complex<float>": "c64",
}


def compiled_from(host: Host, event: int) -> CompiledOp:
    """Of the op that an event ran: from XLA's program, else from the event's own arguments."""
    if event < 0:
        return CompiledOp()
    return _of_program(host, event) or CompiledOp(data_type=_argument_type(host, event))


def _of_program(host: Host, event: int) -> CompiledOp | None:
    stats, row = event_stats(host), np.asarray([event])
    texts = stats.texts(names.HLO_OP)
    code = int(texts.at(row)[0])
    if code < 0:
        return None
    hlo = texts.texts[code].rpartition("::")[2]
    program = int(stats.ints(names.PROGRAM_ID).at(row, 0)[0])
    module = hlo_modules(host).get(program)
    instruction = module.instructions.get(hlo) if module is not None else None
    if instruction is None:
        return None
    file, _, line = instruction.source.rpartition(":")
    shape = instruction.shape
    leaves = [leaf.element_type for _index, leaf in shape.leaves()]
    kind = PRIMITIVES.get(leaves[0], ("", 0))[0] if leaves else ""
    return CompiledOp(file, int(line) if line.isdigit() else 0, kind, instruction.opcode)


def _argument_type(host: Host, event: int) -> str:
    """The type of the first operand that has one, where PyTorch recorded the types; "" unknown."""
    said = event_stats(host).texts(names.ARGUMENTS)
    code = int(said.at(np.asarray([event]))[0])
    if code < 0:
        return ""
    try:
        arguments = json.loads(said.texts[code])
    except ValueError:
        return ""
    types = arguments.get("Input type") if isinstance(arguments, dict) else None
    if not isinstance(types, list):
        return ""
    known = (_TORCH_TYPES.get(one, "") for one in types if isinstance(one, str))
    return next(filter(None, known), "")
