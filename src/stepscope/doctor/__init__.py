"""Before a recording: what on this machine would spoil it, and the exact fix.

``examine`` runs every check in the list. A check is one function in one file; it sees the machine
only through ``System``, so tests can use machines that we do not have. No framework is imported.
"""

from __future__ import annotations

from stepscope.doctor.check import Check, Probe
from stepscope.doctor.clock import clock
from stepscope.doctor.disk import disk
from stepscope.doctor.nvidia import nvidia
from stepscope.doctor.others import others
from stepscope.doctor.rocm import rocm
from stepscope.doctor.software import software
from stepscope.doctor.system import Machine, System

__all__ = ["PROBES", "Check", "Machine", "System", "examine"]

PROBES: tuple[Probe, ...] = (nvidia, rocm, software, others, disk, clock)


def examine(logdir: str = ".", system: System | None = None) -> tuple[Check, ...]:
    """All checks, in the order of the list.

    Args:
        logdir: Where recordings will go.
        system: The machine; this one by default.
    """
    machine = system or Machine()
    return tuple(check for probe in PROBES for check in _guarded(probe, machine, logdir))


def _guarded(probe: Probe, system: System, logdir: str) -> tuple[Check, ...]:
    try:
        return tuple(probe(system, logdir))
    except Exception as error:  # a machine unlike any we know must not silence the other checks
        what = f"The check {probe.__name__} failed: {type(error).__name__}: {error}"
        return (Check(probe.__name__, "warning", what, hint="Please report this."),)
