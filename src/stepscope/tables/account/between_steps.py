"""Time of the loop that no counted step holds: a validation or a checkpoint after many steps.

Such a stretch is no part of a step, and a mean that held it would be of no step. It is a cost of
the loop all the same.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.account.owners import name_at, site_of
from stepscope.tables.core.profile import Host
from stepscope.tables.core.recording_gaps import crosses_gap
from stepscope.tables.core.thresholds import LARGE_FRAC, PART_FRAC, SEVERAL
from stepscope.tables.core.time_spans import covered
from stepscope.tables.python.frames import OWN, frames
from stepscope.tables.steps.attribution import found_steps


@dataclass(frozen=True, slots=True)
class BetweenSteps:
    """A loop's time between its counted steps.

    Attributes:
        ms: From the first counted step to the last, less the gaps of the recording.
        frac: Its share of that time.
        count: Stretches, each longer than a usual step.
        call: The library's call that has most of it, where no function of the program is apart
            from the steps, as ``keras.Model.predict``; "" unknown.
        function: The program's function that has most of it, or calls that; "" unknown.
        file: The file it is in.
        line: The line there, or where it begins; 0 unknown.
        caller: ``file:line function`` that calls it; "" unknown.
    """

    ms: float
    frac: float
    count: int
    call: str = ""
    function: str = ""
    file: str = ""
    line: int = 0
    caller: str = ""


def between_steps(host: Host) -> BetweenSteps | None:
    """None where there are no steps, or too few of them.

    A step that is far longer than all others holds a usual step, and what else the loop did.
    """
    found = found_steps(host)
    if found is None or int(found.kept.sum()) <= SEVERAL:
        return None
    kept = np.flatnonzero(found.kept)
    rows = np.arange(kept[0], kept[-1] + 1)
    usual = int(np.median(found.duration_ps[kept]))
    odd = rows[found.is_outlier[rows]]
    begin, end = found.end_ps[rows[:-1]], found.start_ps[rows[1:]]
    is_gap = (end - begin > usual) & ~crosses_gap(host, begin, end)
    begin = np.concatenate([begin[is_gap], found.start_ps[odd]])
    end = np.concatenate([end[is_gap], found.end_ps[odd]])
    order = np.argsort(begin)
    begin, end = begin[order], end[order]
    length = end - begin
    total = int(length.sum()) - usual * len(odd)
    whole = total + int(found.duration_ps[kept].sum()) + usual * len(odd)
    told = _site(
        host, found.markers.thread, (begin, end), (found.start_ps[kept], found.end_ps[kept])
    )
    return BetweenSteps(total / 1e9, total / max(whole, 1), len(length), *told)


def _site(
    host: Host, line: int, between: tuple[I64, I64], steps: tuple[I64, I64]
) -> tuple[()] | tuple[str, str, str, int, str]:
    """The program's function, or call out of it, that runs between the steps and hardly in them."""
    known = line >= 0 and len(between[0]) > 0
    calls = frames(host, line, int(steps[0][0]), int(steps[1][-1])) if known else None
    if calls is None:
        return ()
    at = np.arange(len(calls.own))
    rows = np.flatnonzero(((calls.own == at) & (calls.kind == OWN)) | (calls.call == at))
    start, end = calls.start_ps[rows], calls.start_ps[rows] + calls.length_ps[rows]
    names, code = np.unique(calls.name[rows], return_inverse=True)
    time, in_steps = (
        np.bincount(code, weights=covered(*spans, start, end), minlength=len(names))
        for spans in (between, steps)
    )
    most = LARGE_FRAC * float((between[1] - between[0]).sum())
    hardly = PART_FRAC * float((steps[1] - steps[0]).sum())
    time = np.where((time >= most) & (in_steps <= hardly), time, 0.0)
    if not time.any():
        return ()
    row = int(rows[code == time.argmax()][0])
    site = site_of(calls, int(calls.place_of(np.asarray([row]))[0]))
    call = name_at(calls, row).public if calls.call[row] == row else ""
    return call, site.function, site.file, site.line, site.caller
