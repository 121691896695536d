"""How many cores a host has: as our recorder notes it, else by the threads that run ops."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from stepscope.columns import pivot
from stepscope.schema.numbers import as_integer
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Host

# TensorFlow's pools of threads have one for each core: "tf_Compute/1494558397".
_POOL: Final = re.compile(r"(tf_Compute|tf_numa_-?\d+_Eigen)/")


def host_cores(host: Host) -> int:
    """Physical cores; 0 where the recording does not say."""
    rows = [row for row, kind in enumerate(planes(host).plane_kind) if kind is PlaneKind.HOST]
    noted = [as_integer(pivot.plane_stats(host.space, row).get("core_count")) for row in rows]
    return max([0, *noted])


def cores_seen(host: Host) -> int:
    """The same, else how many threads of a pool ran anything: the host has as many, or more."""
    pools = Counter(
        told[1]
        for line in host.space.lines
        if line.end > line.begin and (told := _POOL.match(line.name)) is not None
    )
    return host_cores(host) or max(pools.values(), default=0)
