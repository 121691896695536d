"""What a recording says of an op: the line of the program it came from, and its data type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns import pivot
from stepscope.schema import names
from stepscope.tables.account.frames import is_installed
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.hlo import hlo_modules
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.shape import PRIMITIVES
from stepscope.tables.hlo.source import SourceFrame, source_frames


@dataclass(frozen=True, slots=True)
class CompiledOp:
    """Of one op; empty where nothing was recorded of it.

    Attributes:
        file, line: Of the program, where the op was made.
        function: Of the program, that line is in.
        caller: ``file:line function`` of the program that calls it while it is traced.
        data_type: As XLA writes it.
        opcode: Of XLA's instruction.
    """

    file: str = ""
    line: int = 0
    function: str = ""
    caller: str = ""
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
    if module is None or instruction is None:
        return None
    at, caller = _source(module, instruction)
    shape = instruction.shape
    leaves = [leaf.element_type for _index, leaf in shape.leaves()]
    kind = PRIMITIVES.get(leaves[0], ("", 0))[0] if leaves else ""
    return CompiledOp(at.file, at.line, at.function, caller, kind, instruction.opcode)


def _source(module: HloModule, instruction: Instruction) -> tuple[SourceFrame, str]:
    """The innermost line that is not a library's, else the innermost there is; and its caller."""
    frames = source_frames(module, instruction)
    if not frames:
        file, _, line = instruction.source.rpartition(":")
        return SourceFrame(file, int(line) if line.isdigit() else 0, ""), ""
    own = [one for one in frames if not is_installed(one.file)]
    if not own:
        return frames[0], ""
    around = next((one for one in own[1:] if one.function != own[0].function), None)
    return own[0], "" if around is None else f"{around.file}:{around.line} {around.function}"


def _argument_type(host: Host, event: int) -> str:
    """The type of the first operand that has one, where PyTorch recorded the types; "" unknown."""
    said = dict(pivot.event_stats(host.space, event)).get(names.ARGUMENTS)
    if not isinstance(said, str):
        return ""
    try:
        arguments = json.loads(said)
    except ValueError:
        return ""
    types = arguments.get("Input type") if isinstance(arguments, dict) else None
    if not isinstance(types, list):
        return ""
    known = (_TORCH_TYPES.get(one, "") for one in types if isinstance(one, str))
    return next(filter(None, known), "")
