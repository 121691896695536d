"""Who runs: the processor time of single threads, and whether one wants the GIL."""

from __future__ import annotations

import dis
import re
import sys
import time
from types import CodeType
from typing import Final

_IS_LINUX: Final = sys.platform == "linux"
# Of a clock's number on Linux: of one thread, and the time it was scheduled.
_THREAD, _SCHEDULED = 4, 2
# At these instructions alone a thread in Python code gives the GIL up to one that asks for it.
# (Calls do so as well, but a thread at a call may as well be in C code that needs no GIL.)
_GIVES_UP: Final = re.compile("RESUME|.*JUMP_(?:BACKWARD|ABSOLUTE)")


def cpu_ns(native_id: int) -> int:
    """Processor time that a thread of this process has used; -1 where that is not known.

    Args:
        native_id: The system's number of the thread. One that has ended is not known.
    """
    if not _IS_LINUX or native_id <= 0:
        return -1
    try:
        return time.clock_gettime_ns((~native_id << 3) | _THREAD | _SCHEDULED)
    except (OSError, OverflowError):  # a number of Python's own, which is an address, fits no clock
        return -1


def wants_gil(code: CodeType, instruction: int) -> bool:
    """Whether a thread at this place is in Python code, not in a call of C code.

    Asked by a thread that holds the GIL of another one, it says that this one waits for it.

    Args:
        code: Of the thread's innermost frame.
        instruction: ``f_lasti`` of the frame.
    """
    if instruction < 0:
        return False
    return _GIVES_UP.match(dis.opname[code.co_code[instruction]]) is not None
