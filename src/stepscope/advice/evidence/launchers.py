"""What a recorder does to code that torch.compile made.

Its launchers describe each kernel to a profiler that is on, and only then: of a step of an H200
with 270 launches they took 7 ms unrecorded and 12 recorded. Devices that wait for them in a
recording need not wait without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.device_time import compute_ms

if TYPE_CHECKING:
    from stepscope.advice.results import Results
    from stepscope.analysis.overview_page import OverviewPage

#: What a rule adds where devices may wait for such launchers.
RECORDED: Final = (
    " Compiled code launches slowly while it is recorded: without a recorder the device may wait "
    "for little of this; time the loop."
)
# Compiled code launches this share of what devices run, or others are what they wait for.
_COMPILED_FRAC: Final = 0.5
# A step that is recorded takes as many times as long at most, where launchers are its limit.
_SLOWED: Final = 2.5


def may_be_the_recorders(results: Results, overview: OverviewPage) -> bool:
    """Whether devices that wait for the host may do so only because its launchers are recorded."""
    found, step = results.optional.compiled_regions, overview.steps.time_ms.mean
    if found is None or not _SLOWED * compute_ms(overview) >= step:
        return False
    return bool(sum(one.device_frac for one in found.regions.records()) >= _COMPILED_FRAC)
