"""Which HLO op each event ran, as recorded."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import StatTexts, event_stats

_BUFFER: Final = re.compile(r"(?:^|::)command_buffer(?:[._]\d+)*$")


@derived
def recorded_ops(host: Host) -> StatTexts:
    """The HLO op of each event that has one, those of command buffers by their kernels.

    A kernel whose op is not known keeps its buffer's name.
    """
    texts = event_stats(host).texts(names.HLO_OP)
    is_buffer = np.asarray([_BUFFER.search(one) is not None for one in texts.texts] or [False])
    inside = is_buffer[texts.codes] if len(texts.rows) else np.zeros(0, dtype=bool)
    if not inside.any():
        return texts
    # Only newer programs on GPUs have command buffers.
    from stepscope.tables.hlo.command_buffers import ops_of_kernels

    return ops_of_kernels(host, texts, inside)
