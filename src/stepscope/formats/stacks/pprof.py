"""pprof's profiles (``profile.proto``): totals by stack. JAX's ``device_memory_profile`` is one.

Of several types of samples the one is shown that the profile names, else the one of time, else the
last, as pprof itself does. ``pprof_fields`` reads what samples refer to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.columns.space import I64, Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.messages import listed, repeated, submessages, top_fields
from stepscope.formats.python_frames import shown_frames
from stepscope.formats.stacks.pprof_fields import (
    AT_ONCE,
    LocationFrames,
    Profile,
    ProfileField,
    SampleField,
    location_frames,
    profile_of,
)
from stepscope.formats.stacks.samples import DEEPEST, ROOT, Stacks, sample_length, to_space
from stepscope.formats.xspace.cold_fields import DamageLog
from stepscope.formats.xspace.line_parts import LineParts, stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.limits import current
from stepscope.schema import names

TITLE: Final = "a pprof profile"
_NS: Final = {
    "nanosecond": 1,
    "ns": 1,
    "microsecond": 10**3,
    "us": 10**3,
    "millisecond": 10**6,
    "ms": 10**6,
    "second": 10**9,
    "s": 10**9,
}
_BYTES: Final = ("byte", "b")
_LONGEST_NS: Final = 1 << 51  # 26 days
_LARGEST: Final = 1 << 50


def open_file(pieces: Input, *, file: str) -> Space:
    """The stacks of a profile; raises ``FormatError`` where there are none."""
    data = bytearray().join(pieces)
    buffer, damage = memoryview(data), DamageLog()
    profile = profile_of(buffer, damage)
    shown = _shown(profile)
    stacks = Stacks(TITLE, "")
    frames = location_frames(profile, stacks)
    nodes, amounts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for node, amount in _samples(buffer, frames, shown, stacks, damage):
        nodes.append(node)
        amounts.append(amount)
    amount = np.concatenate(amounts)
    scale, said = _scale(profile, shown, float(np.maximum(amount, 0).sum(dtype=np.float64)))
    stacks.origin = f"Imported from a pprof profile. It has totals by stack, not times. {said}"
    is_memory = shown < len(profile.types) and _is_memory(profile, profile.types[shown][1])
    if negative := int((amount < 0).sum()):
        text = "samples count below 0, as in what two profiles differ by; they are left out."
        stacks.warnings.append(f"{negative:,} {text}")
    error = damage.first(file)
    if error is not None:
        stacks.warnings.append(f"The profile is broken ({error.reason}): samples may be missing.")
    del data, buffer, profile, frames
    scale = min(scale, _LONGEST_NS)
    amount = np.clip(amount, 0, _LARGEST)
    if is_memory:
        return _memory_space(stacks, np.concatenate(nodes), amount, file=file)
    is_far = amount > _LONGEST_NS // scale
    length = np.where(is_far, _LONGEST_NS, np.where(is_far, 0, amount) * scale)
    stacks.add_totals("all threads", 1, np.concatenate(nodes), length)
    return to_space(stacks, file=file)


def _samples(
    buffer: memoryview, frames: LocationFrames, shown: int, stacks: Stacks, damage: DamageLog
) -> Iterator[tuple[I64, I64]]:
    """Node and amount of the samples that have one, some at a time."""
    # What is broken between the samples was noted when it was read for the first time.
    for fields in top_fields(buffer, AT_ONCE, str, DamageLog()):
        _, begin, end = submessages(fields, ProfileField.SAMPLE)
        count = len(begin)
        found = listed(buffer, begin, end, SampleField, "sample", damage)
        values, many = repeated(buffer, found, SampleField.VALUE, count, damage)
        has = many > shown
        amount = values.view(np.int64)[(np.cumsum(many) - many + shown)[has]]
        ids, many = repeated(buffer, found, SampleField.LOCATION, count, damage)
        codes, length = _codes(frames, frames.rows.of(ids.view(np.int64)), many)
        node = stacks.tree.stacks(codes, length)
        yield node[has], amount


def _codes(frames: LocationFrames, row: I64, many: I64) -> tuple[I64, I64]:
    """Codes of the frames of each sample, outermost first, and how many each has.

    Args:
        frames: Of locations.
        row: Locations of the samples, innermost first; -1 where there is none.
        many: How many each sample has.
    """
    sample = np.repeat(np.arange(len(many)), many)
    begin = np.cumsum(many) - many
    outermost_first = row[(2 * begin + many - 1)[sample] - np.arange(len(row))]
    is_known = outermost_first >= 0
    row, sample = outermost_first[is_known], sample[is_known]
    count = frames.count[row]
    # No deeper than stacks are read: a location may claim to have as many as the file has bytes.
    before = np.cumsum(count) - count
    first = np.searchsorted(sample, np.arange(len(many)))
    before -= np.append(before, 0)[first][sample]
    count = np.clip(DEEPEST - before, 0, count)
    total = int(count.sum())
    current().spend("objects", total)
    place = np.repeat(frames.begin[row] - (np.cumsum(count) - count), count) + np.arange(total)
    length = np.zeros(len(many), np.int64)
    np.add.at(length, sample, count)
    return frames.code[place], length


def _shown(profile: Profile) -> int:
    """Which of the values of a sample is shown."""
    kinds = [profile.text(kind) for kind, _ in profile.types]
    if profile.default_type and (named := profile.text(profile.default_type)) in kinds:
        return kinds.index(named)
    units = [_unit(profile.text(unit)) for _, unit in profile.types]
    timed = [at for at, unit in enumerate(units) if unit in _NS]
    return timed[-1] if timed else max(len(units) - 1, 0)


def _scale(profile: Profile, shown: int, count: float) -> tuple[int, str]:
    """What makes ns of what is shown, and a sentence of that."""
    types = profile.types[shown : shown + 1]
    unit = _unit(profile.text(types[0][1])) if types else ""
    kind = profile.text(types[0][0]) if types else ""
    if unit in _NS:
        return _NS[unit], f"Shown is {kind or 'time'}."
    if unit in _BYTES:
        return 1, f"Shown is {kind or 'memory'} in bytes, held when the profile was taken."
    period_unit = _unit(profile.text(profile.period_type[1]))
    if profile.period > 0 and period_unit in _NS:
        length = min(profile.period, 1 << 40) * _NS[period_unit]
        return length, f"Shown are {kind or 'samples'} of {length / 1e6:g} ms each."
    length, words = sample_length(count)
    return length, f"Shown are {kind or 'samples'}, as {words} each."


def _is_memory(profile: Profile, unit: int) -> bool:
    """Whether values are bytes."""
    return _unit(profile.text(unit)) in _BYTES


def _memory_space(stacks: Stacks, nodes: I64, size_bytes: I64, *, file: str) -> Space:
    """Show the memory of each stack as one allocation, the largest first.

    Raises:
        FormatError: Nothing holds memory.
    """
    used, inverse = np.unique(nodes, return_inverse=True)
    size = np.zeros(len(used), np.int64)
    np.add.at(size, inverse, size_bytes)
    order = np.argsort(-size, kind="stable")
    used, size = used[order][size[order] > 0], size[order][size[order] > 0]
    if not len(used):
        raise FormatError(TITLE, "it has no memory in use", file=file)
    plane, line = PlaneWriter(names.HOST_PLANE), LineParts()
    plane.stat(names.IMPORTED, stacks.origin)
    places = [_holder(stacks, node) for node in used.tolist()]
    allocated = np.cumsum(size)
    allocator = np.full(len(used), plane.text("pprof"), np.int32)
    stats = [Stat(names.ALLOCATOR_NAME, allocator, is_text=True)]
    for name, texts in zip(
        (names.TF_OP, names.SOURCE_STACK), zip(*places, strict=True), strict=True
    ):
        ids = np.asarray([plane.text(text) if text else 0 for text in texts], np.int32)
        stats += stat_of(name, ids, ids > 0, is_text=True)
    stats += [
        Stat(names.REQUESTED_BYTES, size),
        Stat(names.ALLOCATION_BYTES, size),
        Stat(names.ADDRESS, np.arange(1, len(used) + 1)),
        Stat(names.BYTES_ALLOCATED, allocated),
        Stat(names.PEAK_BYTES_IN_USE, allocated),
    ]
    code = np.full(len(used), plane.names(names.MEMORY_EVENTS)[0], np.int32)
    line.add(code, np.arange(len(used)), np.zeros(len(used), np.int8), stats)
    line.write(plane, 1, f"{names.MEMORY_LINE}0")
    return space_of([plane], warnings=stacks.warnings)


def _holder(stacks: Stacks, node: int) -> tuple[str, str]:
    """The innermost line of the program in a stack, and the stack, innermost first."""
    frames = []
    while node > ROOT:
        frame = stacks.frames[stacks.tree.frame[node]]
        frames.append({"filename": frame.file, "line": frame.line, "name": frame.name})
        node = stacks.tree.parent[node]
    current().spend("objects", len(frames))
    shown = list(shown_frames(frames))
    own = next((text for text, is_own in shown if is_own), shown[0][0] if shown else "")
    return own, "\n".join(text for text, _ in shown)


def _unit(text: str) -> str:
    """A unit's name in the singular, as pprof takes both."""
    text = text.lower()
    return text if text in _NS else text.removesuffix("s")
