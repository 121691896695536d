"""Rules about memory: peaks, growth, fragments, and batches that leave it free."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.advice.evidence.device_memory import device_memories
from stepscope.advice.evidence.device_time import idle_ref
from stepscope.advice.evidence.steps import is_window
from stepscope.advice.match import Case
from stepscope.advice.render import first_names, silent, unknown
from stepscope.quantities import size_words
from stepscope.records import dataclass, field
from stepscope.registry import Answer
from stepscope.result import Place, Ref, Severity
from stepscope.schema import names
from stepscope.tables.core.thresholds import (
    ALL_FRAC,
    HALF_FRAC,
    LEAK_BYTES,
    LITTLE_FRAC,
    LONG_RUN_STEPS,
    MANY,
    MOST_FRAC,
    NEARLY_ALL_FRAC,
    SOME_FRAC,
    UNDER_HALF_FRAC,
)

if TYPE_CHECKING:
    from stepscope.analysis.memory_profile import MemorySystem
    from stepscope.analysis.overview_page import OverviewPage

# What the host does per step whatever the batch. Python between the ops may grow with it.
_FIXED: Final = ("kernel_launch", "host_compute")
_SCRIPT: Final = "<module>"
_LINE: Final = re.compile(r"(?P<file>.+):(?P<line>\d+) (?P<function>.+)")


def small_batch(case: Case) -> Answer:
    """Fire when 60 % of the memory is free and fixed costs idle the device 15 % of the step."""
    overview, idle = case.overview_page, case.device_idle
    memories = device_memories(case.memory_profile)
    if is_window(overview):
        return unknown("window")
    if not memories:
        return unknown("no_capacity")
    fullest = memories[0]
    if fullest.used_frac >= UNDER_HALF_FRAC:
        return silent("room", memory=fullest.name, used_frac=fullest.used_frac)
    sent = float(overview.breakdown_ms["host_to_device"])
    if sent >= SOME_FRAC * case.step_ms:  # the host prepares them before, for as long
        return silent("sends", cost_frac=sent / case.step_ms)
    idle_ms = sum(row.idle_ms for row in idle.causes.records() if row.cause in _FIXED)
    fixed = min(idle_ms, _least_ms(overview))
    # As often as the batch fits into the memory, in doublings that leave a tenth free.
    most = NEARLY_ALL_FRAC / max(fullest.used_frac, LITTLE_FRAC)
    times = 1 << max(int(most), 2).bit_length() - 1
    return case.match(
        "small-batch",
        fixed / 2,
        cost_ms=fixed,
        high_ms=fixed * (1 - 1 / times),
        evidence=(
            Ref("memory_profile", "memories.peak_bytes", rows=(fullest.id,)),
            idle_ref(*_FIXED),
        ),
        peak_bytes=fullest.peak_bytes,
        capacity_bytes=fullest.capacity_bytes,
        used_frac=fullest.used_frac,
        fixed_ms=fixed,
        batch_times=times,
    )


def _least_ms(overview: OverviewPage) -> float:
    """Return what every step pays, whatever else some steps do: the tenth with the least."""
    table = overview.step_table
    kept = np.asarray(table["kept"], dtype=np.bool_)
    columns = [np.asarray(table[f"{name}_ms"], dtype=np.float64) for name in _FIXED]
    spent = np.sum(columns, axis=0)[kept]
    return float(np.percentile(spent, 10, method="lower")) if len(spent) else 0.0


def memory_near_limit(case: Case) -> Answer:
    """Fire when a device's memory is 90 % full at its peak."""
    memories = device_memories(case.memory_profile)
    if not memories:
        return unknown("no_capacity")
    fullest = memories[0]
    if fullest.used_frac < NEARLY_ALL_FRAC:
        return silent("room", memory=fullest.subject, used_frac=fullest.used_frac)
    return case.match(
        "memory-near-limit",
        severity="high" if fullest.used_frac >= ALL_FRAC else "medium",
        evidence=(
            Ref(
                "memory_profile",
                "breakdown",
                rows=tuple(name for name, _size in fullest.holders),
                from_ms=fullest.peak_time_ms,
                to_ms=fullest.peak_time_ms,
            ),
        ),
        memory=fullest.subject,
        peak_bytes=fullest.peak_bytes,
        capacity_bytes=fullest.capacity_bytes,
        used_frac=fullest.used_frac,
        memories=sum(one.used_frac >= NEARLY_ALL_FRAC for one in memories),
        holders=_sizes(fullest.holders) or None,
    )


def _sizes(holders: tuple[tuple[str, int], ...]) -> str:
    return first_names(f"{name} {size_words(size)}" for name, size in holders)


def memory_fragmentation(case: Case) -> Answer:
    """Fire when a memory 75 % full has its free bytes in pieces of less than half of them."""
    memories = device_memories(case.memory_profile)
    known = [one for one in memories if one.fragmentation_frac is not None]
    if not known:
        return unknown("no_fragmentation")
    tight = [one for one in known if one.used_frac >= MOST_FRAC and one.free_bytes]
    if not tight:
        return silent("room", memory=known[0].subject, used_frac=known[0].used_frac)
    worst = max(tight, key=lambda one: one.fragmentation_frac or 0.0)
    broken = worst.fragmentation_frac or 0.0
    if broken < HALF_FRAC:
        return silent("fragments", memory=worst.name, fragmentation_frac=broken)
    return case.match(
        "memory-fragmentation",
        severity="high" if worst.used_frac >= ALL_FRAC else "medium",
        evidence=(
            Ref(
                "memory_profile",
                "fragmentation_frac",
                rows=(worst.id,),
                from_ms=worst.peak_time_ms,
                to_ms=worst.peak_time_ms,
            ),
        ),
        memory=worst.subject,
        free_bytes=worst.free_bytes,
        largest_free_piece_bytes=worst.free_bytes * (1 - broken),
        fragmentation_frac=broken,
        used_frac=worst.used_frac,
    )


def memory_growth(case: Case) -> Answer:
    """Fire when the least use of a memory grows steadily over the steps."""
    profile = case.memory_profile
    series = _least_by_step(profile.timeline.to_dict())
    long = {memory: use for memory, use in series.items() if len(use) >= MANY}
    if not long:
        return unknown("few_memory_steps", count=MANY)
    rates = {memory: _rate(use, NEARLY_ALL_FRAC) for memory, use in long.items()}
    memory = max(rates, key=lambda one: rates[one])
    rate, use = rates[memory], long[memory]
    grown = rate * (len(use) - 1)
    if grown < max(LEAK_BYTES, LITTLE_FRAC * float(use[-1])):
        return silent("steady", count=len(use))
    free = next((one.free_bytes for one in profile.memories if one.id == memory), None)
    left = free / rate if free else None
    return case.match(
        "memory-growth",
        severity="medium" if left is not None and left < LONG_RUN_STEPS else "low",
        evidence=(Ref("memory_profile", "timeline", rows=(memory,)),),
        memory=memory,
        bytes_per_step=rate,
        step_count=len(use),
        steps_left=left,
    )


def _least_by_step(timeline: dict[str, list[object]]) -> dict[str, NDArray[np.float64]]:
    """Return per memory the least use in each step, in order."""
    least: dict[str, dict[int, int]] = {}
    for memory, step, use in zip(
        timeline["memory"], timeline["step"], timeline["in_use_bytes"], strict=True
    ):
        if isinstance(step, int) and isinstance(use, int):
            own = least.setdefault(str(memory), {})
            own[step] = min(own.get(step, use), use)
    return {
        memory: np.asarray([own[step] for step in sorted(own)], dtype=np.float64)
        for memory, own in least.items()
    }


def _rate(use: NDArray[np.float64], steady: float) -> float:
    """Return the bytes that it grows by with each step; 0 where it does not do so steadily."""
    place = np.arange(len(use), dtype=np.float64)
    if not use.std() > 0:
        return 0.0
    is_steady = float(np.corrcoef(place, use)[0, 1]) >= steady
    slope = float(np.polyfit(place, use, 1)[0])
    return slope if is_steady and slope > 0 else 0.0


@dataclass(slots=True)
class _Holder:
    """Memory that one function, or one kind of op, holds at the peak; ``lines``: bytes by line."""

    file: str = ""
    held_bytes: int = 0
    kept_bytes: int = 0
    lines: Counter[int] = field(default_factory=Counter)


def memory_at_peak(case: Case) -> Answer:
    """Fire for the fullest memory of a device in a recording that has nothing that ran."""
    account = case.optional.step_account
    if account is not None and account.step_count:
        return unknown("has_steps")
    memories = [one for one in case.memory_profile.memories if one.allocations]
    if not memories:
        return unknown("no_allocator")
    return _peak_finding(case, max(memories, key=lambda one: one.peak_bytes))


def _peak_finding(case: Case, memory: MemorySystem) -> Answer:
    held = _holders(memory)
    placed = [(who, holder) for who, holder in held if who[1]]
    who, most = placed[0] if placed else held[0]
    peak = max(memory.peak_bytes, 1)
    unseen = sum(one.held_bytes for (by, _), one in held if by == names.ALLOCATED_BEFORE)
    unseen += memory.before_recording_bytes or 0
    is_unseen = unseen >= HALF_FRAC * peak
    capacity = memory.capacity_bytes or None
    used = None if capacity is None else memory.peak_bytes / capacity
    severity: Severity = "low"  # that memory is held is no loss, and all that was recorded
    if used is not None and used >= NEARLY_ALL_FRAC:
        severity = "high" if used >= ALL_FRAC else "medium"
    is_out = bool(getattr(memory, "failed_allocations", 0))
    line = max(most.lines, key=most.lines.__getitem__, default=0)
    return case.match(
        "memory-unseen" if is_unseen else "memory-out" if is_out else "memory-at-peak",
        severity="high" if is_out else severity,
        place=Place(function=who[1], file=most.file, line=line) if who[1] else None,
        evidence=(
            Ref(
                "memory_profile",
                "breakdown",
                rows=(memory.id,),
                from_ms=memory.peak_time_ms,
                to_ms=memory.peak_time_ms,
            ),
        ),
        memory=memory.id,
        holder=who[1] if who[1] not in ("", _SCRIPT) else who[0],
        held_frac=most.held_bytes / peak,
        unseen_frac=unseen / peak,
        before_recording_bytes=unseen,
        peak_bytes=memory.peak_bytes,
        capacity_bytes=capacity,
        used_frac=used,
        held_bytes=most.held_bytes,
        kept_bytes=most.kept_bytes or None,
        saving_bytes=most.held_bytes,
        holders=_sizes(tuple((_holder_name(by), holder.held_bytes) for by, holder in held)),
    )


def _holder_name(who: tuple[str, str]) -> str:
    file, function = who
    name = file.replace("\\", "/").rpartition("/")[2]
    return f"{function} ({name})" if function not in ("", _SCRIPT) else name


def _holders(memory: MemorySystem) -> list[tuple[tuple[str, str], _Holder]]:
    """Return who holds how much, the most first: by (file, function); (name, "") if unknown.

    A script is not one function: each of its lines is a holder, its file with the line.
    """
    found: dict[tuple[str, str], _Holder] = defaultdict(_Holder)
    for row in memory.breakdown.records():
        place = _LINE.fullmatch(row.op_name)
        who = (place["file"], place["function"]) if place else (row.op_name or row.origin, "")
        if place and who[1] == _SCRIPT:
            who = (f"{who[0]}:{place['line']}", _SCRIPT)
        holder = found[who]
        holder.file = place["file"] if place else ""
        holder.held_bytes += row.allocation_bytes
        holder.kept_bytes += max(row.kept_bytes, 0)
        if place:
            holder.lines[int(place["line"])] += row.allocation_bytes
    return sorted(found.items(), key=lambda item: -item[1].held_bytes)
