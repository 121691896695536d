"""Where in the program an instruction was written: its stack of source lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from stepscope.errors import DecodeError
from stepscope.wire.read import values

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule, Instruction

_FILE, _FUNCTION, _LOCATION, _FRAME = 1, 2, 3, 4
_STACK_FRAME_ID = 15
# A stack deeper than this is a cycle in a damaged index.
_DEEPEST = 1000
# Programs whose index is kept: the instructions of a recording are asked for one by one.
_KEPT = 16


class SourceFrame(NamedTuple):
    """One frame of the stack that made an instruction; "" and 0 where unknown."""

    file: str
    line: int
    function: str


def source_frames(module: HloModule, instruction: Instruction) -> list[SourceFrame]:
    """The frames of its stack, innermost first; none when not recorded."""
    frame = instruction.metadata.get(_STACK_FRAME_ID, 0)
    if not isinstance(frame, int) or not frame or not module.stack_frames:
        return []
    locations, frames = _index(module.stack_frames)
    found: list[SourceFrame] = []
    for _ in range(_DEEPEST):
        if not 0 < frame <= len(frames):
            break
        location, frame = frames[frame - 1]
        if 0 < location <= len(locations):
            found.append(locations[location - 1])
    return found


def caller_in(frames: Sequence[SourceFrame]) -> str:
    """``file:line function`` that calls the innermost function; "" unknown."""
    around = next((one for one in frames[1:] if one.function != frames[0].function), None)
    return "" if around is None else f"{around.file}:{around.line} {around.function}"


def source_stack(module: HloModule, instruction: Instruction) -> str:
    """``file:line`` of each frame, innermost first, one per line; "" when not recorded."""
    return "\n".join(f"{one.file}:{one.line}" for one in source_frames(module, instruction))


def source_files(stack_frames: bytes) -> frozenset[str]:
    """The paths of all files in a StackFrameIndexProto; none where it is damaged."""
    try:
        return frozenset(
            value.decode("utf-8", "replace")
            for number, value in values(stack_frames)
            if number == _FILE and isinstance(value, bytes)
        )
    except DecodeError:
        return frozenset()


def source_line(module: HloModule, instruction: Instruction) -> str:
    """``file:line`` of an instruction: its own, else the innermost frame of its stack."""
    return instruction.source or source_stack(module, instruction).partition("\n")[0]


@lru_cache(maxsize=_KEPT)
def _index(data: bytes) -> tuple[list[SourceFrame], list[tuple[int, int]]]:
    """Locations, and (location, parent) of frames; ids count from 1. None of a damaged index."""
    try:
        return _read_index(data)
    except DecodeError:
        return [], []


def _read_index(data: bytes) -> tuple[list[SourceFrame], list[tuple[int, int]]]:
    texts: dict[int, list[str]] = {_FILE: [], _FUNCTION: []}
    places: list[tuple[int, int, int]] = []
    frames: list[tuple[int, int]] = []
    for number, value in values(data):
        if not isinstance(value, bytes):
            continue
        if number in texts:
            texts[number].append(value.decode("utf-8", "replace"))
        elif number in (_LOCATION, _FRAME):
            found = {n: v for n, v in values(value) if isinstance(v, int)}
            one, two, three = (found.get(n, 0) for n in (1, 2, 3))
            if number == _LOCATION:
                places.append((one, three, two))
            else:
                frames.append((one, two))
    locations = [
        SourceFrame(_text(texts[_FILE], file), line, _text(texts[_FUNCTION], function))
        for file, line, function in places
    ]
    return locations, frames


def _text(texts: list[str], id_: int) -> str:
    return texts[id_ - 1] if 0 < id_ <= len(texts) else ""
