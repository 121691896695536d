"""Names and categories, decided once per distinct event name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from stepscope.columns.space import I32, U8
from stepscope.schema import names
from stepscope.tables.core.planes import DEVICE_KINDS, PlaneKind, planes
from stepscope.tables.core.profile import Host
from stepscope.tables.device import kernel_names
from stepscope.tables.host.events import Work, host_names
from stepscope.timeline.model import CATEGORY, Labels

_COPY = re.compile(r"mem_?cpy|mem_?set|copyBuffer|fillBuffer|copy-(start|done)|^copy\b", re.I)
_RUNTIME = re.compile(r"^(cu|cuda|hip|hsa_?|nvtx|pj_?rt|xla|Tpu)[A-Z_:]|ThunkExecutor|PjRt|Eigen")
_HOST_WORK = {
    Work.COMPILE: "compile",
    Work.HOST_TO_DEVICE: "copy",
    Work.LAUNCH: "launch",
    Work.COLLECTIVE: "collective",
    Work.INPUT_WAIT: "input",
    Work.DEVICE_TO_DEVICE: "copy",
    Work.DEVICE_TO_HOST: "copy",
}


class Names:
    """The texts of a timeline, each kept once, in order of first appearance."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The index of a text."""
        return self._index.setdefault(text, len(self._index))

    def all(self) -> tuple[str, ...]:
        """Every text by index."""
        return tuple(self._index)


def host_labels(host: Host, index: Names) -> Labels:
    """Name and category of every row of the host's event metadata; unused rows stay empty."""
    space = host.space
    meta = space.event_metadata
    used = np.zeros(len(meta), dtype=bool)
    used[space.events.metadata] = True
    name: I32 = np.zeros(len(meta), dtype=np.int32)
    category: U8 = np.zeros(len(meta), dtype=np.uint8)
    kinds, facts = planes(host).plane_kind, host_names(host)
    for row in np.flatnonzero(used).tolist():
        text = meta.name[row]
        name[row] = index.add(meta.display_name[row] or text)
        kind = kinds[meta.plane[row]]
        if kind in DEVICE_KINDS:
            category[row] = CATEGORY[device_category(text)]
        elif kind is PlaneKind.HOST:
            known = _HOST_WORK.get(Work(int(facts.work[row])))
            is_op = facts.op[row] >= 0
            category[row] = CATEGORY[known or ("op" if is_op else host_category(text))]
        elif kind is PlaneKind.PYTHON:
            category[row] = CATEGORY["python"]
    return Labels(name, category)


def derived_labels(texts: Sequence[str], category: str, index: Names) -> Labels:
    """The labels of a derived track whose codes count ``texts``."""
    name = np.asarray([index.add(text) for text in texts], dtype=np.int32)
    return Labels(name, np.full(len(texts), CATEGORY[category], dtype=np.uint8))


def device_category(name: str) -> str:
    """Category of a device event by its name."""
    head = name[:400]
    if kernel_names.is_collective(head.split(" = ")[0]):
        return "collective"
    return "copy" if _COPY.search(head[:80]) else "kernel"


def host_category(name: str) -> str:
    """Category of a host event that is neither a framework op nor a known kind of work."""
    if name.startswith(names.PYTHON_CALL_MARK):
        return "python"
    if name.startswith(names.MEMORY_EVENTS):
        return "memory"
    if name.startswith((names.PYTORCH_STEP, names.KERAS_BATCH, *names.STEP_MARKER_NAMES)):
        return "step"
    return "runtime" if _RUNTIME.search(name[:80]) else "other"
