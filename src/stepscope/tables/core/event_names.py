"""One code per distinct event name: planes give equal names different metadata rows."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I32
from stepscope.tables.core.profile import Host, derived


@derived
def name_codes(host: Host) -> I32:
    """Per row of ``Space.event_metadata``, a number that rows of the same name share."""
    codes: dict[str, int] = {}
    found = [codes.setdefault(name, len(codes)) for name in host.space.event_metadata.name]
    return np.asarray(found, dtype=np.int32)
