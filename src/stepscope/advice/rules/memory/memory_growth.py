"""Memory in use grows from step to step.

What it checks: the least use of each memory in each step, as its allocator reported it: whether it
grows steadily.
Why it matters: what is never given back ends the run with "out of memory", hours later.
What to do: look for what a step keeps: losses or outputs with their graph in a list, metrics that
gather tensors, caches by shape, functions traced again.
When it is wrong: the recording covers the first steps, in which buffers and caches fill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.advice.results import Results
from stepscope.quantities import size_words, written_out
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

_FEWEST_STEPS: Final = 8
# Growth that counts: this many bytes, this share of what is in use, and this steady.
_SOME_BYTES: Final = 8 << 20
_SOME_FRAC: Final = 0.02
_STEADY: Final = 0.9
# A run of this many steps is common: growth that fills the memory within them ends it.
_LONG_RUN: Final = 10_000
# What allocators of GPUs are called: "GPU_0_bfc"; that of the host for them is "gpu_host_bfc".
_OF_GPU: Final = re.compile(r"gpu(?!_host)|cuda|hip|xpu", re.IGNORECASE)
_AS_NEEDED: Final = (
    "[tensorflow: To take memory as it is needed instead of all of it, set memory growth; to see "
    "what lives when it runs out, report_tensor_allocations_upon_oom.]"
)
_GROWTH: Final = (
    "for gpu in tf.config.list_physical_devices('GPU'):\n"
    "    tf.config.experimental.set_memory_growth(gpu, True)\n"
    "tf.compat.v1.RunOptions(report_tensor_allocations_upon_oom=True)"
)


def memory_growth(results: Results) -> Iterator[Answer]:
    """Fires when the least use of a memory grows steadily over the steps."""
    profile = results.memory_profile
    series = _least_by_step(profile.timeline.to_dict())
    long = {memory: use for memory, use in series.items() if len(use) >= _FEWEST_STEPS}
    if not long:
        most = max(map(len, series.values()), default=0)
        yield Unknown(
            f"No allocator reported its events in as many as {_FEWEST_STEPS} steps: "
            + (f"they are in {most}; record more of them." if most else "they are in none.")
        )
        return
    rates = {memory: _rate(use) for memory, use in long.items()}
    memory = max(rates, key=lambda one: rates[one])
    rate, use = rates[memory], long[memory]
    grown = rate * (len(use) - 1)
    if grown < max(_SOME_BYTES, _SOME_FRAC * float(use[-1])):
        yield Silence(f"The least use of a memory in a step does not grow over {len(use)} steps.")
        return
    free = next((one.free_bytes for one in profile.memories if one.id == memory), None)
    left = free / rate if free else None
    until = (
        ""
        if left is None
        else f"; at this rate it is full after {written_out(f'{left:.3g}')} more steps"
    )
    on_gpu = bool(_OF_GPU.search(memory))
    yield Finding(
        rule=RULE.id,
        severity="medium" if left is not None and left < _LONG_RUN else "low",
        saving_ms=None,
        no_saving="it keeps the program from running out of memory; the step takes as long",
        confidence=0.6,
        message=f"{memory} keeps {size_words(rate)} more with each of {len(use)} steps{until}.",
        measured={
            "memory": memory,
            "bytes_per_step": rate,
            "grown_bytes": grown,
            "steps": len(use),
        },
        evidence=(Ref("memory_profile", "timeline", rows=(memory,)),),
        actions=(
            "Keep numbers, not tensors: float(loss), or loss.detach(), before it goes into a list.",
            "Reset metrics and caches each epoch; look in memory_profile for what is never freed.",
            *((_AS_NEEDED,) if on_gpu else ()),
        ),
        code={
            "tensorflow": _GROWTH if on_gpu else "total += float(loss)",
            "jax": "jax.profiler.save_device_memory_profile('memory.prof')  # twice, and compare",
            "pytorch": "total += loss.detach()\ntorch.cuda.memory._record_memory_history()",
        },
    )


def _least_by_step(timeline: dict[str, list[object]]) -> dict[str, NDArray[np.float64]]:
    """Per memory the least use in each step, in order."""
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


def _rate(use: NDArray[np.float64]) -> float:
    """Bytes that it grows by with each step; 0 where it does not do so steadily."""
    place = np.arange(len(use), dtype=np.float64)
    if not use.std() > 0:
        return 0.0
    steady = float(np.corrcoef(place, use)[0, 1])
    slope = float(np.polyfit(place, use, 1)[0])
    return slope if steady >= _STEADY and slope > 0 else 0.0


RULE = Rule(
    id="memory-growth",
    check=memory_growth,
    needs=("memory_profile",),
    doc=__doc__ or "",
    title="Memory grows with every step",
    threshold="the least use grows steadily, by ≥ 2 % and ≥ 8 MiB over ≥ 8 steps",
    cause_of=("memory-near-limit",),
)
