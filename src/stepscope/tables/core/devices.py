"""The devices of a host: what they are, from the stats of their planes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from stepscope.columns import pivot
from stepscope.records import dataclass
from stepscope.schema.numbers import as_integer
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


_GB = 10**9


class _Model(NamedTuple):
    """A model that only its properties name; its memory is from … to below …."""

    vendor: str
    capability: tuple[int, int]
    units: int
    memory_bytes: int
    name: str
    below_bytes: int = 1 << 62


#: Of AMD's devices of capability 9.0 those with fewer units (Vega, up to 64) came before CDNA: they
#: have no matrix cores.
LEAST_CDNA: Final = 100

# What recorders leave unnamed, the larger memory first. Only properties that no other model has:
# H100 NVL, the H100 with 96 GB and the GH200 with 96 GB share theirs, and are left unnamed.
_MODELS = (
    _Model("AMD", (9, 5), 256, 280 * _GB, "AMD Instinct MI350X or MI355X"),
    _Model("AMD", (9, 4), 304, 250 * _GB, "AMD Instinct MI325X"),
    _Model("AMD", (9, 4), 304, 190 * _GB, "AMD Instinct MI300X"),
    _Model("AMD", (9, 4), 228, 120 * _GB, "AMD Instinct MI300A"),
    _Model("AMD", (9, 4), 80, 190 * _GB, "AMD Instinct MI308X"),
    _Model("AMD", (9, 0), 110, 60 * _GB, "AMD Instinct MI250X"),
    _Model("AMD", (9, 0), 120, 30 * _GB, "AMD Instinct MI100"),
    _Model("NVIDIA", (7, 0), 80, 15 * _GB, "NVIDIA V100"),
    _Model("NVIDIA", (8, 0), 108, 39 * _GB, "NVIDIA A100"),
    _Model("NVIDIA", (9, 0), 132, 152 * _GB, "NVIDIA GH200 144G HBM3e", 160 * _GB),
    _Model("NVIDIA", (9, 0), 132, 139 * _GB, "NVIDIA H200", 152 * _GB),
    _Model("NVIDIA", (9, 0), 132, 78 * _GB, "NVIDIA H100", 90 * _GB),
)
# TPUs as their recorders call them, and as everybody else does.
_TPUS = {"TPU v4 Lite": "TPU v4i", "TPU v5 Lite": "TPU v5e", "TPU v6 Lite": "TPU v6e"}


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a host.

    Attributes:
        plane: Row in ``Space.planes``.
        kind: GPU, TPU …
        name: Plane name, e.g. "/device:GPU:0".
        type: What it is, e.g. "NVIDIA V100 (Volta)", "TPU v6e".
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
    fallback = "Custom device" if kind is PlaneKind.CUSTOM else "TPU"
    recorded = str(capabilities.get("device_type_string", fallback))
    name = _TPUS.get(recorded, recorded)
    return f"{name} SparseCore" if kind is PlaneKind.SPARSE_CORE else name


def _gpu_type(capabilities: Mapping[str, object]) -> str:
    capability = (
        as_integer(capabilities.get("compute_cap_major")),
        as_integer(capabilities.get("compute_cap_minor")),
    )
    vendor = str(capabilities.get("device_vendor", "Nvidia")).upper()
    model = str(capabilities.get("gpu_device_name", "")) or _model(vendor, capability, capabilities)
    major, minor = capability
    if vendor == "AMD":
        family = f"gfx{major}{minor}x"
        if capability == (9, 0) and 0 < as_integer(capabilities.get("core_count")) < LEAST_CDNA:
            family = f"Vega, {family}"
        return f"{model or 'AMD GPU'} ({family})" if major else model or "AMD GPU"
    if major == 0:
        return model or "GPU"
    family = next((name for limit, name in _NVIDIA if capability < limit), f"sm_{major}{minor}")
    return f"{model or 'NVIDIA GPU'} ({family})"


def _model(vendor: str, capability: tuple[int, int], found: Mapping[str, object]) -> str:
    """The model whose properties these are, "" where several have them."""
    units, memory = as_integer(found.get("core_count")), as_integer(found.get("memory_size"))
    fits = (
        one.name
        for one in _MODELS
        if (one.vendor, one.capability, one.units) == (vendor, capability, units)
        and one.memory_bytes <= memory < one.below_bytes
    )
    return next(fits, "")
