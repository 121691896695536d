"""The host where there is no ``/proc`` (macOS, Windows): through psutil, if it is installed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stepscope.capture.telemetry import Metric, Rates, Reading


def open_source() -> PsutilSource | None:
    """The source where Linux' own does not exist and psutil does."""
    if Path("/proc/self/stat").is_file():
        return None
    try:
        import psutil
    except ImportError:
        return None
    return PsutilSource(psutil)


class PsutilSource:
    """See the module.

    Args:
        psutil: The module.
    """

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil
        self._process = psutil.Process()
        self._rates = Rates()
        psutil.cpu_percent(percpu=True)  # what comes later is since now

    def close(self) -> None:
        """Nothing is held."""

    def read(self, now_ns: int) -> Iterable[Reading]:
        """All counters of this system."""
        cores = self._psutil.cpu_percent(percpu=True)
        if cores:
            yield Metric("CPU busy", "%"), sum(cores) / len(cores)
        for number, busy in enumerate(cores):
            yield Metric(f"CPU {number} busy", "%"), float(busy)
        memory = self._psutil.virtual_memory()
        yield Metric("System memory used", "bytes"), float(memory.total - memory.available)
        yield Metric("Process memory (RSS)", "bytes"), float(self._process.memory_info().rss)
        times = self._process.cpu_times()
        for counter, rate in self._rates.of(
            Metric("Process CPU", "%"), now_ns, times.user + times.system
        ):
            yield counter, 100 * rate
        disk, network = self._psutil.disk_io_counters(), self._psutil.net_io_counters()
        if disk is not None:
            yield from self._rates.of(Metric("Disk read", "bytes/s"), now_ns, disk.read_bytes)
            yield from self._rates.of(Metric("Disk write", "bytes/s"), now_ns, disk.write_bytes)
        if network is not None:
            for name, total in (("receive", network.bytes_recv), ("send", network.bytes_sent)):
                yield from self._rates.of(Metric(f"Network {name}", "bytes/s"), now_ns, total)
