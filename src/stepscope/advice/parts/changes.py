"""Classes of changes: what share of a part each takes away at least, and what it assumes.

The least shares are of kinds of changes, not of programs: work that a loop does not need goes but
for what calls it, work that moves beside other work shares a machine with it, and what is done in
fewer, larger pieces still has to be done. Input that is made no longer, or ahead, and work that is
done once leave the rest of the step their cores, caches and locks: a fifth of what can go with them
at most went in 72 of 74 recordings.
"""

from __future__ import annotations

from typing import Final

from stepscope.registry import ChangeClass

REMOVED: Final = ChangeClass(
    0.85, "nearly all of the work leaves the loop; at most what surrounds it goes too"
)
ONCE: Final = ChangeClass(
    1.0,
    "it is done once, before the loop; at most what surrounds it in the loop goes too",
    0.9,
    gains=0.3,
)
SUPPLIED: Final = ChangeClass(
    1.0,
    "batches are ready when the step asks for them; at best making them takes no core from it",
    gains=0.3,
)
SPARED: Final = ChangeClass(
    0.6, "what is thrown away is not made; at best what is left of the input costs the step nothing"
)
SOONER: Final = ChangeClass(0.8, "what the loop waits for is ready sooner; at best it never waits")
# Side by side threads share the cores with the loop, which had more of them while they took turns.
UNLOCKED: Final = ChangeClass(
    0.6, "threads that took turns at a lock work side by side; at best the loop never waits"
)
OVERLAPPED: Final = ChangeClass(0.4, "it runs beside the compute, which does not slow down")
BATCHED: Final = ChangeClass(
    0.56, "fewer, larger calls do the same; at most the short ops they make go with them"
)
# Of measured loops whose turns became one call, or fewer, nine of ten lost this share or more, and
# those with long ops less than those with short ones.
LOOPED: Final = ChangeClass(
    0.45, "fewer turns, or one call over all of them, do the same in about half the time or less"
)
VECTORISED: Final = ChangeClass(
    0.75, "one call over all elements replaces the loop; at most its ops cost little then", 0.8
)
NARROWED: Final = ChangeClass(0.5, "fewer bits suffice, and the ops run well in them")
# What a model is made of is seldom needless as a whole, and what is beside it stays.
SHRUNK: Final = ChangeClass(
    0.36, "half of it, or all, is not needed; its neighbours mostly stay", 0.15
)
# Where ops are short their number costs, not what they compute.
FEWER: Final = ChangeClass(
    0.45, "half of these ops, or all, are not needed; at most all that the runtime does goes too"
)
TRIMMED: Final = ChangeClass(
    0.5,
    "half of what it runs, or all, is not needed; what surrounds it mostly stays",
    0.33,
)
RESIZED: Final = ChangeClass(
    0.5, "transforms of a length with small factors take half the time, or less", 0.4
)
REPLACED: Final = ChangeClass(
    0.8,
    "another op, or a run of it outside the loop, does the same for next to nothing; at most "
    "its neighbours go with it",
)
RECOMPUTED: Final = ChangeClass(
    0.3, "what it computes is kept instead, which takes memory and its traffic", 0.15
)
REUSED: Final = ChangeClass(
    0.6, "what past passes have computed is kept, at the cost of looking it up"
)
FREED: Final = ChangeClass(0.5, "the step's ops get the cores that make batches now")
UNSEEN: Final = ChangeClass(
    0.95, "most of what runs there is not needed; at best most of what surrounds it goes too", 0.7
)
TUNED: Final = ChangeClass(0.5, "the ops come near to what the device can do")
READ_LATER: Final = ChangeClass(0.3, "the host need not wait in every step")
EVEN: Final = ChangeClass(0.5, "all steps, or workers, are as fast as most are")
