"""Transfers through one link take longer than the same transfers elsewhere.

What it checks: which communicators transfer more slowly than others of their kind and size, and the
smallest set of devices, hosts or racks through which all of these go and no normal one.
Why it matters: a collective is as slow as its slowest link, and all of its members wait for it.
What to do: test the card, cable, rail or switch port of what is named, then the switch above it.
When it is wrong: other traffic shared the link during the recording; where all devices are one
communicator no link stands out, whichever is slow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stepscope.advice.evidence.suspects import LINK, costly, finding_of, foremost
from stepscope.advice.parts.changes import EVEN
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence

_ACTIONS = (
    "Look at the link's errors and speed: ibstat and ibqueryerrors, ethtool -S, "
    "nvidia-smi nvlink --status.",
    "Measure it alone between two hosts (ib_write_bw, iperf3, nccl-tests with those hosts only).",
    "If several hosts of one rack are named, test the rack's uplink before the hosts.",
)


def slow_link(results: Results) -> Iterator[Answer]:
    """Fires when slow transfers through one set of links cost 3 % of the step or more."""
    pod = results.pod
    found = [row for row in costly(pod) if row.cause == LINK]
    if not found:
        alike = Counter((row.collective, row.members) for row in pod.links.records())
        yield Silence(
            "No communicator transfers so much more slowly than its like that it costs 3 % of the "
            "step."
            if max(alike.values(), default=0) > 1
            else "No two communicators are alike, so no link can stand out."
        )
    for row in foremost(found):
        yield finding_of(RULE.id, pod, row, _ACTIONS)


RULE = Rule(
    id="slow-link",
    check=slow_link,
    needs=("pod",),
    evidence=("ops",),
    parts=("collective",),
    doc=__doc__ or "",
    change=EVEN,
    title="Transfers through one link are slow",
    threshold="slow transfers through it cost ≥ 3 % of the step",
    cause_of=("collective-bound", "exposed-collectives"),
)
