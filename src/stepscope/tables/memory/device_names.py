"""Which device a memory is on, by the name that its recorder gave it."""

from __future__ import annotations

import re
from typing import Final

from stepscope.tables.core.planes import DEVICE_KINDS, plane_kind
from stepscope.tables.core.profile import Host

_DEVICE_NUMBER: Final = re.compile(r"(?:^|_)(\d+)(?:_|$)")


def device_of(host: Host, memory: str) -> str:
    """The device a memory's name means: "GPU_1_bfc" and "1" are device 1 of its kind."""
    devices = [
        plane.name.removeprefix("/device:")
        for plane in host.space.planes
        if plane_kind(plane.name) in DEVICE_KINDS
    ]
    named = next((device for device in devices if f"/device:{device}:" in f"{memory}:"), "")
    number = _DEVICE_NUMBER.search(memory)
    if named or number is None or memory.lower().startswith(("gpu_host", "xla_gpu_host", "cpu")):
        return named
    kinds = [device for device in devices if device.split(":")[-1] == number[1]]
    wanted = memory.partition("_")[0].upper()
    return next((d for d in kinds if d.startswith(wanted)), kinds[0] if kinds else "")
