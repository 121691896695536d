"""The host on Linux: processors, memory, disks and network, of machine and process.

Files of ``/proc`` are kept open and read from their start again (15 µs for three of them), so
ten readings a second cost a few thousandths of a processor and need no package.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stepscope.capture.telemetry import Metric, Rates, Reading

_ENOUGH: Final = 1 << 16
_SECTOR_BYTES: Final = 512  # of /proc/diskstats, whatever the disk's own are
_CHILDREN_EVERY: Final = 10  # ticks between two searches for child processes

_ALL_CORES: Final = Metric("CPU busy", "%")
_PROCESS_CPU: Final = Metric("Process CPU", "%")
_CHILDREN_CPU: Final = Metric("Child processes CPU", "%")
_RSS: Final = Metric("Process memory (RSS)", "bytes")
_CHILDREN_RSS: Final = Metric("Child processes memory (RSS)", "bytes")
_USED: Final = Metric("System memory used", "bytes")
_DISK: Final = (Metric("Disk read", "bytes/s"), Metric("Disk write", "bytes/s"))
_OWN_DISK: Final = (
    Metric("Process disk read", "bytes/s"),
    Metric("Process disk write", "bytes/s"),
)
_NETWORK: Final = (Metric("Network receive", "bytes/s"), Metric("Network send", "bytes/s"))


def open_source(root: Path = Path("/proc")) -> ProcSource | None:
    """The source where the system has a ``/proc`` as Linux writes it."""
    return (
        ProcSource(root) if (root / "stat").is_file() and (root / "self/stat").is_file() else None
    )


class ProcSource:
    """See the module.

    Args:
        root: Where ``/proc`` is.
    """

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root
        self._rates = Rates()
        self._cores: dict[str, tuple[int, int]] = {}
        self._ticks_s = os.sysconf("SC_CLK_TCK")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._disks = _whole_disks()
        self._files: dict[str, int] = {}
        for name in ("stat", "meminfo", "diskstats", "net/dev", "self/stat", "self/io"):
            try:
                self._files[name] = os.open(root / name, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue  # not mounted, or not for us: its counters are left out
        # A total over all children would jump with each one that is found or ends.
        self._children: dict[str, Rates] = {}
        self._reads = 0

    def close(self) -> None:
        """Close the files."""
        for number in self._files.values():
            os.close(number)
        self._files = {}

    def read(self, now_ns: int) -> Iterable[Reading]:
        """All counters that could be read."""
        self._reads += 1
        for read in (self._processors, self._memory, self._io, self._network, self._process):
            yield from read(now_ns)
        yield from self._child_processes(now_ns)

    def _text(self, name: str) -> str:
        number = self._files.get(name)
        if number is None:
            return ""
        try:
            return os.pread(number, _ENOUGH, 0).decode("ascii", "replace")
        except OSError:
            return ""

    def _processors(self, now_ns: int) -> Iterable[Reading]:
        for line in self._text("stat").splitlines():
            if not line.startswith("cpu"):
                break
            label, *fields = line.split()
            # user nice system idle iowait irq softirq steal; guest time is in user already.
            ticks = [int(field) for field in fields[:8]]
            total, idle = sum(ticks), sum(ticks[3:5])
            before = self._cores.get(label)
            self._cores[label] = total, idle
            if before is not None and total > before[0]:
                busy = 1 - (idle - before[1]) / (total - before[0])
                number = label.removeprefix("cpu")
                counter = Metric(f"CPU {number} busy", "%") if number else _ALL_CORES
                yield counter, min(max(100 * busy, 0.0), 100.0)

    def _memory(self, now_ns: int) -> Iterable[Reading]:
        fields = dict(line.partition(":")[::2] for line in self._text("meminfo").splitlines())
        try:
            total, free = (_kib(fields[key]) for key in ("MemTotal", "MemAvailable"))
        except (KeyError, ValueError, IndexError):
            return
        yield _USED, float(total - free)

    def _io(self, now_ns: int) -> Iterable[Reading]:
        read = written = 0
        found = False
        for line in self._text("diskstats").splitlines():
            fields = line.split()
            if len(fields) > 9 and fields[2] in self._disks:
                read, written, found = read + int(fields[5]), written + int(fields[9]), True
        if found:
            yield from self._rates.of(_DISK[0], now_ns, read * _SECTOR_BYTES)
            yield from self._rates.of(_DISK[1], now_ns, written * _SECTOR_BYTES)
        own = dict(line.partition(":")[::2] for line in self._text("self/io").splitlines())
        if "read_bytes" in own and "write_bytes" in own:
            yield from self._rates.of(_OWN_DISK[0], now_ns, int(own["read_bytes"]))
            yield from self._rates.of(_OWN_DISK[1], now_ns, int(own["write_bytes"]))

    def _network(self, now_ns: int) -> Iterable[Reading]:
        received = sent = 0
        found = False
        for line in self._text("net/dev").splitlines():
            name, colon, rest = line.partition(":")
            fields = rest.split()
            if colon and name.strip() != "lo" and len(fields) > 8:
                received, sent, found = received + int(fields[0]), sent + int(fields[8]), True
        if found:
            yield from self._rates.of(_NETWORK[0], now_ns, received)
            yield from self._rates.of(_NETWORK[1], now_ns, sent)

    def _process(self, now_ns: int) -> Iterable[Reading]:
        usage = self._usage(self._text("self/stat"))
        if usage is not None:
            cpu_s, resident = usage
            # Per cent of one processor: four busy threads are 400 %.
            for counter, rate in self._rates.of(_PROCESS_CPU, now_ns, cpu_s):
                yield counter, 100 * rate
            yield _RSS, float(resident)

    def _usage(self, stat: str) -> tuple[float, int] | None:
        """Processor seconds and resident bytes in a ``/proc/<pid>/stat``."""
        # The name of the program, in brackets, may hold anything: the values come after it.
        fields = stat.rpartition(")")[2].split()
        if len(fields) < 22:
            return None
        return (int(fields[11]) + int(fields[12])) / self._ticks_s, int(
            fields[21]
        ) * self._page_bytes

    def _child_processes(self, now_ns: int) -> Iterable[Reading]:
        """Processes this one started, such as the workers of a data loader, in sum."""
        if self._reads % _CHILDREN_EVERY == 1:
            self._children = {
                pid: self._children.get(pid, Rates()) for pid in self._find_children()
            }
        cpu_rates: list[float] = []
        resident_bytes: list[int] = []
        for pid, rates in list(self._children.items()):
            try:
                usage = self._usage((self._root / pid / "stat").read_text("utf-8", "replace"))
            except OSError:
                del self._children[pid]  # it has ended; another may get its number
                continue
            if usage is not None:
                cpu_rates += [rate for _, rate in rates.of(_CHILDREN_CPU, now_ns, usage[0])]
                resident_bytes.append(usage[1])
        if cpu_rates:
            yield _CHILDREN_CPU, 100 * sum(cpu_rates)
        if resident_bytes:
            yield _CHILDREN_RSS, float(sum(resident_bytes))

    def _find_children(self) -> list[str]:
        found: list[str] = []
        try:
            for task in os.listdir(self._root / "self/task"):  # noqa: PTH208 - names are enough
                children = self._root / "self/task" / task / "children"
                found += children.read_text("ascii", "replace").split()
        except OSError:
            return found
        return found


def _kib(text: str) -> int:
    return int(text.split()[0]) * 1024


def _whole_disks() -> frozenset[str]:
    """Names of the disks themselves: no partitions, no loops, nothing built on other disks."""
    try:
        names = [path.name for path in Path("/sys/block").iterdir()]
    except OSError:
        return frozenset()
    return frozenset(name for name in names if not name.startswith(("loop", "ram", "dm-", "md")))
