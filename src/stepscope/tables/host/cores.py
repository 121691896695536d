"""How many cores a host has, as our recorder notes it."""

from __future__ import annotations

from stepscope.columns import pivot
from stepscope.schema.numbers import as_integer
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Host


def host_cores(host: Host) -> int:
    """Physical cores; 0 where the recording does not say."""
    rows = [row for row, kind in enumerate(planes(host).plane_kind) if kind is PlaneKind.HOST]
    noted = [as_integer(pivot.plane_stats(host.space, row).get("core_count")) for row in rows]
    return max([0, *noted])
