"""How a GPU kernel was launched, out of the text its recorder wrote.

Four dialects of ``kernel_details`` exist in the wild; all are ``key:value`` words:

* CUPTI: ``regs:32 static_shared:0 dynamic_shared:16384 grid:2,1,1 block:32,1,1 occ_pct:50``
* CUPTI before 2021: ``regs:38 shm:0 grid:160,1,1 block:1024,1,1``
* ROCm: `` grid:4,64,1 block:256,1,1 private_mem:0 group_mem:8704 occ_pct:0``
* ROCm before 2025: CUPTI's words, but ``regs`` and ``static_shared`` hold uninitialised memory.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from stepscope.records import dataclass
from stepscope.schema.numbers import whole_number

# A word begins where none is under way; else a long name would be tried from each of its letters.
_WORD = re.compile(r"(?<!\w)(\w+):([^\s;]+)")
# No GPU gives a thread more: NVIDIA 255, AMD 512 vector and 106 scalar registers.
_MOST_REGISTERS = 1024
# No GPU launches more blocks than 2**31 - 1 in one dimension.
_MOST_DIGITS = 32


class Dim(NamedTuple):
    """Threads of a block, or blocks of a grid."""

    x: int
    y: int
    z: int

    def __str__(self) -> str:
        return f"{self.x},{self.y},{self.z}"


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """What the launch of a kernel asked for; None where the recorder did not say.

    Attributes:
        registers: Registers per thread.
        static_shared_bytes, dynamic_shared_bytes: Shared memory per block by how it was asked
            for; None where only the sum is known.
        shared_bytes: Their sum (AMD: local data share).
        private_bytes: Scratch memory per thread (AMD).
        block, grid: Launch dimensions.
        occupancy_frac: Theoretical occupancy, 0–1.
    """

    registers: int | None = None
    static_shared_bytes: int | None = None
    dynamic_shared_bytes: int | None = None
    shared_bytes: int | None = None
    private_bytes: int | None = None
    block: Dim | None = None
    grid: Dim | None = None
    occupancy_frac: float | None = None


UNKNOWN_LAUNCH = KernelLaunch()


def parse_kernel_details(text: str) -> KernelLaunch:
    """Read a ``kernel_details`` text of any dialect; words that make no sense count as absent."""
    words = dict(_WORD.findall(text))
    registers = _integer(words.get("regs"))
    static = _integer(words.get("static_shared"))
    dynamic = _integer(words.get("dynamic_shared"))
    if registers is not None and registers > _MOST_REGISTERS:
        # The whole function record was never filled in; what the launch itself says stands.
        registers = static = None
        shared = None
    elif static is None and dynamic is None:
        shared = _integer(words.get("shm", words.get("group_mem")))
    else:
        shared = (static or 0) + (dynamic or 0)
    return KernelLaunch(
        registers=registers or None,
        static_shared_bytes=static,
        dynamic_shared_bytes=dynamic,
        shared_bytes=shared,
        private_bytes=_integer(words.get("private_mem")),
        block=_dim(words.get("block")),
        grid=_dim(words.get("grid")),
        occupancy_frac=_occupancy(words.get("occ_pct")),
    )


@lru_cache(maxsize=10_000)  # launches of a program share few numbers
def _integer(word: str | None) -> int | None:
    return whole_number(word) if word is not None else None


def _dim(word: str | None) -> Dim | None:
    return _dims(word) if word else None


@lru_cache(maxsize=10_000)  # launches of a program share few sizes
def _dims(word: str) -> Dim | None:
    parts = word.split(",")
    is_digits = word.isascii() and word.replace(",", "").isdecimal()
    if not is_digits or len(parts) > 3 or "" in parts or len(word) > _MOST_DIGITS:
        return None
    known = [int(part) for part in parts]
    return None if 0 in known else Dim(*known, *(1,) * (3 - len(known)))


def _occupancy(word: str | None) -> float | None:
    try:
        percent = float(word) if word is not None else 0.0
    except ValueError:
        return None
    # A kernel that ran had some occupancy: 0 is what recorders write when they did not ask.
    return percent / 100 if 0 < percent <= 100 else None
