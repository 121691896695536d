"""File formats: how each is recognised, and how its bytes become a ``Space``.

One file or folder per format. Nothing to the right of ``columns`` learns where a recording came
from, except through a diagnostic that says what its format cannot hold.

XSpace is the format all others become: its files are read whole, not in pieces, and it is not
among ``FORMATS``.
"""

from __future__ import annotations

from typing import Final

from stepscope.formats.format import Format
from stepscope.formats.kineto import FORMAT as KINETO
from stepscope.formats.nccl import FORMATS as NCCL
from stepscope.formats.nsight import FORMATS as NSIGHT
from stepscope.formats.perfetto import FORMAT as PERFETTO
from stepscope.formats.rocprof import FORMATS as ROCPROF
from stepscope.formats.stacks import FORMATS as STACKS
from stepscope.formats.step_log import FORMAT as STEP_LOG
from stepscope.formats.torch_memory import FORMAT as TORCH_MEMORY

#: Every format that is read in pieces, by id; first come, first asked.
FORMATS: Final[dict[str, Format]] = {
    one.id: one
    for one in (*NSIGHT, *ROCPROF, TORCH_MEMORY, STEP_LOG, *NCCL, *STACKS, PERFETTO, KINETO)
}

__all__ = ["FORMATS", "Format"]
