"""Most of the work of XLA's programs and fusions, by line of the user's program.

XLA puts a chain of ops into one loop and calls it after what it ends in: a concatenation whose
pieces are random numbers, a sum over terms that a hundred ops compute. And some recorders note only
that a program ran. Each instruction still knows its own op and line (``tables.hlo.work`` estimates
what it has to do).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepscope.records import dataclass, replace
from stepscope.tables.core.installed import is_installed, is_of_framework
from stepscope.tables.core.thresholds import HALF_FRAC
from stepscope.tables.hlo.dataflow import before_rewriting
from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction
from stepscope.tables.hlo.source import SourceFrame, caller_in, source_frames
from stepscope.tables.hlo.work import Work, body_work, program_work
from stepscope.tables.steps.calls import is_single_op
from stepscope.tables.steps.program_runs import function_of_module

# A compiled function in the path of an op.
_CALLED: Final = re.compile(r"(?:jit|pjit)\((\w+)\)$")
# What old versions of JAX call the function of the user's within its compiled form.
_MAIN: Final = "main"


@dataclass(frozen=True, slots=True)
class LineWork:
    """A line of the user's program that instructions come from.

    Attributes:
        frame: It.
        caller: ``file:line function`` of the program that calls its function; "" unknown.
        name: Of the op, or of the library's function, that has most of its work.
        share: Of all the work there is.
    """

    frame: SourceFrame
    caller: str
    name: str
    share: float


def lines_of_program(module: HloModule) -> list[LineWork]:
    """The lines that a program's work comes from, the largest first; empty where none is known."""
    return _lines(module, program_work(module))


def inside(module: HloModule, fusion: Instruction) -> LineWork | None:
    """The line with most of a fusion's work; its name is "" where the fusion has the same.

    None where that is its own, where no line has most, or where none is known.
    """
    if fusion.opcode not in ENCLOSES:
        return None
    own, _caller = place_of_instruction(module, fusion)
    most = next(iter(_lines(module, body_work(module, fusion))), None)
    if most is None or most.share < HALF_FRAC or most.frame[:2] == own[:2]:
        return None
    return replace(most, name="") if most.name == _op(fusion) else most


def place_of_instruction(module: HloModule, instruction: Instruction) -> tuple[SourceFrame, str]:
    """The innermost line that is not a library's, else the innermost there is; and its caller."""
    instruction = before_rewriting(module, instruction)
    frames = source_frames(module, instruction)
    if is_shared(module, frames):
        return SourceFrame("", 0, ""), ""
    if not frames:
        file, _, line = instruction.source.rpartition(":")
        if is_of_framework(file):  # TensorFlow names the line of its own that makes any op
            return SourceFrame("", 0, ""), ""
        return SourceFrame(file, int(line) if line.isdigit() else 0, ""), ""
    own = [one for one in frames if not is_installed(one.file)]
    if not own:
        return frames[0], ""
    return own[0], caller_in(own)


def is_shared(module: HloModule, frames: Iterable[SourceFrame]) -> bool:
    """Whether a program is one op that JAX runs by itself, wherever it is called.

    All calls with arguments of one shape share the program, and its line is that of the first:
    a layer's while the model was initialised, where an optimizer runs it a hundred times a step.
    A function of the user's may have the same name: then it is among the frames.
    """
    function = function_of_module(module.name)
    if not is_single_op(function):
        return False
    called = {one.function.rpartition(".")[2] for one in frames}
    return function not in called if called else not function.startswith("_")


def _lines(module: HloModule, works: Iterable[Work]) -> list[LineWork]:
    made: dict[tuple[str, int], list[Work]] = {}
    total = 0.0
    for one, work in works:
        if work > 0:
            total += work
            frame, _caller = place_of_instruction(module, one)
            made.setdefault((frame.file, frame.line), []).append((one, work))
    found = []
    for (file, line), of_line in made.items():
        if file and line and not is_installed(file):
            largest = max(of_line, key=lambda pair: pair[1])[0]
            share = sum(work for _one, work in of_line) / total
            place = place_of_instruction(module, largest)
            found.append(LineWork(*place, _name(of_line, largest), share))
    return sorted(found, key=lambda one: -one.share)


def _name(made: list[Work], largest: Instruction) -> str:
    """The op that has most of it, else the library's function that does, else the largest op."""
    total = sum(work for _one, work in made)
    for tell in (_op, _function):
        of_name: dict[str, float] = {}
        for one, work in made:
            name = tell(one)
            of_name[name] = of_name.get(name, 0.0) + work
        name = max(of_name, key=lambda name: of_name[name])
        if name and of_name[name] >= HALF_FRAC * total:
            return name
    return _op(largest)


def _op(one: Instruction) -> str:
    """Its type without its parameters, as old versions of JAX write both: ``fft[fft_type=…]``."""
    said = one.op_type or one.op_name
    return said.partition("[")[0].rpartition("/")[2] or one.opcode


def _function(one: Instruction) -> str:
    """The outermost function of a library that it is in: "normal" of ``jit(_normal)``."""
    called = [told[1] for part in one.op_name.split("/") if (told := _CALLED.match(part))]
    called = [name for name in called if name != _MAIN]
    return called[1].lstrip("_") if len(called) > 1 else ""
