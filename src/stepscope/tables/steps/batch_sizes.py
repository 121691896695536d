"""How many examples a step takes, as far as the input pipeline says it."""

from __future__ import annotations

import numpy as np

from stepscope.columns import stats_by_name
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived


@derived
def batch_sizes(host: Host) -> tuple[int, ...]:
    """The distinct batch sizes that tf.data's batching stages note; empty where none is noted."""
    if names.BATCH_SIZE not in host.space.stat_metadata.name:
        return ()
    found = stats_by_name(host.space, (names.BATCH_SIZE,))[names.BATCH_SIZE].ints
    return tuple(size for size in np.unique(found).tolist() if size > 0)
