"""How many ops and compiled functions a step hands over, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.tables.core.thresholds import DOZENS, MANY
from stepscope.tables.steps.calls import is_single_op

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity

# Ops by the names that JAX itself has for them, which people give to functions as well.
_OPS_OF_JAX: Final = ("div", "mul", "neg", "sub")


def dispatched(host: HostActivity) -> float:
    """Ops per step that run eagerly, or calls of compiled functions, whichever are more."""
    return max(host.eager_ops, sum(one.calls for one in host.calls.records()))


def is_op(function: str) -> bool:
    """Whether a compiled function of this name is one op, which nobody compiled as a step."""
    return function in _OPS_OF_JAX or is_single_op(function)


def dispatch_threshold(host: HostActivity) -> int:
    """From how many dispatches on a step runs op by op."""
    calls = list(host.calls.records())
    single = sum(one.calls for one in calls if is_op(one.function))
    is_of_programs = 2 * single > sum(one.calls for one in calls)
    return MANY if is_of_programs else DOZENS
