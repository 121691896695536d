"""Where in the program an instruction was written: its stack of source lines."""

from __future__ import annotations

from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.wire.read import values

_FILE, _LOCATION, _FRAME = 1, 3, 4
_STACK_FRAME_ID = 15
# A stack deeper than this is a cycle in a damaged index.
_DEEPEST = 1000


def source_stack(module: HloModule, instruction: Instruction) -> str:
    """``file:line`` of each frame, innermost first, one per line; "" when not recorded."""
    frame = instruction.metadata.get(_STACK_FRAME_ID, 0)
    if not isinstance(frame, int) or not frame or not module.stack_frames:
        return ""
    files, locations, frames = _index(module.stack_frames)
    lines: list[str] = []
    while 0 < frame <= len(frames) and len(lines) < _DEEPEST:
        location, frame = frames[frame - 1]
        if 0 < location <= len(locations):
            file, line = locations[location - 1]
            name = files[file - 1] if 0 < file <= len(files) else ""
            lines.append(f"{name}:{line}")
    return "\n".join(lines)


def source_line(module: HloModule, instruction: Instruction) -> str:
    """``file:line`` of an instruction: its own, else the innermost frame of its stack."""
    return instruction.source or source_stack(module, instruction).partition("\n")[0]


def _index(data: bytes) -> tuple[list[str], list[tuple[int, int]], list[tuple[int, int]]]:
    """(file names, (file, line) of locations, (location, parent) of frames); ids count from 1."""
    files: list[str] = []
    pairs: dict[int, list[tuple[int, int]]] = {_LOCATION: [], _FRAME: []}
    for number, value in values(data):
        if not isinstance(value, bytes):
            continue
        if number == _FILE:
            files.append(value.decode("utf-8", "replace"))
        elif number in pairs:
            found = {n: v for n, v in values(value) if isinstance(v, int)}
            second = 3 if number == _LOCATION else 2
            pairs[number].append((found.get(1, 0), found.get(second, 0)))
    return files, pairs[_LOCATION], pairs[_FRAME]
