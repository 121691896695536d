"""Before a recording: what of this machine would spoil it, and the exact fix.

``examine`` asks every check in the list; a check is one function in one file that looks at the
machine through ``System`` only, so that machines we do not have are tested with made-up ones. No
framework is imported.
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
    """Everything that was looked at, in the order of the list.

    Args:
        logdir: Where recordings are to go.
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
