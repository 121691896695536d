"""How much the recorder was asked to record, which is also how much it slowed the program."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.columns import pivot
from stepscope.errors import DecodeError
from stepscope.schema import names
from stepscope.schema.profile_options import ProfileOptions
from stepscope.tables.core.profile import Host, derived
from stepscope.wire.read import values


@dataclass(frozen=True, slots=True)
class RecorderLevels:
    """Levels of the tracers, 0 for off."""

    host: int
    device: int
    python: int


@derived
def recorder_levels(host: Host) -> RecorderLevels | None:
    """The levels the recording notes; None where it notes none."""
    for row in range(len(host.space.planes)):
        value = pivot.plane_stats(host.space, row).get(names.PROFILE_OPTIONS)
        if not isinstance(value, bytes):
            continue
        try:
            said = {number: level for number, level in values(value) if isinstance(level, int)}
        except DecodeError:
            return None
        return RecorderLevels(
            host=said.get(ProfileOptions.HOST_TRACER_LEVEL, 0),
            device=said.get(ProfileOptions.DEVICE_TRACER_LEVEL, 0),
            python=said.get(ProfileOptions.PYTHON_TRACER_LEVEL, 0),
        )
    return None
