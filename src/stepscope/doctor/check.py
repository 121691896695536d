"""What a check says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from stepscope.doctor.system import System

#: "ok"; "absent": not on this machine, and that is no fault; "warning": costs something;
#: "problem": recordings will lack something or fail.
Status = Literal["ok", "absent", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        id: What, as a heading in docs/doctor.md.
        status: How it is.
        what: One sentence: what was found.
        why: What that does to a recording; "" where it does nothing.
        hint: What to do, as one would type it; "" where there is nothing to do.
    """

    id: str
    status: Status
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


#: Looks at a machine (and the folder recordings go to) and says what it found.
Probe = Callable[[System, str], Iterator[Check]]
