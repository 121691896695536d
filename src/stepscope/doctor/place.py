"""Where this process runs: each place grants permissions differently."""

from __future__ import annotations

from typing import Literal

from stepscope.doctor.system import System

MachineKind = Literal["wsl", "kubernetes", "docker", "machine"]

# Bits of CapEff in /proc/self/status (capabilities(7)).
_CAP_SYS_ADMIN = 21
_CAP_PERFMON = 38


def place_of(system: System) -> MachineKind:
    """Where this process runs; a pod in WSL is a pod."""
    if system.environment.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if any(system.exists(path) for path in ("/.dockerenv", "/run/.containerenv")):
        return "docker"
    if "microsoft" in (system.text("/proc/version") or "").lower():
        return "wsl"
    return "machine"


def may_administrate(system: System) -> bool:
    """Whether this process has CAP_SYS_ADMIN."""
    return _has(system, _CAP_SYS_ADMIN)


def may_monitor(system: System) -> bool:
    """Whether this process has CAP_PERFMON."""
    return _has(system, _CAP_PERFMON)


def _has(system: System, bit: int) -> bool:
    for line in (system.text("/proc/self/status") or "").splitlines():
        if line.startswith("CapEff:"):
            try:
                return bool(int(line.split()[1], 16) >> bit & 1)
            except (IndexError, ValueError):
                return False
    return False
