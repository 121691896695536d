"""The program's calls from the loop inwards, each with all that is below it, as a table."""

from __future__ import annotations

from math import nan
from typing import Annotated

from stepscope.result import Column, Row, Table, ms
from stepscope.tables.account.account import Account
from stepscope.tables.account.outer_calls import outer_calls
from stepscope.tables.account.owners import Owner

# Kinds of owners by what a call does with the time.
_HANDS_OVER = ("framework", "annotated")
_PYTHON = ("library", "python")
_OPS = ("op", "runtime", "launch")


class CallRow(Row):
    """A function of the program, as it is called on one path, with all that it calls."""

    function: Annotated[str, Column("Function", kind="name")]
    file: Annotated[str, Column("File", kind="name")]
    line: Annotated[int, Column("Line", kind="number", help="Where it begins.")]
    caller: Annotated[str, Column("Called from", kind="name")]
    is_loop: Annotated[bool, Column("Around the steps", kind="flag", help="Runs through them.")]
    above: Annotated[
        int, Column("Above", kind="number", hidden=True, help="Row of what calls it; none: -1.")
    ]
    time_ms: Annotated[
        float, Column("Time", unit="ms", kind="time", sort="desc", help="With all that it calls.")
    ]
    step_frac: Annotated[
        float, Column("Share of step", unit="%", kind="ratio", whole_label="Share of the recording")
    ]
    framework_ms: Annotated[
        float, Column("Handing over", unit="ms", kind="time", help="The framework's own work.")
    ]
    python_ms: Annotated[
        float, Column("Python", unit="ms", kind="time", help="The program's, and libraries'.")
    ]
    ops_ms: Annotated[
        float, Column("Ops", unit="ms", kind="time", help="With the runtime's work around them.")
    ]

    @property
    def eager_ms(self) -> float:
        """What it hands over and runs by itself, and Python's part in that."""
        return self.framework_ms + self.python_ms + self.ops_ms


def call_table(found: Account, listed: list[Owner], step_ps: float) -> Table[CallRow]:
    """The calls with a good share of the step, those with most first."""
    count, calls = int(found.found.kept.sum()), outer_calls(found, listed)
    spent = {
        name: [ms(sum(one.time_ps.get(kind, 0) for kind in kinds)) / count for one in calls]
        for name, kinds in (("framework", _HANDS_OVER), ("python", _PYTHON), ("ops", _OPS))
    }
    return Table(
        CallRow,
        {
            "function": [one.site.function for one in calls],
            "file": [one.site.file for one in calls],
            "line": [one.site.line or None for one in calls],
            "caller": [one.site.caller for one in calls],
            "is_loop": [one.is_loop for one in calls],
            "above": [one.above for one in calls],
            "time_ms": [ms(one.total_ps) / count for one in calls],
            "step_frac": [one.total_ps / count / step_ps if step_ps > 0 else nan for one in calls],
            **{f"{name}_ms": times for name, times in spent.items()},
        },
    )
