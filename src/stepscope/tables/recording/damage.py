"""Where the file of a host breaks: what every number over the host must say."""

from __future__ import annotations

from stepscope.result import Diagnostic
from stepscope.tables.core.profile import Host


def damage_of(host: Host) -> list[Diagnostic]:
    """The damage to the host's file as a diagnostic; empty where the file is whole."""
    damage = host.space.damage
    if damage is None:
        return []
    text = (
        f"The file breaks at byte {damage.offset_bytes:,} ({damage.path}): {damage.reason}. "
        f"Everything before the damage is shown; totals are lower bounds."
    )
    return [Diagnostic("damaged-file", "error", text, host.name)]
