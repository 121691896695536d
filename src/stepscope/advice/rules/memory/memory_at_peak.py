"""What holds the memory, where memory is all that was recorded.

What it checks: what was in use when a memory of a device was fullest, by the function that
allocated it.
Why it matters: a snapshot of the allocator has no steps and no times: its peak is the answer.
What to do: keep less in the function that holds most, or hold it for a shorter time.
When it is wrong: the snapshot covers a phase that needs less memory than the one of interest.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stepscope.advice.results import Results
from stepscope.quantities import size_words
from stepscope.registry import Answer, Rule, Unknown
from stepscope.result import Finding, Place, Ref
from stepscope.schema import names

if TYPE_CHECKING:
    from stepscope.analysis.memory_profile import MemorySystem

# Holders of a smaller share of the peak, and those after these many, are not told one by one.
_SOME_FRAC, _MOST = 0.05, 3
# Memory that was there from the start has this share of the peak, and nobody is named.
_UNSEEN_FRAC = 0.5
_SCRIPT: Final = "<module>"
_LINE: Final = re.compile(r"(?P<file>.+):(?P<line>\d+) (?P<function>.+)")


@dataclass(slots=True)
class _Holder:
    """What one function, or one kind of op, holds at the peak; ``lines``: bytes by line."""

    file: str = ""
    held_bytes: int = 0
    kept_bytes: int = 0
    blocks: int = 0
    lines: Counter[int] = field(default_factory=Counter)


def memory_at_peak(results: Results) -> Iterator[Answer]:
    """Fires for the fullest memory of a device in a recording that has nothing that ran."""
    account = results.optional.step_account
    if account is not None and account.step_count:
        yield Unknown("It is asked where nothing but memory was recorded; here the step was.")
        return
    memories = [one for one in results.memory_profile.memories if one.allocations]
    if not memories:
        yield Unknown("No allocator reported its events.")
        return
    fullest = max(memories, key=lambda one: one.peak_bytes)
    yield _finding(fullest, len(memories) - 1)


def _finding(memory: MemorySystem, others: int) -> Finding:
    held = _holders(memory)
    named = [(who, one) for who, one in held if who[1]]
    (who, most) = named[0] if named else held[0]
    peak = max(memory.peak_bytes, 1)
    unseen = sum(one.held_bytes for (by, _), one in held if by == names.ALLOCATED_BEFORE)
    unseen += memory.before_recording_bytes or 0
    name = who[1] if who[1] not in ("", _SCRIPT) else who[0]
    listed = [
        _in_words(by, one, peak)
        for by, one in held[: _MOST + 1]
        if one.held_bytes >= _SOME_FRAC * peak
    ]
    kept = (
        f" Of what {name} holds, {size_words(most.kept_bytes)} were not freed until the recording "
        "ended."
        if most.kept_bytes
        else ""
    )
    more = f" {others} more memories are less full." if others else ""
    of = f" of {size_words(memory.capacity_bytes)}" if memory.capacity_bytes else ""
    line = max(most.lines, key=most.lines.__getitem__, default=0)
    return Finding(
        rule=RULE.id,
        severity="info",
        saving_ms=None,
        no_saving="it is memory that is held here, and no time was recorded",
        confidence=1.0,
        title=f"{name} holds {most.held_bytes / peak:.0%} of the peak memory",
        place=Place(function=who[1], file=most.file, line=line) if who[1] else None,
        message=f"At its peak {memory.id} has {size_words(peak)}{of} in use: {', '.join(listed)}."
        f"{kept}{more}",
        measured={
            "peak_bytes": memory.peak_bytes,
            "held_bytes": most.held_bytes,
            "kept_bytes": most.kept_bytes,
            "before_recording_bytes": unseen,
        },
        evidence=(
            Ref(
                "memory_profile",
                "breakdown",
                rows=(memory.id,),
                from_ms=memory.peak_time_ms,
                to_ms=memory.peak_time_ms,
            ),
        ),
        actions=_actions(unseen / peak),
    )


def _holders(memory: MemorySystem) -> list[tuple[tuple[str, str], _Holder]]:
    """Who holds how much, the most first: by (file, function); (name, "") where none is known.

    A script is not one function: each of its lines is a holder, its file with the line.
    """
    found: dict[tuple[str, str], _Holder] = defaultdict(_Holder)
    for row in memory.breakdown.records():
        place = _LINE.fullmatch(row.op_name)
        who = (place["file"], place["function"]) if place else (row.op_name or row.origin, "")
        if place and who[1] == _SCRIPT:
            who = (f"{who[0]}:{place['line']}", _SCRIPT)
        one = found[who]
        one.file = place["file"] if place else ""
        one.held_bytes += row.allocation_bytes
        one.kept_bytes += max(row.kept_bytes, 0)
        one.blocks += row.occurrences
        if place:
            one.lines[int(place["line"])] += row.allocation_bytes
    return sorted(found.items(), key=lambda item: -item[1].held_bytes)


def _in_words(who: tuple[str, str], one: _Holder, peak: int) -> str:
    file, function = who
    if file == names.ALLOCATED_BEFORE:
        file = file.lower()
    name = f"{function} ({file})" if function not in ("", _SCRIPT) else file
    blocks = "1 block" if one.blocks == 1 else f"{one.blocks:,} blocks"
    return f"{name} {size_words(one.held_bytes)} ({one.held_bytes / peak:.0%}, {blocks})"


def _actions(unseen_frac: float) -> tuple[str, ...]:
    told = (
        "Look at what lives at the peak on the Memory page, by line, op and module.",
        "Activations: recompute them (torch.utils.checkpoint), use bfloat16, or a smaller batch.",
        "Gradients and optimizer states: zero_grad(set_to_none=True), a fused or an 8-bit "
        "optimizer, or shard them over devices.",
        "Evaluation: torch.inference_mode() keeps nothing for a backward pass.",
    )
    if unseen_frac < _UNSEEN_FRAC:
        return told
    return (
        "Call torch.cuda.memory._record_memory_history() before the model is made: most of the "
        "peak was allocated before the recording began.",
        *told,
    )


RULE = Rule(
    id="memory-at-peak",
    check=memory_at_peak,
    needs=("memory_profile",),
    optional=("step_account",),
    doc=__doc__ or "",
    title="One function holds most of the memory",
    threshold="nothing but memory was recorded",
)
