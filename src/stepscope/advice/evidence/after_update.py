"""What a loop does after its optimizer's update, where no line tells the place of an op."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from stepscope.result import Finding

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity

# From this share of the step on it is worth a look.
_SOME_FRAC: Final = 0.3


@dataclass(frozen=True, slots=True)
class Later:
    """What to say of it.

    Attributes:
        sentence: How much of the step it is; "" where that is little.
        actions: What to try first.
        time_ms: How much it takes; 0 where that is little.
    """

    sentence: str
    actions: tuple[str, ...]
    time_ms: float

    def with_upper_bound(self, found: Finding) -> Finding:
        """A finding that may save all of it."""
        if found.saving_high_ms is None or self.time_ms <= found.saving_high_ms:
            return found
        return replace(found, saving_high_ms=self.time_ms)


NOT_LATER: Final = Later("", (), 0.0)
_LEAVE_OUT: Final = (
    "Look at what the loop does after the optimizer's update: leave it out for some steps, and "
    "time the loop. If it is needed, do it every n-th step or on less data."
)


def after_update(host: HostActivity | None) -> Later:
    """It in words."""
    if host is None or not host.after_update_frac >= _SOME_FRAC:
        return NOT_LATER
    return Later(
        f" {host.after_update_frac:.0%} of the step comes after the optimizer's update, when its "
        "training is done: a preview, a metric, an average of weights.",
        (_LEAVE_OUT,),
        host.after_update_frac * host.step_time_ms,
    )
