"""``ops``: every framework op, on the host and on devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.sql.tables.table import HOST, PS_PER_US, QueryColumn, QueryTable
from stepscope.tables.core.profile import Profile
from stepscope.tables.ops.framework_totals import device_op_totals, host_op_totals


def _rows(profile: Profile, number: int) -> dict[str, Any]:
    host = profile.hosts[number]
    sides = {"Host": host_op_totals(host), "Device": device_op_totals(host)}
    both = list(sides.values())
    return {
        "side": [side for side, totals in sides.items() for _ in range(len(totals))],
        "type": [text for totals in both for text in totals.type],
        "operation": [text for totals in both for text in totals.name],
        "occurrences": np.concatenate([totals.occurrences for totals in both]),
        "executions": np.concatenate([totals.executions for totals in both]),
        "total_us": np.concatenate([totals.total_ps for totals in both]) / PS_PER_US,
        "self_us": np.concatenate([totals.self_ps for totals in both]) / PS_PER_US,
    }


TABLE = QueryTable(
    "ops",
    "Every framework op of a host, on the host and on its devices.",
    (
        HOST,
        QueryColumn("side", "text", "Host or Device."),
        QueryColumn("type", "text", "Type of the op, e.g. MatMul."),
        QueryColumn("operation", "text", "Name in the program."),
        QueryColumn(
            "occurrences", "integer", "Number of events, as XProf counts; kernels on devices."
        ),
        QueryColumn("executions", "integer", "Number of runs."),
        QueryColumn("total_us", "number", "Time of all runs."),
        QueryColumn("self_us", "number", "Time without nested ops."),
    ),
    _rows,
)
