"""What a recorder does to the launches of PyTorch's ops, and of code that torch.compile made.

An op that runs alone is written down as an op, a launch and a kernel, and a call of Python's: of a
ResNet on an H200 a step took 10.5 ms unrecorded and 18.7 recorded. Launchers of compiled code
describe each kernel to a profiler that is on: 270 launches took 7 and 12 ms. Devices that wait for
them in a recording need not wait without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.device_time import compute_ms
from stepscope.verdicts.sentences import key_of

if TYPE_CHECKING:
    from stepscope.advice.results import Results
    from stepscope.analysis.overview_page import OverviewPage

#: What a rule adds where devices may wait for such launchers.
RECORDED: Final = (
    " Ops launch slowly while they are recorded: without a recorder the device may wait for little "
    "of this; time the loop."
)
# Compiled code launches this share of what devices run, or others are what they wait for.
_COMPILED_FRAC: Final = 0.5
# A step that is recorded takes as many times as long at most, where launchers are its limit.
_SLOWED: Final = 2.5
# The same of ops that run one by one.
_OPS_SLOWED: Final = 2.0


def may_be_the_recorders(results: Results, overview: OverviewPage) -> bool:
    """Whether devices that wait for the host may do so only because its launchers are recorded."""
    step, compute = overview.steps.time_ms.mean, compute_ms(overview)
    if key_of(overview.environment.framework) == "pytorch" and _OPS_SLOWED * compute >= step:
        return True
    found = results.optional.compiled_regions
    if found is None or not _SLOWED * compute >= step:
        return False
    return bool(sum(one.device_frac for one in found.regions.records()) >= _COMPILED_FRAC)
