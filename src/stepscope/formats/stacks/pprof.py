"""pprof's profiles (``profile.proto``): totals by stack. JAX's ``device_memory_profile`` is one.

Of several types of samples the one of time is shown, else the last, as pprof itself does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.errors import DecodeError, FormatError
from stepscope.formats.format import Input
from stepscope.formats.stacks.samples import StackFrame, Stacks, sample_length, to_space
from stepscope.wire.read import packed_varints, values

TITLE: Final = "a pprof profile"
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _TEXT, _PERIOD_TYPE, _PERIOD = 1, 2, 4, 5, 6, 11, 12
_NS: Final = {"nanoseconds": 1, "microseconds": 1000, "milliseconds": 10**6, "seconds": 10**9}
_BYTES: Final = ("bytes", "byte")
_MOST_BYTES: Final = 1 << 30


@dataclass
class _Profile:
    """The fields of a profile, by number where others refer to them."""

    types: list[tuple[int, int]] = field(default_factory=list)
    samples: list[tuple[list[int], list[int]]] = field(default_factory=list)
    locations: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    functions: dict[int, tuple[int, int]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    period_type: tuple[int, int] = (0, 0)
    period: int = 0

    def text(self, number: int) -> str:
        """A text by its number."""
        return self.texts[number] if 0 <= number < len(self.texts) else ""


def open_file(pieces: Input, *, file: str) -> Space:
    """The stacks of a profile; raises ``FormatError`` where there are none."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > _MOST_BYTES:
            raise FormatError(TITLE, f"it is larger than {_MOST_BYTES:,} bytes", file=file)
    profile, damage = _Profile(), ""
    try:
        for number, value in values(bytes(data)):
            _take(profile, number, value)
    except DecodeError as error:
        damage = error.reason
    shown, scale, said = _shown(profile)
    stacks = Stacks(
        TITLE, f"Imported from a pprof profile. It has totals by stack, not times. {said}"
    )
    frames = _frames(profile, stacks)
    nodes, lengths = [], []
    for locations, amounts in profile.samples:
        if shown < len(amounts):
            stack = [code for one in reversed(locations) for code in frames.get(one, ())]
            nodes.append(stacks.tree.stack(stack))
            lengths.append(min(amounts[shown], 1 << 50) * scale)
    if damage:
        stacks.warnings.append(f"The file cannot be read to its end ({damage}).")
    del data, profile, frames
    total = np.asarray([min(one, 1 << 51) for one in lengths], np.int64)
    stacks.add_totals("all threads", 1, np.asarray(nodes, np.int64), total)
    return to_space(stacks, file=file)


def _take(profile: _Profile, number: int, value: int | bytes) -> None:
    if number == _PERIOD and isinstance(value, int):
        profile.period = value
    if not isinstance(value, bytes):
        return
    if number == _TEXT:
        profile.texts.append(value.decode("utf-8", "replace"))
    elif number == _SAMPLE_TYPE:
        profile.types.append(_pair(value, 1, 2))
    elif number == _PERIOD_TYPE:
        profile.period_type = _pair(value, 1, 2)
    elif number == _FUNCTION:
        key, name = _pair(value, 1, 2)
        profile.functions[key] = name, _pair(value, 1, 4)[1]
    elif number == _LOCATION:
        key = _pair(value, 1, 1)[0]
        profile.locations[key] = [_pair(line, 1, 2) for at, line in values(value) if at == 4]
    elif number == _SAMPLE:
        profile.samples.append((_numbers(value, 1), _numbers(value, 2)))


def _pair(data: int | bytes, first: int, second: int) -> tuple[int, int]:
    """Two numbers of a message; 0 for what is none."""
    if not isinstance(data, bytes):
        return 0, 0
    found = {at: one for at, one in values(data) if isinstance(one, int)}
    return found.get(first, 0), found.get(second, 0)


def _numbers(data: bytes, wanted: int) -> list[int]:
    """A repeated number of a message, packed or not; those of more than 63 bits are none."""
    found: list[int] = []
    for at, value in values(data):
        if at == wanted:
            found += packed_varints(value) if isinstance(value, bytes) else [value]
    return [one if one < 1 << 63 else 0 for one in found]


def _shown(profile: _Profile) -> tuple[int, int, str]:
    """Which of the values of a sample is shown, what makes ns of it, and a sentence of that."""
    units = [profile.text(unit) for _, unit in profile.types]
    timed = [at for at, unit in enumerate(units) if unit in _NS]
    at = timed[-1] if timed else max(len(units) - 1, 0)
    unit = units[at] if units else ""
    kind = profile.text(profile.types[at][0]) if units else ""
    if unit in _NS:
        return at, _NS[unit], f"Shown is {kind or 'time'}."
    if unit in _BYTES:
        return at, 1, f"Shown is {kind or 'memory'}: a byte as a nanosecond, a MB as a millisecond."
    period_unit = profile.text(profile.period_type[1])
    if profile.period and period_unit in _NS:
        length = min(profile.period, 1 << 40) * _NS[period_unit]
        return at, length, f"Shown are {kind or 'samples'} of {length / 1e6:g} ms each."
    count = sum(amounts[at] for _, amounts in profile.samples if at < len(amounts))
    length, words = sample_length(count)
    return at, length, f"Shown are {kind or 'samples'}, as {words} each."


def _frames(profile: _Profile, stacks: Stacks) -> dict[int, list[int]]:
    """The frames of each location, outermost first: a location has one for each inlined call."""
    found: dict[int, list[int]] = {}
    for key, lines in profile.locations.items():
        codes = []
        for function, line in reversed(lines):
            name, path = profile.functions.get(function, (0, 0))
            frame = StackFrame(
                profile.text(name), profile.text(path), line if line < 1 << 31 else 0
            )
            codes.append(stacks.code(frame))
        found[key] = codes or [stacks.code(StackFrame(f"location {key}"))]
    return found
