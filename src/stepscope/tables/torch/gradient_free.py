"""Which of a training step's ops no gradient goes through, by the numbers of PyTorch's autograd.

Under ``torch.no_grad`` ops have no number. Where gradients are on, what needs none, such as a
frozen model or a constant, notes the number of the next op that does.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns import innermost
from stepscope.columns.space import I64, Bool
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.torch.autograd import numbered_ops

# A checkpointed pass has no numbers, and runs again, numbered, for its gradients.
_CHECKPOINT: Final = re.compile(r"Checkpoint\w*Backward")


def without_gradient(host: Host, thread: int, times: I64) -> Bool:
    """Whether what a thread does at each time is in no op that autograd differentiates.

    All false where nothing is differentiated, or passes run again for their gradients. What
    begins after the last gradient may belong to a step that the recording cut.
    """
    ops = numbered_ops(host)
    if not ops.backward.any() or _is_checkpointed(host):
        return np.zeros(len(times), dtype=bool)
    with_one = ops.backward.copy()
    with_one[ops.differentiated()] = True
    mine = with_one & (ops.thread == thread)
    apart = innermost(ops.start_ps[mine], ops.end_ps[mine], times) < 0
    result: Bool = apart & (times < ops.start_ps[ops.backward].max())
    return result


def _is_checkpointed(host: Host) -> bool:
    named = entries_named(host, lambda name: _CHECKPOINT.search(name) is not None)
    return bool(named.any())
