"""What XLA's program says of an op: the line of the program it came from, and its data type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.hlo import hlo_modules
from stepscope.tables.hlo.shape import PRIMITIVES


@dataclass(frozen=True, slots=True)
class Compiled:
    """Of one op; empty where XLA compiled nothing or says nothing."""

    file: str = ""
    line: int = 0
    data_type: str = ""


def compiled_from(host: Host, event: int) -> Compiled:
    """Of the op that an event ran."""
    if event < 0:
        return Compiled()
    stats, row = event_stats(host), np.asarray([event])
    texts = stats.texts(names.HLO_OP)
    place = np.flatnonzero(texts.rows == event)
    if len(place) == 0:
        return Compiled()
    hlo = texts.texts[int(texts.codes[place[0]])].rpartition("::")[2]
    program = int(stats.ints(names.PROGRAM_ID).at(row, 0)[0])
    module = hlo_modules(host).get(program)
    instruction = module.instructions.get(hlo) if module is not None else None
    if instruction is None:
        return Compiled()
    file, _, line = instruction.source.rpartition(":")
    shape = instruction.shape
    leaves = [leaf.element_type for _index, leaf in shape.leaves()]
    kind = PRIMITIVES.get(leaves[0], ("", 0))[0] if leaves else ""
    return Compiled(file, int(line) if line.isdigit() else 0, kind)
