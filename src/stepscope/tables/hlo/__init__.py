"""HLO: the compiled programs of a profile, read from the protos that travel with it.

``modules`` finds them, ``module`` reads one into computations and instructions, ``shape`` and
``text`` say what an instruction is, ``cost`` what it must compute and move, ``category`` how it
is filed, ``buffers`` and ``heap`` what it keeps in memory.
"""

from __future__ import annotations

from stepscope.tables.hlo.module import Computation, HloModule, Instruction, parse_module
from stepscope.tables.hlo.modules import HloModules, hlo_modules
from stepscope.tables.hlo.shape import Shape, parse_shape

__all__ = [
    "Computation",
    "HloModule",
    "HloModules",
    "Instruction",
    "Shape",
    "hlo_modules",
    "parse_module",
    "parse_shape",
]
