"""AMD GPUs through AMD SMI (the package ``amdsmi`` that ROCm brings), where both are there."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from stepscope.capture.telemetry import Metric, Reading

_LIBRARY: Final = "libamd_smi.so"
_MIB: Final = 1 << 20
_POWER_KEYS: Final = ("current_socket_power", "socket_power", "average_socket_power")
# What the library writes for a number it does not have.
_NO_NUMBERS: Final = frozenset({0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF})


def open_source() -> AmdSource | None:
    """The source where ROCm's library is there and has at least one GPU."""
    # Importing the package without its library prints lines and raises KeyError.
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm"))
    if not (rocm / "lib" / _LIBRARY).exists() and not _is_loadable(_LIBRARY):
        return None
    try:
        import amdsmi
    except (ImportError, KeyError, OSError):
        return None
    try:
        amdsmi.amdsmi_init()
        handles = amdsmi.amdsmi_get_processor_handles()
    except amdsmi.AmdSmiException:
        return None
    return AmdSource(amdsmi, handles) if handles else None


def _is_loadable(library: str) -> bool:
    """Whether the loader finds it; ``ctypes.util.find_library`` would start other programs."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


class AmdSource:
    """See the module.

    Args:
        smi: The module, initialised.
        handles: Its GPUs.
    """

    def __init__(self, smi: Any, handles: list[Any]) -> None:
        self._smi = smi
        self._getters: list[Callable[[], Iterable[Reading]]] = []
        for index, handle in enumerate(handles):
            self._getters += _getters(smi, handle, f"GPU {index}")

    def close(self) -> None:
        """End the library for this user of it."""
        self._smi.amdsmi_shut_down()

    def read(self, now_ns: int) -> Iterable[Reading]:
        """What each GPU can tell; unsupported counters are not requested again."""
        for getter in tuple(self._getters):
            try:
                yield from getter()
            except self._smi.AmdSmiException:
                self._getters.remove(getter)


def _getters(smi: Any, gpu: Any, label: str) -> list[Callable[[], Iterable[Reading]]]:
    def activity() -> Iterable[Reading]:
        found = smi.amdsmi_get_gpu_activity(gpu)
        yield from _known(f"{label} busy", "%", found.get("gfx_activity"))
        name = f"{label} memory controller busy (util)"
        yield from _known(name, "%", found.get("umc_activity"))

    def memory() -> Iterable[Reading]:
        used = smi.amdsmi_get_gpu_vram_usage(gpu).get("vram_used")
        yield from _known(f"{label} memory used", "bytes", used, _MIB)

    def power() -> Iterable[Reading]:
        found = smi.amdsmi_get_power_info(gpu)
        for key in _POWER_KEYS:
            reading = _known(f"{label} power", "W", found.get(key))
            if reading:
                yield from reading
                return

    def clock() -> Iterable[Reading]:
        found = smi.amdsmi_get_clock_info(gpu, smi.AmdSmiClkType.GFX)
        yield from _known(f"{label} GFX clock", "MHz", found.get("clk"))

    def energy() -> Iterable[Reading]:
        found = smi.amdsmi_get_energy_count(gpu)
        # The resolution is in microjoules a count; the name of the count differs by version.
        count = found.get("energy_accumulator", found.get("power"))
        step_j = float(found.get("counter_resolution", 0.0)) * 1e-6
        if step_j > 0:
            yield from _known(f"{label} energy", "J", count, step_j)

    return [activity, memory, power, clock, energy]


def _known(name: str, unit: str, value: object, scale: float = 1.0) -> list[Reading]:
    """The reading, or none where the library says "N/A" or its mark for no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value in _NO_NUMBERS:
        return []
    return [(Metric(name, unit), float(value) * scale)]
