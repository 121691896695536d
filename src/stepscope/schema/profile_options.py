"""Field numbers of ``tensorflow.ProfileOptions``, as recorders store it in ``Task Environment``."""

from __future__ import annotations

from enum import IntEnum


class ProfileOptions(IntEnum):
    """What was recorded; levels are 0 for off."""

    HOST_TRACER_LEVEL = 2
    DEVICE_TRACER_LEVEL = 3
    PYTHON_TRACER_LEVEL = 4
