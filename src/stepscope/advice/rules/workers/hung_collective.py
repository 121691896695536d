"""A rank does not join a collective that the others are in.

What it checks: the calls in the dumps of NCCL's flight recorder: which rank did not make a call
that the others of its group made, or made another one; else which rank is nearly always last.
Why it matters: all ranks wait until the timeout ends the job, hours of many GPUs.
What to do: look at what the named rank did after its last call: it failed, or took another branch.
When it is wrong: the rank wrote its dump before it made the call; clocks of hosts that differ make
a rank look late that is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.hung_collectives import HungCollectives, RankRow

_MISSING = (
    "Look at that rank first: the end of its log, an out-of-memory kill (dmesg), its stack "
    "(py-spy dump --pid PID). The others only wait.",
    "If it is alive and elsewhere, look for a branch that not all ranks take: a condition on the "
    "loss or the rank, a loader with fewer batches, an evaluation on rank 0.",
)
_DIFFERENT = (
    "Make all ranks call the same collectives in the same order, with the same sizes: look at the "
    "lines that are named for a condition on the rank or on the data.",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL names the call where it differs, at the cost of speed.",
)
_LATE = (
    "Record one step of all ranks and run stepscope advise on the folder: it says whether input, "
    "host or device makes that rank late.",
    "Check that the hosts' clocks agree (chronyc tracking) before you believe a constant delay.",
)
_LAST_FRAC = 0.8
_COMPARED = 10
_LATE_MS = 1.0


def hung_collective(results: Results) -> Iterator[Answer]:
    """Fires when a rank is missing, calls something else, or is nearly always last."""
    found = results.hung_collectives
    stuck = [*found.stuck.records()]
    if found.is_stuck:
        differs = [one for one in stuck if one.differing]
        yield Finding(
            rule=RULE.id,
            severity="high",
            saving_ms=None,
            no_saving="the job stands still",
            confidence=0.9,
            message=found.headline,
            measured={
                "collectives": len(stuck),
                "missing": "; ".join(dict.fromkeys(one.missing for one in stuck if one.missing)),
                "differing": "; ".join(dict.fromkeys(one.differing for one in differs)),
                "behind": sum(one.behind for one in stuck),
            },
            evidence=(Ref("hung_collectives", "stuck.missing"),),
            actions=_MISSING if len(differs) < len(stuck) else _DIFFERENT,
        )
        return
    late = _late(found)
    if late is not None:
        yield _of_late(found, late)
    elif stuck:
        yield Unknown(f"{found.headline} Dumps that were written later tell whether it hung.")
    else:
        yield Silence(found.headline)


def _late(found: HungCollectives) -> RankRow | None:
    """The rank that nearly always comes last, where there is one."""
    ranks = [*found.ranks.records()]
    compared = sum(one.came_last for one in ranks)
    worst = max(ranks, key=lambda one: one.late_ms, default=None)
    if worst is None or compared < _COMPARED or worst.came_last < _LAST_FRAC * compared:
        return None
    return worst if worst.late_ms >= _LATE_MS * worst.came_last else None


def _of_late(found: HungCollectives, late: RankRow) -> Finding:
    return Finding(
        rule=RULE.id,
        severity="medium",
        saving_ms=None,
        no_saving="a dump says when calls were made, not how long anybody waited for them",
        confidence=0.4,
        message=found.headline,
        measured={
            "rank": late.rank,
            "came_last": late.came_last,
            "late_ms": late.late_ms,
        },
        evidence=(Ref("hung_collectives", "ranks.late_ms", rows=(late.rank,)),),
        actions=_LATE,
    )


RULE = Rule(
    id="hung-collective",
    check=hung_collective,
    needs=("hung_collectives",),
    doc=__doc__ or "",
    title="A rank does not join a collective",
    threshold="a rank lacks a call that others made, made another one, or is last, ≥ 1 ms late, in "
    "≥ 80 % of ≥ 10 collectives",
)
