"""What the categories of Kineto's events mean, in every spelling since 2021."""

from __future__ import annotations

import re
from typing import Final

#: By category; those that are not here are shown on the timeline and counted, no more.
CATEGORIES: Final = {
    "cpu_op": "op",
    "Operator": "op",  # 2021, annotations among them
    "hpu_op": "op",
    "user_annotation": "annotation",
    "collective_comm": "annotation",
    "python_function": "python",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "Runtime": "runtime",
    "hip_runtime": "runtime",
    "hip_driver": "runtime",
    "xpu_runtime": "runtime",
    "xpu_driver": "runtime",
    "mtia_runtime": "runtime",
    "glow_runtime": "runtime",
    "privateuse1_runtime": "runtime",
    "privateuse1_driver": "runtime",
    "overhead": "overhead",
    "kernel": "kernel",
    "Kernel": "kernel",
    "concurrent_kernel": "kernel",
    "mtia_ccp_events": "kernel",  # waits and records among them
    "gpu_memcpy": "copy",
    "Memcpy": "copy",
    "gpu_memset": "set",
    "Memset": "set",
    "gpu_user_annotation": "scope",
    "cuda_sync": "sync",
    "xpu_sync": "sync",
    "cuda_event": "record",
    "graph_event_node": "record",
}
#: What an event of no known category is.
OTHER: Final = "other"
KINDS: Final = (*dict.fromkeys(CATEGORIES.values()), OTHER)
KIND: Final = {kind: number for number, kind in enumerate(KINDS)}
#: Arrows from a launch to what it launched: the correlation says the same.
ARROWS_TO_DEVICES: Final = frozenset({"ac2g", "async", "async_cpu_to_gpu", "async_gpu"})
#: Arrows from an op to its backward op.
ARROWS_TO_BACKWARD: Final = frozenset({"fwdbwd", "forward_backward"})
#: Names of annotations that 2021's files have among the ops.
ANNOTATIONS: Final = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)", "[param|")
#: The category in which MTIA has all that a device does.
MTIA: Final = "mtia_ccp_events"
_MTIA_WAIT: Final = re.compile(
    r"(event|stream|queue|device)[ _]?(wait|sync)|wait[ _]?(for[ _]?)?(event|stream)"
    r"|(?<![a-z])sync(hroni[sz]e)?(?![a-z])",
    re.IGNORECASE,
)
_MTIA_RECORD: Final = re.compile(r"event[ _]?record|record[ _]?event", re.IGNORECASE)
_COLLECTIVE: Final = re.compile(r"[hn]ccl|all_?reduce|all_?gather|reduce_?scatter", re.IGNORECASE)


def mtia_kind(name: str) -> str:
    """What an event on an MTIA is: waiting is not computing."""
    if _COLLECTIVE.search(name):
        return "kernel"
    if _MTIA_WAIT.search(name):
        return "sync"
    return "record" if _MTIA_RECORD.search(name) else "kernel"
