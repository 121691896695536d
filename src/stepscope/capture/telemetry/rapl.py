"""Energy of processors and memory as Linux counts it (RAPL: Intel and AMD), where it may be read.

Only root may read the counters on most systems.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stepscope.capture.telemetry import Metric, Rates, Reading

_ROOT: Final = Path("/sys/class/powercap")
_J_PER_UJ: Final = 1e-6


def open_source(root: Path | None = None) -> RaplSource | None:
    """The source where at least one counter may be read."""
    source = RaplSource(root or _ROOT)
    return source if source.zones else None


class RaplSource:
    """See the module.

    Args:
        root: Where the system's zones are.

    Attributes:
        zones: Name and folder of each zone whose counter may be read.
    """

    def __init__(self, root: Path) -> None:
        self.zones: list[tuple[str, Path]] = []
        self._last: dict[Path, int] = {}
        self._joules: dict[Path, float] = {}
        self._rates = Rates()
        # Packages, and memory within them; cores and graphics are part of a package already.
        packages = sorted(root.glob("intel-rapl:[0-9]*"))
        for zone in packages:
            name, _, package = _text(zone / "name").partition("-")
            if name == "package" and package.isdigit():
                self._add(f"CPU package {package}", zone)
            elif name == "dram":
                self._add(f"Memory of {_text(zone.with_name(_parent(zone)) / 'name')}", zone)

    def _add(self, name: str, zone: Path) -> None:
        count = _count(zone)
        if count is not None:
            self.zones.append((name, zone))
            self._last[zone], self._joules[zone] = count, 0.0

    def read(self, now_ns: int) -> Iterable[Reading]:
        """Energy since the source was opened, and power since the reading before."""
        for name, zone in self.zones:
            count = _count(zone)
            if count is None:
                continue
            grown = count - self._last[zone]
            if grown < 0:  # the counter began again at 0, after its largest value
                grown += _number(_text(zone / "max_energy_range_uj")) or -grown
            self._last[zone] = count
            self._joules[zone] += grown * _J_PER_UJ
            yield Metric(f"{name} energy", "J"), self._joules[zone]
            yield from self._rates.of(Metric(f"{name} power", "W"), now_ns, self._joules[zone])

    def close(self) -> None:
        """Nothing is held."""


def _parent(zone: Path) -> str:
    return zone.name.rpartition(":")[0]


def _count(zone: Path) -> int | None:
    return _number(_text(zone / "energy_uj"))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""
