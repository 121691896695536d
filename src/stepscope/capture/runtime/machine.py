"""Facts of the machine and of the software that a recording carries."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

_CPUINFO: Final = Path("/proc/cpuinfo")
_MAX_FREQUENCY: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
# Widest first: the first that a processor has is what its peak is counted in.
_INSTRUCTION_SETS: Final = (
    ("avx512", "avx512f"),
    ("avx2", "avx2"),
    ("avx", "avx"),
    ("sse4_2", "sse4_2"),
    ("neon", "asimd"),
)
_VERSIONED: Final = ("tensorflow", "keras", "jax", "jaxlib", "torch", "numpy", "stepscope")
# What a driver puts there when a GPU can be used: NVIDIA, AMD, and either in WSL.
_GPU_DEVICES: Final = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


def processor_facts(cpuinfo: str | None = None) -> dict[str, int | str]:
    """Instruction set, cores and clock (kHz) of this host; unknown facts are left out.

    Cores are physical ones: hyper-threads share the units that a peak is made of.

    Args:
        cpuinfo: Text of ``/proc/cpuinfo``; this machine's by default.
    """
    text = _read(_CPUINFO) if cpuinfo is None else cpuinfo
    facts: dict[str, int | str] = {}
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    has = set(flags[1].split()) if flags else set()
    isa = next((name for name, flag in _INSTRUCTION_SETS if flag in has), "")
    if isa:
        facts["cpu_isa"] = isa
    cores = _cores(text) or (os.cpu_count() if cpuinfo is None else None)
    if cores:
        facts["core_count"] = cores
    clock_khz = _clock_khz(text)
    if clock_khz:
        facts["clock_rate"] = clock_khz
    return facts


def software_facts(modules: Mapping[str, ModuleType] | None = None) -> dict[str, int | str]:
    """Versions of Python and of the frameworks that are loaded."""
    loaded = sys.modules if modules is None else modules
    facts: dict[str, int | str] = {"python_version": platform.python_version()}
    for name in _VERSIONED:
        version = getattr(loaded.get(name), "__version__", None)
        if isinstance(version, str):
            facts[f"{name}_version"] = version
    return facts


def has_gpu() -> bool:
    """Whether a driver offers a GPU to this machine."""
    return any(Path(device).exists() for device in _GPU_DEVICES)


def _cores(text: str) -> int:
    pairs = set()
    for block in text.split("\n\n"):
        found = dict(re.findall(r"^(physical id|core id)\s*:\s*(\d+)$", block, re.MULTILINE))
        if len(found) == 2:
            pairs.add((found["physical id"], found["core id"]))
    return len(pairs) or len(re.findall(r"^processor\s*:", text, re.MULTILINE))


def _clock_khz(text: str) -> int:
    highest = _read(_MAX_FREQUENCY).strip()
    if highest.isdecimal():
        return int(highest)
    clocks = re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", text, re.MULTILINE)
    return round(max(map(float, clocks)) * 1000) if clocks else 0


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
