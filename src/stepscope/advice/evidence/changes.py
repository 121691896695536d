"""Classes of changes: what share of a part each takes away at least, and what it assumes.

The least shares are of kinds of changes, not of programs: work that a loop does not need goes but
for what calls it, work that moves beside other work shares a machine with it, and what is done in
fewer, larger pieces still has to be done.
"""

from __future__ import annotations

from typing import Final

from stepscope.registry import ChangeClass

REMOVED: Final = ChangeClass(
    0.9, "nearly all of the work leaves the loop; at most what surrounds it goes too"
)
ONCE: Final = ChangeClass(
    0.95, "it is done once, before the loop; at most what surrounds it in the loop goes too"
)
SUPPLIED: Final = ChangeClass(
    0.95, "batches are ready when the step asks for them; at best making them takes no core from it"
)
OVERLAPPED: Final = ChangeClass(0.4, "it runs beside the compute, which does not slow down")
BATCHED: Final = ChangeClass(
    0.5, "fewer, larger calls do the same; at most the short ops they make go with them"
)
VECTORISED: Final = ChangeClass(
    0.75, "one call over all elements replaces the loop; at most its ops cost next to nothing then"
)
NARROWED: Final = ChangeClass(0.5, "fewer bits suffice, and the ops run well in them")
SHRUNK: Final = ChangeClass(
    0.65, "most of it, or all, is not needed; at most its neighbours shrink with it"
)
REPLACED: Final = ChangeClass(
    0.85,
    "another op, or a run of it outside the loop, does the same for next to nothing; at most "
    "its neighbours go with it",
)
UNSEEN: Final = ChangeClass(
    0.95, "most of what runs there, or all, is not needed; at most what surrounds it goes too"
)
TUNED: Final = ChangeClass(0.5, "the ops come near to what the device can do")
READ_LATER: Final = ChangeClass(0.3, "the host need not wait in every step")
EVEN: Final = ChangeClass(0.5, "all steps, or workers, are as fast as most are")
