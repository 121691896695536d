"""How many ops and compiled functions a step hands over, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity

# A step that hands over fewer is compiled already.
MANY: Final = 20


def dispatched(host: HostActivity) -> float:
    """Ops per step that run eagerly, or calls of compiled functions, whichever are more."""
    return max(host.eager_ops, sum(one.calls for one in host.calls.records()))
