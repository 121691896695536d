"""The collective that shows a suspect best: it, the median member and the fastest together.

Times are on the pod's clock. Who came last follows from durations; where clocks say otherwise by
less than ± u they do not contradict it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.pod.clocks import Clocks
from stepscope.pod.meetings import Meetings, Units
from stepscope.pod.report import EvidenceRow
from stepscope.pod.suspects import Suspect
from stepscope.pod.typical import Typical
from stepscope.result import Table, columns_of, ms, us
from stepscope.summary.summary import Who

F64 = NDArray[np.float64]
_PS_PER_NS = 1000


def evidence_of(
    suspects: Sequence[Suspect],
    found: Meetings,
    typical: Typical,
    units: Units,
    who: Sequence[Who],
    clocks: Clocks,
) -> Table[EvidenceRow]:
    """Three members of one collective for each suspect that came late to any."""
    origin = np.asarray([one.origin_ns for one in who], dtype=np.int64)
    apart = (origin - origin.min()) * _PS_PER_NS
    offset = np.where(np.isfinite(clocks.offset_ps), clocks.offset_ps, 0.0)
    rows: list[dict[str, object]] = []
    for suspect in suspects:
        chosen = _three(suspect, found, typical)
        if len(chosen) < 2:
            continue
        recording = units.recording[found.unit[chosen]]
        # What a recording's clock shows at its origin, brought to the pod's.
        shift = apart[recording] - offset[recording]
        arrives = found.start_ps[chosen] + shift
        begins = arrives - found.stretch_ps(chosen)
        first = float(begins.min())
        for place, row in enumerate(chosen.tolist()):
            unit, step = found.unit[row], found.step[row]
            meet = found.communicators[found.communicator[found.node[row]]]
            rows.append(
                {
                    "suspect": suspect.where.name,
                    "role": ("suspect", "median", "fastest")[place],
                    "host": who[recording[place]].host,
                    "device": units.name[unit],
                    "collective": meet.kind,
                    "step_num": int(found.steps[step]) if len(found.steps) and step >= 0 else -1,
                    "from_ms": ms(begins[place] - first),
                    "arrives_ms": ms(arrives[place] - first),
                    "ends_ms": ms(arrives[place] + found.duration_ps[row] - first),
                    "clock_u_us": us(clocks.uncertainty_ps[recording[place]]),
                }
            )
    fields = columns_of(EvidenceRow)
    return Table(EvidenceRow, {name: [row[name] for row in rows] for name in fields})


def _three(suspect: Suspect, found: Meetings, typical: Typical) -> I64:
    """Rows of the collective to which the suspect came late for the longest work of its own."""
    mine = found.of_unit(suspect.where.units)
    others = np.zeros(len(found.size), dtype=np.bool_)
    for piece in found.pieces():
        others[found.node[piece][~mine[piece]]] = True
    candidates = np.flatnonzero(mine & found.of_node(others & found.tells))
    if not len(candidates):
        return candidates
    if suspect.kind == "work":
        late = found.stretch_ps(candidates) - typical.stretch_ps(candidates)
    else:
        late = (found.transfer_ps - typical.transfer_ps())[found.node[candidates]]
    worst = candidates[np.argmax(late)]
    members = np.flatnonzero((found.node == found.node[worst]) & ~mine)
    # Who waited longest was the fastest to come.
    by_wait = members[np.argsort(found.wait_ps(members), kind="stable")]
    chosen = [worst, by_wait[len(by_wait) // 2], by_wait[-1]]
    return np.asarray(list(dict.fromkeys(chosen)), dtype=np.int64)
