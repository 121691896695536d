"""rocprofv3's JSON (``--output-format json``): a list of records for each domain."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from stepscope.columns import coded
from stepscope.columns.space import Space
from stepscope.formats.format import Input
from stepscope.formats.json_parts import Parts, Path
from stepscope.formats.launched import LaunchedRecording, to_space
from stepscope.formats.launched.recorded import I64, NONE
from stepscope.formats.rocprof.work import (
    DIMS,
    LACKS,
    Agent,
    RocmKernel,
    add_calls,
    add_copies,
    add_dispatches,
    add_facts,
)

TITLE: Final = "rocprofv3 JSON"
_TOOL: Final = ("rocprofiler-sdk-tool", "*")
_BUFFERS: Final = (*_TOOL, "buffer_records")
_CALLS: Final = ("hip_api", "hsa_api", "rccl_api", "rocdecode_api", "rocjpeg_api")
_MARKERS: Final = "marker_api"
_LISTS: Final = ("kernel_dispatch", "memory_copy", _MARKERS, *_CALLS)
_INSIDE: Final = frozenset(
    {
        (),
        _TOOL[:1],
        _TOOL,
        _BUFFERS,
        (*_TOOL, "agents"),
        (*_TOOL, "kernel_symbols"),
        *((*_BUFFERS, one) for one in _LISTS),
    }
)
_GPU: Final = 2
_LARGEST: Final = 1 << 63
_DISPATCH: Final = (
    "start",
    "end",
    "agent",
    "kernel",
    "queue",
    "stream",
    "launch",
    "dispatch_id",
    "private",
    "group",
    *DIMS,
)
_COPY: Final = ("start", "end", "source", "target", "size", "queue", "stream", "launch")
_CALL: Final = ("start", "end", "thread", "launch", "kind", "operation")


def open_json(pieces: Input, *, file: str) -> Space:
    """The recording in a file.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It is no such file, or one without events.
    """
    recorded = LaunchedRecording(TITLE)
    parts = Parts(pieces, _INSIDE)
    processes: list[_Process] = []
    for path, value in parts:
        if path[:2] == _TOOL and isinstance(value, (dict, list, str)):
            # Each process begins with what it is.
            if path == (*_TOOL, "metadata") or not processes:
                processes.append(_Process(len(processes)))
            processes[-1].take(path, value)
    for one in processes:
        one.add_to(recorded)
    recorded.origin = f"Imported from rocprofv3's JSON. {LACKS}"
    recorded.cut_off(parts.damage, "records", file=file)
    return to_space(recorded, file=file)


class _Records:
    """Records of one domain as columns of whole numbers; -1 for what is none."""

    def __init__(self, names: tuple[str, ...], row: Callable[[dict[str, Any]], list[Any]]) -> None:
        self._names = names
        self._row = row
        self._cells = array("q")

    def add(self, record: dict[str, Any]) -> None:
        """One more."""
        self._cells.extend([_whole(one) for one in self._row(record)])

    def columns(self) -> tuple[dict[str, I64], int]:
        """The columns of the records that have a begin and an end, and how many have not."""
        table = np.frombuffer(self._cells, np.int64) if self._cells else np.zeros(0, np.int64)
        table = table.reshape(-1, len(self._names)).T
        kept = (table[0] > 0) & (table[1] > 0)
        found = {name: column[kept] for name, column in zip(self._names, table, strict=True)}
        return found, int((~kept).sum())


class _Process:
    """What the file says of one process."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._pid = index
        self._agents: dict[int, Agent] = {}
        self._facts: dict[int, dict[str, Any]] = {}
        self._kernels: dict[int, RocmKernel] = {}
        self._strings: dict[str, Any] = {}
        self._dispatches = _Records(_DISPATCH, _dispatch)
        self._copies = _Records(_COPY, _copy)
        self._calls = _Records(_CALL, _call)
        self._markers = _Records(_CALL, _call)

    def take(self, path: Path, value: Any) -> None:
        """A part of the text."""
        where = path[2:]
        if where == ("metadata",) and isinstance(value, dict):
            # Nothing else of it: command, host and environment are there, too.
            self._pid = max(_whole(value.get("pid")), 0)
        elif where == ("strings",) and isinstance(value, dict):
            self._strings = value
        elif not isinstance(value, dict):
            return
        elif where == ("agents", "*"):
            self._agent(value)
        elif where == ("kernel_symbols", "*"):
            self._kernel(value)
        elif where[:1] == ("buffer_records",) and where[-1:] == ("*",):
            self._domain(where[1]).add(value)

    def _domain(self, name: str) -> _Records:
        known = {
            "kernel_dispatch": self._dispatches,
            "memory_copy": self._copies,
            _MARKERS: self._markers,
        }
        return known.get(name, self._calls)

    def _agent(self, said: dict[str, Any]) -> None:
        handle = _handle(said.get("id"))
        kind = "GPU" if said.get("type") == _GPU else "CPU"
        number = _whole(said.get("gpu_index", said.get("logical_node_type_id")))
        self._agents[handle] = Agent(kind, number)
        if kind == "GPU" and 0 <= number < 1 << 16:
            self._facts[number] = said

    def _kernel(self, said: dict[str, Any]) -> None:
        for key in ("formatted_kernel_name", "demangled_kernel_name", "kernel_name"):
            name = said.get(key)
            if isinstance(name, str) and name not in ("", "0"):
                break
        else:
            name = ""
        self._kernels[_whole(said.get("kernel_id"))] = RocmKernel(
            name,
            _whole(said.get("arch_vgpr_count")),
            _whole(said.get("accum_vgpr_count")),
            _whole(said.get("sgpr_count")),
        )

    def add_to(self, recorded: LaunchedRecording) -> None:
        """The process's events."""
        for number, said in self._facts.items():
            add_facts(recorded, number, said)
        index, lost = self._index, 0
        columns, lost = self._dispatches.columns()
        add_dispatches(recorded, columns, self._agents, self._kernels, index)
        copies, untimed = self._copies.columns()
        add_copies(recorded, copies, self._agents, index)
        lost += untimed
        for records, is_range in ((self._calls, False), (self._markers, True)):
            columns, untimed = records.columns()
            lost += untimed
            name = self._names(recorded, columns, is_range=is_range)
            add_calls(recorded, name, columns, index, self._pid, is_range=is_range)
        if lost:
            recorded.warnings.append(f"{lost:,} records have no time; they are left out.")

    def _names(
        self, recorded: LaunchedRecording, columns: Mapping[str, I64], *, is_range: bool
    ) -> I64:
        """Names of calls by domain and operation, and what the program called its ranges."""
        operations = _operations(self._strings.get("buffer_records"))
        pairs = (columns["kind"], columns["operation"])
        name = recorded.text_column(
            "name", pairs, lambda one: operations.get((one[0], one[1]), f"call {one[1]}")
        ).values
        messages = _messages(self._strings.get("marker_api")) if is_range else {}
        if not messages:
            return name
        used, inverse = coded(columns["launch"])
        codes = [
            recorded.texts.code(messages[one]) if one in messages else NONE for one in used.tolist()
        ]
        said = np.asarray(codes or [NONE], np.int64)[inverse]
        return np.where(said >= 0, said, name)


def _dispatch(one: dict[str, Any]) -> list[Any]:
    info = _dict(one.get("dispatch_info"))
    grid, group = _dict(info.get("grid_size")), _dict(info.get("workgroup_size"))
    return [
        one.get("start_timestamp"),
        one.get("end_timestamp"),
        _handle(info.get("agent_id")),
        info.get("kernel_id"),
        _handle(info.get("queue_id")),
        _handle(one.get("stream_id")),
        _launch(one),
        info.get("dispatch_id"),
        info.get("private_segment_size"),
        info.get("group_segment_size"),
        *(grid.get(axis) for axis in "xyz"),
        *(group.get(axis) for axis in "xyz"),
    ]


def _copy(one: dict[str, Any]) -> list[Any]:
    return [
        one.get("start_timestamp"),
        one.get("end_timestamp"),
        _handle(one.get("src_agent_id")),
        _handle(one.get("dst_agent_id")),
        one.get("bytes"),
        -1,
        _handle(one.get("stream_id")),
        _launch(one),
    ]


def _call(one: dict[str, Any]) -> list[Any]:
    return [
        one.get("start_timestamp"),
        one.get("end_timestamp"),
        one.get("thread_id"),
        _launch(one),
        one.get("kind"),
        one.get("operation"),
    ]


def _launch(one: dict[str, Any]) -> Any:
    return _dict(one.get("correlation_id")).get("internal", 0)


def _handle(value: Any) -> int:
    return _whole(_dict(value).get("handle"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int:
    is_one = (
        isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST
    )
    return value if is_one else NONE


def _operations(said: Any) -> dict[tuple[int, int], str]:
    """Names of the operations of each domain."""
    return {
        (kind, number): name
        for kind, one in enumerate(said if isinstance(said, list) else ())
        if isinstance(one, dict) and isinstance(one.get("operations"), list)
        for number, name in enumerate(one["operations"])
        if isinstance(name, str)
    }


def _messages(said: Any) -> dict[int, str]:
    """What ranges are called, by the number of their call."""
    return {
        _whole(one.get("key")): one["value"]
        for one in (said if isinstance(said, list) else ())
        if isinstance(one, dict) and isinstance(one.get("value"), str)
    }
