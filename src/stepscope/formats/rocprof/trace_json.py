"""The JSON of rocprof 1 and 2 (``results.json``): Chrome's events, times in ns in their arguments.

Processes are layers of the runtime and GPUs by their names; an arrow called ``dep`` leads from the
begin of a call to that of the work that it launched.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.formats.format import Input
from stepscope.formats.json_parts import Parts
from stepscope.formats.launched import LaunchedRecording, to_space
from stepscope.formats.launched.recorded import I64, NONE
from stepscope.formats.rocprof.work import (
    DIMS,
    LACKS,
    Agent,
    RocmKernel,
    add_calls,
    add_dispatches,
    add_named_copies,
)
from stepscope.records import dataclass, field

TITLE: Final = "rocprof JSON"
_EVENTS: Final = ("traceEvents", "*")
_INSIDE: Final = frozenset({(), _EVENTS[:1]})
_GPU: Final = re.compile(r"\bGPU(\d{1,4})$")
_MARKED: Final = re.compile(r"marker|roctx", re.IGNORECASE)
_CALLED: Final = re.compile(r"\b(?:HIP|HSA|KFD|CPU)\b")
_COPIES: Final = re.compile(r"\bCOPY$")
_COPY: Final = re.compile(r"Copy(Host|Device)To(Host|Device)|hipMemcpy|^Copy|^Fill")
_LAST_NS: Final = 1 << 62
_GPUS: Final = 10_000


@dataclass
class _Work:
    """Events of one kind, a list for each column."""

    process: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    stream: list[int] = field(default_factory=list)
    pid: list[int] = field(default_factory=list)
    device: list[int] = field(default_factory=list)

    def kept(self, rows: list[int]) -> _Work:
        """Some of them."""
        return _Work(**{key: [column[row] for row in rows] for key, column in vars(self).items()})


def open_trace(pieces: Input, *, file: str) -> Space:
    """The recording in a file.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It is not such a file, or has no events.
    """
    recorded = LaunchedRecording(TITLE)
    parts = Parts(pieces, _INSIDE)
    found = _Events()
    for path, value in parts:
        if path == _EVENTS and isinstance(value, dict):
            found.take(value)
    found.add_to(recorded)
    recorded.origin = f"Imported from the JSON of rocprof 1 or 2. {LACKS}"
    recorded.cut_off(parts.damage, "events", file=file)
    return to_space(recorded, file=file)


class _Events:
    """The events of a file."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._all = _Work()
        self._untimed = 0
        # Arrows by where they begin (process, thread, us) and end (process, us).
        self._from: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self._to: dict[tuple[int, int], list[int]] = defaultdict(list)

    def take(self, event: dict[str, Any]) -> None:
        """One more."""
        phase, args = event.get("ph"), event.get("args")
        said = args if isinstance(args, dict) else {}
        process, thread, at = (_whole(event.get(key)) for key in ("pid", "tid", "ts"))
        if phase == "M" and event.get("name") == "process_name":
            self._names[process] = str(said.get("name", ""))[:200]
        elif phase == "s":
            self._from[process, thread, at].append(_whole(event.get("id")))
        elif phase in ("t", "f"):
            self._to[process, at].append(_whole(event.get("id")))
        elif phase == "X":
            start, end = _whole(said.get("BeginNs")), _whole(said.get("EndNs"))
            if not 0 < start <= end < _LAST_NS:
                self._untimed += 1
                return
            name = event.get("name")
            work = self._all
            work.process.append(process)
            work.thread.append(thread)
            work.name.append(name if isinstance(name, str) else "")
            work.start.append(start)
            work.end.append(end)
            work.stream.append(_whole(said.get("stream-id", said.get("queue-id"))))
            work.pid.append(_whole(said.get("pid")))
            work.device.append(_whole(said.get("dev-id")))

    def add_to(self, recorded: LaunchedRecording) -> None:
        """All of them, each kind as what it is."""
        kinds = {process: _kind(name) for process, name in self._names.items()}
        rows: dict[str, list[int]] = defaultdict(list)
        for row, process in enumerate(self._all.process):
            kind = kinds.get(process, "")
            if kind == "gpu":
                kind = "copy" if _COPY.search(self._all.name[row]) else "kernel"
            rows[kind].append(row)
        calls, marks, kernels, copies = (
            self._all.kept(rows[one]) for one in ("call", "mark", "kernel", "copy")
        )
        self._calls(recorded, calls, [self._begun(*key) for key in _begins(calls)], is_range=False)
        self._calls(recorded, marks, [NONE] * len(marks.name), is_range=True)
        self._kernels(recorded, kernels)
        self._copies(recorded, copies)
        for count, text in (
            (self._untimed, "{} events have no times in ns; they are left out."),
            (len(rows[""]), "{} events are of layers that are not shown."),
        ):
            if count:
                recorded.warnings.append(text.format(f"{count:,}"))

    def _begun(self, process: int, thread: int, at_us: int) -> int:
        """The arrow that begins with a call."""
        found = self._from.get((process, thread, at_us))
        return found.pop(0) if found else NONE

    def _ended(self, work: _Work) -> I64:
        """The arrow that ends at each event of a GPU."""
        launch = []
        for process, start in zip(work.process, work.start, strict=True):
            found = self._to.get((process, start // 1000))
            launch.append(found.pop(0) if found else NONE)
        return np.asarray(launch, np.int64)

    def _calls(
        self, recorded: LaunchedRecording, work: _Work, launch: list[int], *, is_range: bool
    ) -> None:
        if not work.name:
            return
        columns = {
            **_times(work),
            "thread": np.asarray(work.thread, np.int64),
            "launch": np.asarray(launch, np.int64),
        }
        pid = max(work.pid[0], 0)
        name = recorded.texts.codes(work.name)
        add_calls(recorded, name, columns, 0, pid, is_range=is_range)

    def _agents(self, work: _Work) -> I64:
        """The GPU of each: its process is one, or it names one."""
        numbers = {
            process: int(found[1])
            for process, name in self._names.items()
            if (found := _GPU.search(name))
        }
        named = zip(work.process, work.device, strict=True)
        agents = [numbers.get(process, device) for process, device in named]
        return np.asarray([one if one < _GPUS else NONE for one in agents], np.int64)

    def _kernels(self, recorded: LaunchedRecording, work: _Work) -> None:
        if not work.name:
            return
        agent = self._agents(work)
        codes = {name: at for at, name in enumerate(dict.fromkeys(work.name))}
        none = np.full(len(work.name), NONE, np.int64)
        columns = {
            **_times(work),
            **dict.fromkeys(("queue", "dispatch_id", "private", "group", *DIMS), none),
            "agent": agent,
            "kernel": np.asarray([codes[name] for name in work.name], np.int64),
            "stream": np.asarray(work.stream, np.int64),
            "launch": self._ended(work),
        }
        kernels = {at: RocmKernel(name.removesuffix(".kd")) for name, at in codes.items()}
        add_dispatches(recorded, columns, _gpus(agent), kernels, 0)

    def _copies(self, recorded: LaunchedRecording, work: _Work) -> None:
        if not work.name:
            return
        columns = {
            **_times(work),
            "agent": self._agents(work),
            "queue": np.full(len(work.name), NONE, np.int64),
            "stream": np.asarray(work.stream, np.int64),
            "launch": self._ended(work),
        }
        add_named_copies(recorded, work.name, columns, 0)


def _kind(process: str) -> str:
    """What the events of a process are, by its name; "" for what is not known."""
    if _GPU.search(process):
        return "gpu"
    if _COPIES.search(process):
        return "copy"
    if _MARKED.search(process):
        return "mark"
    return "call" if _CALLED.search(process) else ""


def _begins(work: _Work) -> Iterator[tuple[int, int, int]]:
    """Process, thread and begin in us of each event."""
    starts = (one // 1000 for one in work.start)
    return zip(work.process, work.thread, starts, strict=True)


def _times(work: _Work) -> dict[str, I64]:
    return {"start": np.asarray(work.start, np.int64), "end": np.asarray(work.end, np.int64)}


def _gpus(agent: I64) -> dict[int, Agent]:
    return {one: Agent("GPU", one) for one in np.unique(agent).tolist()}


def _whole(value: Any) -> int:
    """A number, which may be text; -1 for what is none."""
    if type(value) is int:
        return value if 0 <= value < _LAST_NS else NONE
    text = value if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else NONE
