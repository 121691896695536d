"""The result of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from stepscope.doctor.system import System
from stepscope.records import dataclass

#: "ok"; "absent": not on this machine, which is not a problem; "warning": recordings lack or cost
#: something; "problem": recordings fail or have no device events.
CheckStatus = Literal["ok", "absent", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        id: A heading in docs/doctor.md.
        status: See ``CheckStatus``.
        what: One sentence: the finding.
        why: The effect on a recording; "" if there is none.
        hint: The fix, as one would type it; "" if there is nothing to do.
    """

    id: str
    status: CheckStatus
    what: str
    why: str = ""
    hint: str = ""

    def to_dict(self) -> dict[str, str]:
        """As plain values, for JSON."""
        return {
            "check": self.id,
            "status": self.status,
            "what": self.what,
            "why": self.why,
            "hint": self.hint,
        }


#: Checks a machine and the folder for recordings.
Probe = Callable[[System, str], Iterator[Check]]
