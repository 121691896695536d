"""Origin of an op in a recording: its line of the program, and its data type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.columns import pivot
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.op_name import parse_op_name
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.recorded_ops import recorded_ops
from stepscope.tables.hlo.source import caller_in
from stepscope.tables.traits.graph_lines import graph_lines

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule, Instruction


@dataclass(frozen=True, slots=True)
class CompiledOp:
    """Of one op; empty where nothing was recorded of it.

    Attributes:
        file, line: Of the program, where the op was made.
        function: Of the program, that line is in.
        caller: ``file:line function`` of the program that calls it while it is traced.
        data_type: As XLA writes it.
        opcode: Of XLA's instruction.
        inside: Of a fusion whose work is mostly of another line than its name: what does it.
        inside_frac: The share of its work that is.
    """

    file: str = ""
    line: int = 0
    function: str = ""
    caller: str = ""
    data_type: str = ""
    opcode: str = ""
    inside: str = ""
    inside_frac: float = 0.0


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
    return (
        _of_program(host, event)
        or _of_graph(host, event)
        or CompiledOp(data_type=_argument_type(host, event))
    )


def instruction_of(host: Host, event: int) -> tuple[HloModule, Instruction] | None:
    """The instruction that an event ran, and its program; None where none is known."""
    if event < 0:
        return None
    stats, row = event_stats(host), np.asarray([event])
    texts = recorded_ops(host)
    code = int(texts.at(row)[0])
    if code < 0:
        return None
    hlo = texts.texts[code].rpartition("::")[2]
    program = int(stats.ints(names.PROGRAM_ID).at(row, 0)[0])
    module = hlo_modules(host).get(program)
    instruction = module.instructions.get(hlo) if module is not None else None
    return None if module is None or instruction is None else (module, instruction)


def _of_program(host: Host, event: int) -> CompiledOp | None:
    found = instruction_of(host, event)
    if found is None:
        return None
    from stepscope.tables.hlo.shape import PRIMITIVES
    from stepscope.tables.traits.inside import inside, place_of_instruction

    module, instruction = found
    most = inside(module, instruction)
    at, caller = place_of_instruction(module, instruction)
    if most is not None:
        at, caller = most.frame, most.caller
    shape = instruction.shape
    leaves = [leaf.element_type for _index, leaf in shape.leaves()]
    kind = PRIMITIVES.get(leaves[0], ("", 0))[0] if leaves else ""
    told = ("", 0.0) if most is None else (most.name, most.share)
    return CompiledOp(at.file, at.line, at.function, caller, kind, instruction.opcode, *told)


def _of_graph(host: Host, event: int) -> CompiledOp | None:
    """Of the op of a graph of TensorFlow's, by the lines that made it, where these were noted."""
    known, space = graph_lines(host), host.space
    name = space.event_metadata.name[int(space.events.metadata[event])]
    stack = known.of(parse_op_name(name).name) if known is not None else ()
    if not stack:
        return None
    return CompiledOp(stack[0].file, stack[0].line, stack[0].function, caller_in(stack))


def _argument_type(host: Host, event: int) -> str:
    """The type of the first operand that has one, where PyTorch recorded the types; "" unknown."""
    said = dict(pivot.event_stats(host.space, event)).get(names.ARGUMENTS)
    if not isinstance(said, str):
        return ""
    from stepscope.tables.torch.signature import arguments

    types = arguments(said).get("Input type")
    if not isinstance(types, list):
        return ""
    known = (_TORCH_TYPES.get(one, "") for one in types if isinstance(one, str))
    return next(filter(None, known), "")
