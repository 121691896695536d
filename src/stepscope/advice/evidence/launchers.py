"""What a recorder does to a host that launches: devices that wait for it need not wait without one.

PyTorch's profiler notes each op and each launch. Of programs of an H200 that their host limits,
steps took 1.4 to 2 times as long while they were recorded. Launchers of compiled code describe each
kernel to a profiler, and only then: of a step with 270 launches they took 7 ms unrecorded and 12
recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.device_time import compute_ms

if TYPE_CHECKING:
    from stepscope.advice.results import Results
    from stepscope.analysis.overview_page import OverviewPage

#: What a rule adds where devices may wait for no more than that.
RECORDED: Final = (
    " A host launches slowly while it is recorded: without a recorder the device may wait for "
    "little of this; time the loop."
)
# Compiled code launches this share of what devices run, or others are what they wait for.
_COMPILED_FRAC: Final = 0.5
# A step that is recorded takes as many times as long, where launching is its limit: ops one by one
# at least, launchers of compiled code at most.
_SLOWED: Final = 2.0
_COMPILED_SLOWED: Final = 2.5


def may_be_the_recorders(results: Results, overview: OverviewPage) -> bool:
    """Whether devices that wait for launches may do so only because these are recorded."""
    if overview.environment.framework != "PyTorch":
        return False
    slowed = _COMPILED_SLOWED if _is_compiled(results) else _SLOWED
    return slowed * compute_ms(overview) >= overview.steps.time_ms.mean


def _is_compiled(results: Results) -> bool:
    found = results.optional.compiled_regions
    if found is None:
        return False
    return bool(sum(one.device_frac for one in found.regions.records()) >= _COMPILED_FRAC)
