"""Free memory is in pieces, so that a large tensor may not fit although enough is free.

What it checks: fragmentation (1 - largest free piece / free bytes) when a device's memory is at its
peak, where little is free.
Why it matters: "out of memory" with gigabytes free, and searches for room before each allocation.
What to do: an allocator that maps pieces together; constant shapes; allocate long-lived tensors
first.
When it is wrong: no tensor of the program is as large as the largest free piece.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.device_memory import device_memories
from stepscope.advice.results import Results
from stepscope.quantities import size_words
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

SOME_FRAC = 0.50
# With more than this free, pieces are large enough anyway.
_TIGHT_FRAC = 0.70


def memory_fragmentation(results: Results) -> Iterator[Answer]:
    """Fires when a memory 70 % full has its free bytes in pieces of less than half of them."""
    memories = device_memories(results.memory_profile)
    known = [one for one in memories if one.fragmentation_frac is not None]
    if not known:
        yield Unknown("No allocator of a device reports its fragmentation.")
        return
    tight = [one for one in known if one.used_frac >= _TIGHT_FRAC and one.free_bytes]
    if not tight:
        yield Silence(
            f"{known[0].subject} is {known[0].used_frac:.0%} full at its peak: room enough."
        )
        return
    worst = max(tight, key=lambda one: one.fragmentation_frac or 0.0)
    broken = worst.fragmentation_frac or 0.0
    if broken < SOME_FRAC:
        yield Silence(f"The free bytes of {worst.name} are {broken:.0%} fragmented at the peak.")
        return
    largest = worst.free_bytes * (1 - broken)
    yield Finding(
        rule=RULE.id,
        severity="medium",
        saving_ms=None,
        no_saving="it frees memory; the step takes as long",
        confidence=0.6,
        message=f"At its peak {worst.name} has {size_words(worst.free_bytes)} free, but no piece "
        f"larger than {size_words(largest)} ({broken:.0%} fragmented, {worst.used_frac:.0%} full).",
        measured={
            "free_bytes": worst.free_bytes,
            "largest_free_piece_bytes": largest,
            "fragmentation_frac": broken,
            "used_frac": worst.used_frac,
        },
        evidence=(
            Ref(
                "memory_profile",
                "fragmentation_frac",
                rows=(worst.id,),
                from_ms=worst.peak_time_ms,
                to_ms=worst.peak_time_ms,
            ),
        ),
        actions=(
            "Use an allocator that maps pages: fragments then count as one piece.",
            "Pad sequences to a few lengths, so that blocks are used again.",
            "Create variables and optimizer states before the first step.",
        ),
        code={
            "tensorflow": "os.environ['TF_GPU_ALLOCATOR'] = 'cuda_malloc_async'",
            "jax": "os.environ['XLA_PYTHON_CLIENT_ALLOCATOR'] = 'cuda_async'",
            "pytorch": "os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'",
        },
    )


RULE = Rule(
    id="memory-fragmentation",
    check=memory_fragmentation,
    needs=("memory_profile",),
    doc=__doc__ or "",
    title="Free memory is fragmented",
    threshold="fragmentation ≥ 50 % at a peak of ≥ 70 %",
)
