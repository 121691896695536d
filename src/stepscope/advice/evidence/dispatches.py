"""How many ops and compiled functions a step hands over, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.tables.steps.calls import is_single_op

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity

# A step that hands over fewer is compiled already.
MANY_DISPATCHES: Final = 20
# Single ops of JAX's, each a program of its own: handing one over costs as much as many of
# PyTorch's, and so few of them are a step that is not compiled.
_MANY_PROGRAMS: Final = 8
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
    return _MANY_PROGRAMS if 2 * single > sum(one.calls for one in calls) else MANY_DISPATCHES
