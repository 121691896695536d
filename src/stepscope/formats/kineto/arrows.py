"""Which forward op each backward op belongs to: producer and consumer of one context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.slices import RowNumbers, Slices, match, row_numbers, unsigned
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.plane_writer import Stat
from stepscope.schema import names

# The type of the context: ours alone, so that no runtime's contexts are confused with it.
CONTEXT_TYPE: Final = 1_000_001


@dataclass(frozen=True, eq=False, slots=True)
class Ends:
    """Ends of arrows by slice.

    Attributes:
        produces, consumes: Ids of the arrows of those slices that have one.
    """

    produces: RowNumbers
    consumes: RowNumbers

    def stats(self, mine: NDArray[np.integer[Any]]) -> list[Stat]:
        """The stats of some slices."""
        found: list[Stat] = []
        for numbers, id_name, type_name in (
            (self.produces, names.PRODUCER_ID, names.PRODUCER_TYPE),
            (self.consumes, names.CONSUMER_ID, names.CONSUMER_TYPE),
        ):
            for ids in numbers.stat(id_name, mine):
                kind = np.full(len(ids.values), CONTEXT_TYPE, np.int32)
                found += [
                    replace(ids, name=type_name, values=kind),
                    replace(ids, values=unsigned(ids.values)),
                ]
        return found


def ends(trace: Trace, slices: Slices) -> Ends:
    """The ends: Kineto gives an arrow's end the very begin of the op it belongs to."""
    flows = trace.flows
    ops = slices.rows("op")
    ids = flows["id"]
    if not len(ops) or not len(ids):
        return Ends(row_numbers(ids[:0], ids[:0]), row_numbers(ids[:0], ids[:0]))
    origin = int(slices.start_ns[ops].min())
    spread = len(slices.places)

    def key(start_ns: I64, place: I64) -> I64:
        return (start_ns - origin) * spread + place

    # Of ops that begin together the last written is the innermost.
    at, same = match(
        key(slices.start_ns[ops], slices.place[ops]), key(flows["start_ns"], flows["place"])
    )
    is_end = flows["is_end"] > 0
    begins, finishes = (same & side & (ids >= 0) for side in (~is_end, is_end))
    return Ends(
        row_numbers(ops[at[begins]], ids[begins]), row_numbers(ops[at[finishes]], ids[finishes])
    )
