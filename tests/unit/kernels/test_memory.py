"""Memory that is freed goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# Arrays of 8 MB with half a megabyte behind each that stays: in a heap they would leave holes.
_PROGRAM = """
import sys
import numpy as np
from stepscope.kernels.memory import return_large

def held_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

if sys.argv[1] == "return":
    return_large()
before = held_mb()
first = np.ones(1 << 20)
del first
kept = []
large = []
for _ in range(8):
    large.append(np.ones(1 << 20))
    kept.append(np.ones(60_000))
del large
print(held_mb() - before)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="glibc's malloc"
)
def test_large_arrays_are_returned_when_they_are_freed() -> None:
    held = {
        how: float(subprocess.check_output([sys.executable, "-c", _PROGRAM, how], text=True))
        for how in ("return", "keep")
    }
    assert held["return"] < 20 < 50 < held["keep"]
