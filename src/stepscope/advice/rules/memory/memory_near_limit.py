"""A device's memory is nearly full at its peak.

What it checks: the highest use of each device's memory against what its allocator may use.
Why it matters: the next longer batch, or a little fragmentation, ends the run with "out of
memory"; allocators near their limit also search for room and give memory back, which costs time.
What to do: hold less at the peak: recompute activations, compute in 16 bits, shard what can be.
When it is wrong: shapes never change and the run has proved that it fits.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.device_memory import device_memories
from stepscope.advice.results import Results
from stepscope.quantities import size_words
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

NEAR_FRAC = 0.90
_FULL_FRAC = 0.97


def memory_near_limit(results: Results) -> Iterator[Answer]:
    """Fires when a device's memory is 90 % full at its peak."""
    memories = device_memories(results.memory_profile)
    if not memories:
        yield Unknown("No allocator of a device says how much memory it may use.")
        return
    fullest = memories[0]
    if fullest.used_frac < NEAR_FRAC:
        yield Silence(
            f"{fullest.subject} is {fullest.used_frac:.0%} full at its peak, below {NEAR_FRAC:.0%}."
        )
        return
    near = [one for one in memories if one.used_frac >= NEAR_FRAC]
    held = ", ".join(f"{name} {size_words(size)}" for name, size in fullest.holders)
    more = f" (and {len(near) - 1} more)" if len(near) > 1 else ""
    yield Finding(
        rule=RULE.id,
        severity="high" if fullest.used_frac >= _FULL_FRAC else "medium",
        saving_ms=None,
        no_saving="it frees memory; the step takes as long",
        confidence=0.9,
        message=f"{fullest.subject}{more} holds {size_words(fullest.peak_bytes)} of "
        f"{size_words(fullest.capacity_bytes)} at its peak ({fullest.used_frac:.0%})"
        + (f"; most in {held}" if held else "")
        + ".",
        measured={
            "peak_bytes": fullest.peak_bytes,
            "capacity_bytes": fullest.capacity_bytes,
            "used_frac": fullest.used_frac,
            "memories": len(near),
        },
        evidence=(
            Ref(
                "memory_profile",
                "breakdown at the peak",
                rows=tuple(name for name, _size in fullest.holders),
                from_ms=fullest.peak_time_ms,
                to_ms=fullest.peak_time_ms,
            ),
        ),
        actions=(
            "Recompute activations in the backward pass instead of keeping them.",
            "Compute in 16 bits: activations take half the memory.",
            "Split the batch and add up gradients; shard optimizer states over the devices.",
            "Where several programs share the device, let each take what it needs "
            "(set_memory_growth); report_tensor_allocations_upon_oom names what lives at the end.",
        ),
        code={
            "tensorflow": "block = tf.recompute_grad(block)",
            "jax": "block = jax.checkpoint(block)",
            "pytorch": "y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
        },
    )


RULE = Rule(
    id="memory-near-limit",
    check=memory_near_limit,
    needs=("memory_profile",),
    doc=__doc__ or "",
    title="Memory nearly full",
    threshold="peak use ≥ 90 % of what the allocator may use",
    symptom_of=("memory-fragmentation",),
)
