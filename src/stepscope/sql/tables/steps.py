"""``steps``: every step and its parts."""

from __future__ import annotations

from typing import Any, Final

from stepscope.sql.tables.table import HOST, QueryColumn, QueryTable
from stepscope.tables.core.profile import Profile
from stepscope.tables.steps.attribution import PARTS, found_steps
from stepscope.timeline.axis import axis_of

_PS_PER_MS: Final = 1e9


def _rows(profile: Profile, number: int) -> dict[str, Any] | None:
    found = found_steps(profile.hosts[number])
    if found is None:
        return None
    return {
        "step_num": found.markers.num,
        "name": found.markers.name,
        "start_ms": (found.start_ps + axis_of(profile).shift_ps[number]) / _PS_PER_MS,
        "step_time_ms": found.duration_ps / _PS_PER_MS,
        **{f"{part}_ms": found.parts_ps[part] / _PS_PER_MS for part in PARTS},
        "kept": found.kept,
    }


TABLE = QueryTable(
    "steps",
    "Every step and its parts, which sum to its length.",
    (
        HOST,
        QueryColumn("step_num", "integer", "Number of the step."),
        QueryColumn("name", "text", "Name of the step's mark."),
        QueryColumn("start_ms", "number", "Start on the timeline's axis."),
        QueryColumn("step_time_ms", "number", "Length of the step."),
        *(
            QueryColumn(f"{part}_ms", "number", f"Time in {part.replace('_', ' ')}.")
            for part in PARTS
        ),
        QueryColumn("kept", "flag", "Whether means include it: not cut, warm-up or outlier."),
    ),
    _rows,
)
