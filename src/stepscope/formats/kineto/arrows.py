"""Which forward op each backward op belongs to: producer and consumer of one context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.args import NONE
from stepscope.formats.kineto.read import Trace
from stepscope.formats.kineto.slices import Slices, match
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import stat_of
from stepscope.formats.xspace.plane_writer import Stat
from stepscope.schema import names

# The type of the context: ours alone, so that no runtime's contexts are confused with it.
CONTEXT_TYPE: Final = 1_000_001


@dataclass(frozen=True, eq=False, slots=True)
class Ends:
    """Ends of arrows by slice.

    Attributes:
        produces, consumes: Id of the arrow per slice, -1 for none; empty where no slice has one.
    """

    produces: I64
    consumes: I64

    def stats(self, mine: NDArray[np.integer[Any]]) -> list[Stat]:
        """The stats of some slices."""
        found: list[Stat] = []
        if not len(self.produces):
            return found
        for ids, id_name, type_name in (
            (self.produces[mine], names.PRODUCER_ID, names.PRODUCER_TYPE),
            (self.consumes[mine], names.CONSUMER_ID, names.CONSUMER_TYPE),
        ):
            found += stat_of(type_name, np.full(len(mine), CONTEXT_TYPE), ids >= 0)
            found += stat_of(id_name, ids.astype(np.uint64), ids >= 0)
        return found


def ends(trace: Trace, slices: Slices) -> Ends:
    """The ends: Kineto gives an arrow's end the very begin of the op it belongs to."""
    flows = trace.flows
    ops = slices.rows("op")
    ids = flows["id"]
    if not len(ops) or not len(ids):
        return Ends(np.zeros(0, np.int64), np.zeros(0, np.int64))
    produces = np.full(len(slices), NONE, np.int64)
    consumes = np.full(len(slices), NONE, np.int64)
    origin = int(slices.start_ns[ops].min())
    spread = len(slices.places)

    def key(start_ns: I64, place: I64) -> I64:
        return (start_ns - origin) * spread + place

    # Of ops that begin together the last written is the innermost.
    at, same = match(
        key(slices.start_ns[ops], slices.place[ops]), key(flows["start_ns"], flows["place"])
    )
    is_end = flows["is_end"] > 0
    for column, side in ((produces, ~is_end), (consumes, is_end)):
        chosen = same & side & (ids >= 0)
        column[ops[at[chosen]]] = ids[chosen]
    return Ends(produces, consumes)
