"""Memory that threads share."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# What a thread takes comes from the process' heap, or from an arena that only it can use again.
_PROGRAM = """
import ctypes, sys
from concurrent.futures import ThreadPoolExecutor
from stepscope.kernels.memory import share_one_arena

if sys.argv[1] == "shared":
    share_one_arena()

def take():
    return bytearray(64_000)

def is_in_heap(taken):
    at = ctypes.addressof(ctypes.c_char.from_buffer(taken))
    with open("/proc/self/maps") as file:
        heap = next(line for line in file if line.rstrip().endswith("[heap]"))
    low, high = (int(one, 16) for one in heap.split()[0].split("-"))
    return low <= at < high

with ThreadPoolExecutor(1) as pool:
    print(is_in_heap(pool.submit(take).result()))
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="glibc's malloc"
)
def test_threads_take_memory_that_others_have_freed() -> None:
    in_heap = {
        how: subprocess.check_output([sys.executable, "-c", _PROGRAM, how], text=True).strip()
        for how in ("shared", "own")
    }
    assert in_heap == {"shared": "True", "own": "False"}
