"""The devices of a host: what they are, from the stats of their planes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepscope.columns import pivot
from stepscope.tables.core.planes import DEVICE_KINDS, PlaneKind, planes
from stepscope.tables.core.profile import Host, derived

# NVIDIA architectures by the highest compute capability below which they end.
_NVIDIA = (
    ((3, 0), "Fermi"),
    ((5, 0), "Kepler"),
    ((6, 0), "Maxwell"),
    ((7, 0), "Pascal"),
    ((7, 5), "Volta"),
    ((8, 0), "Turing"),
    ((8, 9), "Ampere"),
    ((9, 0), "Ada Lovelace"),
    ((10, 0), "Hopper"),
    ((13, 0), "Blackwell"),
)


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a host.

    Attributes:
        plane: Row in ``Space.planes``.
        kind: GPU, TPU …
        name: Plane name, e.g. "/device:GPU:0".
        type: What it is, e.g. "NVIDIA GPU (Volta)", "TPU v6 Lite".
        capabilities: The plane's own stats (clock_rate in kHz, memory_size in bytes …).
        has_events: Whether anything was recorded on it.
    """

    plane: int
    kind: PlaneKind
    name: str
    type: str
    capabilities: Mapping[str, object]
    has_events: bool


@derived
def devices(host: Host) -> tuple[Device, ...]:
    """The devices of a host, in plane order."""
    space = host.space
    found = []
    for row, (plane, kind) in enumerate(zip(space.planes, planes(host).plane_kind, strict=True)):
        if kind not in DEVICE_KINDS:
            continue
        capabilities = dict(pivot.plane_stats(space, row))
        lines = space.lines[plane.line_begin : plane.line_end]
        has_events = any(line.end > line.begin for line in lines)
        type_ = device_type(kind, capabilities)
        found.append(Device(row, kind, plane.name, type_, capabilities, has_events))
    return tuple(found)


def device_type(kind: PlaneKind, capabilities: Mapping[str, object]) -> str:
    """A device's type in words, from the capabilities its plane records."""
    if kind is PlaneKind.GPU:
        return _gpu_type(capabilities)
    if kind is PlaneKind.SPARSE_CORE:
        return f"{capabilities.get('device_type_string', 'TPU')} SparseCore"
    fallback = "TPU" if kind is PlaneKind.TPU else "Custom device"
    return str(capabilities.get("device_type_string", fallback))


def _gpu_type(capabilities: Mapping[str, object]) -> str:
    model = str(capabilities.get("gpu_device_name", ""))
    major, minor = (_int(capabilities.get(f"compute_cap_{part}")) for part in ("major", "minor"))
    vendor = str(capabilities.get("device_vendor", "Nvidia"))
    if vendor.upper() == "AMD":
        return model or f"AMD GPU (gfx{major}{minor}x)"
    if major == 0:
        return model or "GPU"
    family = next((name for limit, name in _NVIDIA if (major, minor) < limit), f"sm_{major}{minor}")
    return f"{model or 'NVIDIA GPU'} ({family})"


def _int(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) else 0
