"""What a snapshot says, gathered while its pickle is read: events as columns."""

from __future__ import annotations

from array import array
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.python_frames import FrameTexts, place_of
from stepscope.limits import current

I64 = NDArray[np.int64]

#: Events of the allocator, by the code in ``MemoryTrace.columns()["action"]``.
ACTIONS: Final = (
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
    "user_defined",
)
_CODE: Final = {name: code for code, name in enumerate(ACTIONS)}
_FIELDS: Final = ("addr", "size", "time_us")
# How each column is kept: there may be as many rows as a file of a gigabyte has events.
_KEPT: Final = {
    "action": "b",
    **dict.fromkeys(_FIELDS, "q"),
    "stack": "i",
    "line": "i",
    "kind": "i",
}
_NONE: Final = -1


class MemoryTrace:
    """Events in the order in which the pickle has them; each is named by its row.

    Attributes:
        texts: Every distinct stack, line and category; "" is the first.
        device_free: By row, what the device had left, where an event says it.
    """

    def __init__(self) -> None:
        self.texts: list[str] = [""]
        self._codes: dict[str, int] = {"": 0}
        self.device_free: dict[int, int] = {}
        self._columns = {name: array(kept) for name, kept in _KEPT.items()}
        self._frames = FrameTexts()
        self._stacks: dict[int, tuple[object, int, int]] = {}

    def take(self, one: dict[Any, Any]) -> int | None:
        """The row of an event of the allocator's; None for what is none."""
        action = one.get("action")
        if not isinstance(action, str) or ("addr" not in one and "size" not in one):
            return None
        columns = self._columns
        row = len(columns["action"])
        columns["action"].append(_CODE.get(action, _NONE))
        for name in _FIELDS:
            columns[name].append(whole(one.get(name)))
        if (free := whole(one.get("device_free"))) >= 0:
            self.device_free[row] = free
        stack, line = self.stack(one.get("frames"))
        columns["stack"].append(stack)
        columns["line"].append(line)
        kind = one.get("category")
        columns["kind"].append(self.code(kind) if isinstance(kind, str) else 0)
        return row

    def columns(self) -> dict[str, NDArray[Any]]:
        """The events as columns, which the trace gives up; -1 for what is not said."""
        kept, self._columns = self._columns, {}
        return {name: np.asarray(values) for name, values in kept.items()}

    def code(self, text: str) -> int:
        """The code of a text."""
        known = self._codes.get(text)
        if known is None:
            known = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return known

    def stack(self, frames: Any) -> tuple[int, int]:
        """Codes of a stack's text and of the line of the program in it; 0 where there is none."""
        if not isinstance(frames, list) or not frames:
            return 0, 0
        known = self._stacks.get(id(frames))
        if known is None:
            shown = list(self._frames.of(frames))
            current().spend("text", sum(len(text) for text, _ in shown))
            line = next((text for text, is_own in shown if is_own), "")
            line = line or place_of(frames, self._frames) or (shown[0][0] if shown else "")
            known = (frames, self.code("\n".join(text for text, _ in shown)), self.code(line))
            # The list is kept, so that no other gets its identity.
            self._stacks[id(frames)] = known
        return known[1], known[2]


def whole(value: Any) -> int:
    """A number of the file; -1 for what is none, or of no 64 bits."""
    is_one = isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    return int(value) if is_one else _NONE
