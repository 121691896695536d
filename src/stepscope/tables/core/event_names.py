"""One code per distinct event name: planes give equal names different metadata rows."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I32
from stepscope.tables.core.profile import Host, derived


@derived
def name_codes(host: Host) -> I32:
    """Per row of ``Space.event_metadata``, a number that rows of the same name share."""
    metadata = host.space.event_metadata
    found = np.arange(len(metadata), dtype=np.int32)
    for rows in metadata.rows_by_name.values():
        if len(rows) > 1:
            found[rows] = rows[0]
    return found
