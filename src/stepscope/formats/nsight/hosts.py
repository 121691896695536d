"""What threads did: NVTX ranges, calls of CUDA and of the system, the profiler's own work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stepscope.formats.database import NULL, Rows, TraceDatabase
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    Bool,
    HostEvents,
    LaunchedRecording,
    NamedValues,
    launch_numbers,
)
from stepscope.formats.nsight.devices import versions
from stepscope.formats.nsight.ids import Ids
from stepscope.formats.nsight.names import NsightNames, call_name, words
from stepscope.schema import names as stats

_MARKS: Final = (34, 65)
_RANGES: Final = (59, 60, 70, 71)
_DOMAINS: Final = (75,)
_CALLS: Final = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_OVERHEADS: Final = {
    1: "Unknown", 2: "Driver JIT compiler (CUDA)", 3: "Buffer flush (Profiler)",
    4: "Instrumentation (Profiler)", 5: "Resource creation/destruction (Profiler)",
    6: "Runtime module loading (CUDA)", 7: "Lazy function loading (CUDA)",
    8: "Command buffer full (CUDA)",
}  # fmt: skip
# What torch.autograd.profiler.emit_nvtx puts after the name of an op, in this order.
_OF_TORCH: Final = re.compile(
    r"(?P<name>[^,]+?)"
    r"(?:, seq = (?P<seq>\d{1,18}))?(?:, op_id = (?P<op_id>\d{1,18}))?"
    r"(?:, sizes = (?P<sizes>\[.*?\]))?(?:, input_op_ids = (?P<inputs>\[.*\]))?",
    re.DOTALL,
)
_NUMBERS: Final = ("uint64Value", "int64Value", "uint32Value", "int32Value", "category")


class Hosts:
    """Reads the tables of threads' work.

    Attributes:
        open_ranges: Ranges that had not ended when the recording did.
    """

    def __init__(
        self, database: TraceDatabase, recorded: LaunchedRecording, ids: Ids, names: NsightNames
    ) -> None:
        self._database = database
        self._recorded = recorded
        self._ids = ids
        self._names = names
        self.open_ranges = 0

    def tables(self) -> Iterator[tuple[str, HostEvents]]:
        """The events of each table that there is, with its name."""
        for kind in _CALLS:
            for table in versions(self._database, kind):
                yield table, self._calls(table)
        for table in versions(self._database, "NVTX_EVENTS"):
            yield from ((table, one) for one in self._nvtx(table))
        for table in versions(self._database, "OSRT_API"):
            yield table, self._system_calls(table)
        for kind in ("CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"):
            for table in versions(self._database, kind):
                yield table, self._overheads(table)

    def _calls(self, table: str) -> HostEvents:
        rows = self._database.rows(
            table, ("start", "end", "globalTid", "correlationId", "nameId", "returnValue")
        )
        process = self._ids.processes(rows["globalTid"])
        failed = rows.has("returnValue") & (rows["returnValue"] != 0)
        return _timed(
            HostEvents(
                "call",
                self._ids.threads(rows["globalTid"]),
                self._names.codes(rows["nameId"], "call", call_name),
                rows["start"],
                _length(rows),
                launch_numbers(process, rows.get("correlationId", 0)),
                (NamedValues("return_value", rows["returnValue"], failed),),
            ),
            rows,
        )

    def _system_calls(self, table: str) -> HostEvents:
        rows = self._database.rows(table, ("start", "end", "globalTid", "nameId"))
        name = self._names.codes(rows["nameId"], "system call")
        return self._plain(rows, name)

    def _overheads(self, table: str) -> HostEvents:
        rows = self._database.rows(table, ("start", "end", "globalTid", "nameId", "overheadType"))
        kinds = words(self._database, "ENUM_CUPTI_OVERHEAD_TYPE", _OVERHEADS)
        used, inverse = np.unique(rows.get("overheadType", 1), return_inverse=True)
        texts = [kinds.get(one, f"Overhead of kind {one}") for one in used.tolist()]
        name = self._recorded.texts.codes(texts)[inverse] if texts else inverse
        return self._plain(rows, name)

    def _plain(self, rows: Rows, name: I64) -> HostEvents:
        none = np.zeros(0, np.int64)
        threads = self._ids.threads(rows["globalTid"])
        return _timed(HostEvents("other", threads, name, rows["start"], _length(rows), none), rows)

    def _nvtx(self, table: str) -> Iterator[HostEvents]:
        rows = self._database.rows(
            table,
            ("start", "end", "eventType", "globalTid", "textId", "domainId", *_NUMBERS),
            ("text", "jsonText"),
        )
        kind = rows["eventType"]
        is_range, is_mark = np.isin(kind, _RANGES), np.isin(kind, _MARKS)
        open_ = is_range & (rows["end"] == NULL)
        self.open_ranges += int(open_.sum())
        # A range that never ended lasts to the end of the recording.
        last = max(rows["start"].max(initial=0), rows["end"].max(initial=0))
        end = np.where(open_, last, np.where(is_range, rows["end"], rows["start"]))
        label, said = self._labels(rows)
        columns = [*said, *self._payloads(rows), *self._domains(rows, np.isin(kind, _DOMAINS))]
        none = np.zeros(0, np.int64)
        threads = self._ids.threads(rows["globalTid"])
        for name, wanted in (("range", is_range), ("other", is_mark)):
            events = HostEvents(
                "range" if name == "range" else "other",
                threads, label, rows["start"], end - rows["start"], none, tuple(columns),
            )  # fmt: skip
            yield kept(events, wanted & rows.has("start"))

    def _labels(self, rows: Rows) -> tuple[I64, list[NamedValues]]:
        """Names of the ranges, and what PyTorch says behind them: equal ops get equal names."""
        registered = self._names.optional(rows["textId"])
        texts, count = rows.texts["text"], len(rows)
        seen: dict[str, tuple[int, dict[str, str]]] = {}
        code = registered.copy()
        found: dict[str, tuple[list[int], list[str]]] = {}
        for row, text in enumerate(texts):
            if text is None:
                continue
            known = seen.get(text)
            if known is None:
                known = seen[text] = self._parsed(text)
            code[row] = known[0]
            for key, value in known[1].items():
                at, values = found.setdefault(key, ([], []))
                at.append(row)
                values.append(value)
        code[code < 0] = self._recorded.texts.code("range")
        return code, [self._column(key, *one, count) for key, one in found.items()]

    def _parsed(self, text: str) -> tuple[int, dict[str, str]]:
        one = _OF_TORCH.fullmatch(text) if " = " in text else None
        if one is None:
            return self._recorded.texts.code(text), {}
        said = {key: value for key, value in one.groupdict().items() if value and key != "name"}
        return self._recorded.texts.code(one["name"]), said

    def _column(self, key: str, rows: list[int], values: list[str], count: int) -> NamedValues:
        has = np.zeros(count, bool)
        has[rows] = True
        column = np.zeros(count, np.int64)
        if key in ("seq", "op_id"):
            column[rows] = np.asarray(values, np.int64)
            name = stats.SEQUENCE_NUMBER if key == "seq" else key
            return NamedValues(name, column, has)
        column[rows] = self._recorded.texts.codes(values)
        return NamedValues(stats.SHAPE if key == "sizes" else key, column, has, is_text=True)

    def _payloads(self, rows: Rows) -> list[NamedValues]:
        """Payloads of ranges under their own names, where any row has one."""
        found = [
            NamedValues(one, rows[one], rows.has(one)) for one in _NUMBERS if rows.has(one).any()
        ]
        said = rows.texts["jsonText"]
        has = np.asarray([bool(one) for one in said] or [False], bool)[: len(rows)]
        if has.any():
            code = np.full(len(rows), NONE, np.int64)
            code[has] = self._recorded.texts.codes(one for one in said if one)
            found.append(NamedValues(stats.ARGUMENTS, code, has, is_text=True))
        return found

    def _domains(self, rows: Rows, is_domain: Bool) -> list[NamedValues]:
        """The domain of each range that is in one with a name."""
        name_of: dict[int, int] = {}
        registered = self._names.optional(rows["textId"][is_domain])
        for row, code in zip(np.flatnonzero(is_domain).tolist(), registered.tolist(), strict=True):
            text = rows.texts["text"][row]
            name_of[int(rows["domainId"][row])] = self._recorded.texts.code(text) if text else code
        used, inverse = np.unique(rows["domainId"], return_inverse=True)
        code = np.asarray([name_of.get(one, NONE) for one in used.tolist()] or [NONE], np.int64)
        domain = code[inverse] if len(used) else inverse
        return [NamedValues("domain", domain, domain >= 0, is_text=True)]


def kept(events: HostEvents, wanted: Bool) -> HostEvents:
    """Some of the events."""
    columns = tuple(
        NamedValues(one.name, one.values[wanted], one.has[wanted], one.is_text)
        for one in events.columns
    )
    launch = events.launch[wanted] if len(events.launch) else events.launch
    return HostEvents(
        events.kind, events.thread[wanted], events.name[wanted], events.start_ns[wanted],
        events.duration_ns[wanted], launch, columns,
    )  # fmt: skip


def _timed(events: HostEvents, rows: Rows) -> HostEvents:
    timed: np.ndarray[Any, np.dtype[np.bool_]] = rows.has("start")
    return events if timed.all() else kept(events, timed)


def _length(rows: Rows) -> I64:
    """Durations; what never ended is an instant."""
    has = rows.has("start") & rows.has("end")
    return np.where(has, rows["end"] - rows["start"], 0)
