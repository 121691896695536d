"""Clocks: wall clocks put hosts on one time axis; the kernel's clock source stamps events."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.doctor.check import Check
from stepscope.doctor.system import System

_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
# Read through the kernel or the bus: 0.5 to 2 µs a time stamp instead of 20 ns.
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies")
_ERROR_S = 0.01


def clock(system: System, logdir: str) -> Iterator[Check]:
    """Whether the wall clock is synchronised, and whether reading it is cheap."""
    state = system.clock_state()
    if state is None:
        yield Check("clock", "absent", "It is not known whether this clock is synchronised.")
    else:
        yield _kept(*state)
    source = (system.text(_SOURCE) or "").strip()
    if source in _SLOW:
        yield Check(
            "clock-source",
            "warning",
            f"The kernel reads time from {source}.",
            "Each time stamp costs a microsecond; recordings of many small events slow down.",
            "Boot with tsc=reliable if the processor's counter is constant, or choose another "
            "machine type.",
        )
    elif source:
        yield Check("clock-source", "ok", f"The kernel reads time from {source}.")


def _kept(synchronised: bool, error_s: float) -> Check:
    if not synchronised:
        return Check(
            "clock",
            "warning",
            "This machine's clock is not synchronised (no NTP).",
            "Several hosts are placed on one time axis by their clocks, so collectives and "
            "stragglers would be compared wrongly.",
            "sudo timedatectl set-ntp true, or run chronyd.",
        )
    if error_s > _ERROR_S:
        return Check(
            "clock",
            "warning",
            f"This machine's clock is accurate only to {error_s * 1e3:.0f} ms.",
            "Events of different hosts cannot be compared more closely than that.",
            "Use a nearer time server (chronyc sources).",
        )
    return Check("clock", "ok", f"The clock is synchronised to {error_s * 1e3:.2g} ms.")
