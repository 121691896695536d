"""When TensorFlow computes gradients: ops in the scope of a tape, on any thread of a host."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.host.ops import host_ops

#: The scope in which TensorFlow computes gradients.
TAPE: Final = "gradient_tape/"
_GRADIENT = re.compile(rf"(?:^|/)(?:{TAPE}|gradients/)")


@derived
def gradient_starts(host: Host) -> I64:
    """When ops begin that compute gradients, ascending."""
    ops = host_ops(host)
    is_gradient = np.asarray([bool(_GRADIENT.search(op.name)) for op in ops.ops] or [False])
    return np.sort(host.space.events.start_ps[ops.rows][is_gradient[ops.op]])


def count_within(moments: I64, begin_ps: I64, end_ps: I64) -> int:
    """How many of these moments, in ascending order, lie in disjoint intervals."""
    return int((np.searchsorted(moments, end_ps) - np.searchsorted(moments, begin_ps)).sum())
