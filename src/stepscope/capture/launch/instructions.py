"""Instructions for a process started by ``stepscope record``, as text in its environment."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stepscope.capture.file.compact import RECORD_VARIABLE
from stepscope.capture.options import ProfilerOptions
from stepscope.records import dataclass

_SITE: Final = Path(__file__).resolve().parent / "site"


@dataclass(frozen=True, slots=True)
class Instructions:
    """What to record, and for which parent.

    Attributes:
        logdir, run: Where to write.
        options: What to record.
        parent: Process whose recording takes this one's in; 0: none, it is the first.
        stem: Name of the parent's file, without its ending.
        origin_ns: Time zero of the parent's file.
        children: Whether child processes are recorded.
        rank: The variable and number by which the parent knows its rank (``RANK=0``); "" if none.
        steps_log: File of the step log; "": none.
        flight_recorder: Whether the last seconds are kept once the recording has ended.
        places: File to which each recording appends the place where it was written; "": none.
        dry_run: File for what each level costs, measured instead of recording; "": none.
    """

    logdir: str
    run: str
    options: ProfilerOptions
    parent: int = 0
    stem: str = ""
    origin_ns: int = 0
    children: bool = True
    rank: str = ""
    places: str = ""
    steps_log: str = ""
    flight_recorder: bool = False
    dry_run: str = ""

    def to_text(self) -> str:
        """One line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Instructions:
        """Parse such a line; raises ``ValueError`` or ``TypeError`` where it is not one."""
        said: dict[str, Any] = json.loads(text)
        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in said.pop("options").items()
        }
        return cls(options=ProfilerOptions(**options), **said)


def environment_for(instructions: Instructions, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that is to follow the instructions."""
    path = [str(_SITE), *filter(None, base.get("PYTHONPATH", "").split(os.pathsep))]
    made = {
        **base,
        RECORD_VARIABLE: instructions.to_text(),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
    }
    if instructions.options.memory:
        # The allocator that knows what it holds; only now can TensorFlow be told to use it.
        made.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")
    return made
