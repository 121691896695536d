"""What the versions of a program that is compiled again and again differ in.

JAX compiles a function once for each combination of its arguments' shapes and types, of its static
arguments' values, and of the function object itself: which of these changed, the programs say.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal

from stepscope.records import dataclass
from stepscope.tables.core.installed import is_installed
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.source import SourceFrame, source_frames

# So many versions tell what differs; so many arguments, and values of each, are named.
_VERSIONS, _ARGUMENTS, _VALUES = 8, 3, 3
_PREFIXES: Final = ("jit_", "pjit_", "pmap_", "jit__")

#: Shapes or types of arguments; values compiled in; nothing at all: the same program once more.
Differs = Literal["shapes", "values", "nothing"]


@dataclass(frozen=True, slots=True)
class Versions:
    """Programs of one function.

    Attributes:
        differs: In what.
        what: Of shapes, which arguments, and some of what they were; of values, the line that uses
            one; "" unknown.
        place: A line of the function itself, as far as the programs say.
        caller: The line that calls it.
    """

    differs: Differs
    what: str
    place: SourceFrame | None
    caller: SourceFrame | None


def versions_of(host: Host, function: str) -> Versions | None:
    """What the programs of a function differ in; None of fewer than two."""
    found = list(islice(_named(host, function), _VERSIONS))
    if len(found) < 2:
        return None
    place, caller = _place(found[0], function)
    given = [_arguments(module) for module in found]
    changed = _changed(given)
    if changed:
        return Versions("shapes", "; ".join(changed[:_ARGUMENTS]), place, caller)
    line = _differing_value(found)
    if line is not None:
        return Versions("values", line, place, caller)
    return Versions("nothing", "", place, caller)


def _named(host: Host, function: str) -> Iterator[HloModule]:
    wanted = {f"{prefix}{function}" for prefix in _PREFIXES} | {function}
    return (module for module in hlo_modules(host) if module.name in wanted)


def _arguments(module: HloModule) -> dict[int, tuple[str, str]]:
    """Name and shape of each parameter, by its number."""
    entry = module.entry
    return {
        one.parameter_number: (one.op_name, str(one.shape).partition("{")[0])
        for one in (entry.instructions if entry is not None else ())
        if one.opcode == "parameter"
    }


def _changed(given: list[dict[int, tuple[str, str]]]) -> list[str]:
    """Arguments whose shape or type differs between versions, with some of what they were."""
    found = []
    for number in sorted({number for one in given for number in one}):
        shapes = dict.fromkeys(one[number][1] for one in given if number in one)
        is_missing = any(number not in one for one in given)
        if len(shapes) > 1 or is_missing:
            name = next((one[number][0] for one in given if number in one), "")
            said = ", ".join(list(shapes)[:_VALUES]) + (", …" if len(shapes) > _VALUES else "")
            found.append(f"{name or f'argument {number}'}: {said}")
    return found


def _differing_value(found: list[HloModule]) -> str | None:
    """Where a value that is compiled in differs, as ``file:line``; None: the programs are alike."""
    alike: dict[tuple[tuple[str, bytes], ...], list[HloModule]] = {}
    for module in found:
        form = tuple((one.opcode, one.shape_proto) for one in _instructions(module))
        alike.setdefault(form, []).append(module)
    most = max(alike.values(), key=len)
    for same in zip(*map(_instructions, most), strict=True):
        if same[0].opcode == "constant" and len({one.literal for one in same}) > 1:
            return _used_at(most[0], same[0])
    return None if len(alike) == 1 else ""


def _instructions(module: HloModule) -> Iterator[Instruction]:
    return (one for body in module.computations.values() for one in body.instructions)


def _used_at(module: HloModule, constant: Instruction) -> str:
    users = (module.by_id[at] for at in module.users.get(constant.id, ()) if at in module.by_id)
    for one in (*users, constant):
        frames = source_frames(module, one)
        own = [frame for frame in frames if not is_installed(frame.file)] or frames
        if own:
            return f"{own[0].file.rpartition('/')[2]}:{own[0].line}"
        if one.source:
            return one.source.rpartition("/")[2]
    return ""


def _place(module: HloModule, function: str) -> tuple[SourceFrame | None, SourceFrame | None]:
    """The function's first line that the program has ops of, and where it is called."""
    best: tuple[SourceFrame | None, SourceFrame | None] = (None, None)
    for one in _instructions(module):
        frames = source_frames(module, one)
        for at, frame in enumerate(frames):
            if frame.function.rpartition(".")[2] != function:
                continue
            outer = frames[at + 1] if at + 1 < len(frames) else None
            if best[0] is None or frame.line < best[0].line:
                best = frame, outer
    return best
