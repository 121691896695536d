"""What parts of a step are called by their kind, and what to do about those without a place."""

from __future__ import annotations

import re

from stepscope.advice.parts.replacements import READ_LATER

#: Parts by kind, as the subject of a sentence.
KINDS = {
    "input": "Waiting for input",
    "compile": "Tracing and compiling",
    "copy": "Copying between host and device",
    "launch": "Launching kernels",
    "wait": "Waiting for a device or another thread",
    "collective": "Communication between devices",
    "allocation": "Allocating memory",
}
#: The same of copies that stay on a device, and what to do about those.
WITHIN = "Copying within a device"
WITHIN_ACTIONS = (
    "Look at what is copied: an argument that a result replaces ([jax: donate it, jax.jit(…, "
    "donate_argnums=…)]), a view made contiguous, a layout that changes from op to op.",
)
# "copy.22" is XLA's instruction, on one device.
_WITHIN = re.compile(r"copy(?:[-.]?(?:start|done|\d))*|.*(?:DtoD|D2D).*")


def is_within(kind: str, first: str) -> bool:
    """Whether copies of which most is the event ``first`` stay on a device."""
    return kind == "copy" and first != kind and _WITHIN.fullmatch(first) is not None


#: What to do about them.
ACTIONS = {
    "input": (
        "Run the loop on one batch kept in memory: if it is faster, the pipeline is the limit.",
        "Prefetch, give slow stages threads or processes, cache what is expensive.",
    ),
    "compile": (
        "Keep shapes, types and Python arguments the same from call to call; create compiled "
        "functions outside of the loop.",
    ),
    "copy": ("Copy the next batch while this one computes; fetch results every n-th step.",),
    "launch": ("Compile the step, so that chains of small kernels become one.",),
    "wait": READ_LATER,
    "collective": ("Send gradients in buckets during the backward pass.",),
    "allocation": ("Keep shapes the same, so that cached blocks are used again.",),
}
#: What XLA's own threads have not done yet, and what to do about that.
POOL = "Waiting for XLA's threads"
POOL_WAITS = (
    "Look in the timeline at which program is under way (jit_…): its ops are what is waited for. "
    "Where none of them runs meanwhile, the threads had no free core: look for other programs and "
    "threads on this machine.",
)
_POOL_WAIT = "ThunkExecutor::Execute (wait"


def is_pool_wait(kind: str, first: str) -> bool:
    """Whether a wait is for the threads of XLA's that run a program on the host."""
    return kind == "wait" and first.startswith(_POOL_WAIT)


#: What to do about calls of the operating system, and about those that wait.
SYSTEM_CALLS = (
    "Look in the timeline at what they are for: files that are read, a device that is set up or "
    "given memory, a lock.",
    "Read files before the loop or on another thread; open and set up once.",
)
SYSTEM_WAITS = (
    "Look in the timeline at what the thread or process that it waits for does meanwhile.",
)
