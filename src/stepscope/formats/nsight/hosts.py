"""What threads did: NVTX ranges, calls of CUDA and of the system, the profiler's own work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import coded
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    Bool,
    HostEvents,
    Ints,
    LaunchedRecording,
    NamedValues,
    launch_numbers,
)
from stepscope.formats.nsight.devices import versions
from stepscope.formats.nsight.ids import Ids
from stepscope.formats.nsight.names import NsightNames, call_name, words
from stepscope.formats.packed import NULL, compact
from stepscope.formats.trace_tables import Rows, TraceTables
from stepscope.schema import names as stats

_MARKS: Final = (34, 65)
_RANGES: Final = (59, 60, 70, 71)
_DOMAINS: Final = (75,)
_CALLS: Final = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_OVERHEADS: Final = {
    1: "Unknown",
    2: "Driver JIT compiler (CUDA)",
    3: "Buffer flush (Profiler)",
    4: "Instrumentation (Profiler)",
    5: "Resource creation/destruction (Profiler)",
    6: "Runtime module loading (CUDA)",
    7: "Lazy function loading (CUDA)",
    8: "Command buffer full (CUDA)",
}
# Kinds that say nothing; the name of such a row does.
_VAGUE: Final = (0, 1)
# What torch.autograd.profiler.emit_nvtx puts after the name of an op, in this order.
_OF_TORCH: Final = re.compile(
    r"(?P<name>[^,]+?)"
    r"(?:, seq = (?P<seq>\d{1,18}))?(?:, op_id = (?P<op_id>\d{1,18}))?"
    r"(?:, sizes = (?P<sizes>\[.*?\]))?(?:, input_op_ids = (?P<inputs>\[.*\]))?",
    re.DOTALL,
)
_ENDINGS: Final = {", op_id = ": "op_id", ", seq = ": "seq"}
_NUMBERS: Final = ("uint64Value", "int64Value", "uint32Value", "int32Value", "category")


class Hosts:
    """Reads the tables of threads' work.

    Attributes:
        open_ranges: Ranges that had not ended when the recording did.
    """

    def __init__(
        self, database: TraceTables, recorded: LaunchedRecording, ids: Ids, names: NsightNames
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
        used, inverse = coded(rows.get("overheadType", 1))
        texts = [_overhead(kinds.get(one, f"Overhead of kind {one}")) for one in used.tolist()]
        name = self._recorded.texts.codes(texts)[inverse] if texts else inverse
        is_vague = np.isin(used, _VAGUE)[inverse] & rows.has("nameId")
        if is_vague.any():
            name = np.where(is_vague, self._names.codes(rows["nameId"], "work", _overhead), name)
        return self._plain(rows, name)

    def _plain(self, rows: Rows, name: I64) -> HostEvents:
        none = np.zeros(0, np.int64)
        threads = self._ids.threads(rows["globalTid"])
        return _timed(HostEvents("other", threads, name, rows["start"], _length(rows), none), rows)

    def _nvtx(self, table: str) -> Iterator[HostEvents]:
        columns_of = ("start", "end", "eventType", "globalTid", "textId", "domainId", *_NUMBERS)
        wanted = (columns_of, ("text", "jsonText"))
        # Numbers make every text another one: they are taken off before texts are kept.
        rows = self._database.rows(table, *wanted, endings=list(_ENDINGS))
        if _is_misread(rows):
            rows = self._database.rows(table, *wanted)
        label, columns = self._labels(rows)
        columns += self._payloads(rows)
        kind = compact(rows["eventType"])
        columns += self._domains(rows, np.isin(kind, _DOMAINS))
        threads = compact(self._ids.threads(rows["globalTid"]))
        start, end = rows["start"], rows["end"]
        open_ = np.isin(kind, _RANGES) & (end == NULL)
        self.open_ranges += int(open_.sum())
        # A range that never ended lasts to the end of the recording.
        end[open_] = max(start.max(initial=0), end.max(initial=0))
        timed = start != NULL
        length = compact(np.where(timed & np.isin(kind, _RANGES), end - start, 0))
        del end
        none = np.zeros(0, np.int64)
        for name, kinds in (("range", _RANGES), ("other", _MARKS)):
            events = HostEvents(
                "range" if name == "range" else "other",
                threads,
                label,
                start,
                length,
                none,
                tuple(columns),
            )
            yield kept(events, timed & np.isin(kind, kinds))

    def _labels(self, rows: Rows) -> tuple[Ints, list[NamedValues]]:
        """Names of the ranges, and what PyTorch says behind them: equal ops get equal names."""
        texts = rows.texts["text"]
        number = texts.codes
        parsed = [self._parsed(text) for text in texts.distinct]
        code = np.asarray([one[0] for one in parsed] or [NONE], np.int32)[number]
        if "textId" in rows.known:
            code = np.where(code >= 0, code, self._names.optional(rows["textId"]))
        code[code < 0] = self._recorded.texts.code("range")
        of_text = [said for _, said in parsed]
        found = {
            key: self._said(key, of_text, number).narrowed()
            for key in dict.fromkeys(key for said in of_text for key in said)
        }
        for text, key in _ENDINGS.items():
            values = rows.ended.get(text, np.zeros(0, np.int64))
            has = values != NULL
            if has.any():
                known = found.get(key)
                if known is not None:
                    values = np.where(has, values, known.values)
                    has = has | known.has
                found[key] = NamedValues(_shown(key), values, has).narrowed()
        return compact(code), list(found.values())

    def _parsed(self, text: str | None) -> tuple[int, dict[str, str]]:
        if text is None:
            return NONE, {}
        one = _OF_TORCH.fullmatch(text) if " = " in text else None
        if one is None:
            return self._recorded.texts.code(text), {}
        said = {key: value for key, value in one.groupdict().items() if value and key != "name"}
        return self._recorded.texts.code(one["name"]), said

    def _said(self, key: str, said: list[dict[str, str]], number: NDArray[np.int32]) -> NamedValues:
        """One thing that names say: of each distinct text, for each row."""
        has = np.asarray([key in one for one in said], bool)[number]
        if key in ("seq", "op_id"):
            values = np.asarray([int(one.get(key, 0)) for one in said], np.int64)
            return NamedValues(_shown(key), values[number], has)
        values = self._recorded.texts.codes(one.get(key, "") for one in said).astype(np.int32)
        return NamedValues(_shown(key), values[number], has, is_text=True)

    def _payloads(self, rows: Rows) -> list[NamedValues]:
        """Payloads of ranges under their own names, where any row has one."""
        found = [
            NamedValues(one, rows[one], rows.has(one)).narrowed()
            for one in _NUMBERS
            if rows.has(one).any()
        ]
        said = rows.texts["jsonText"]
        if any(said.distinct):
            code = self._recorded.texts.codes(one or "" for one in said.distinct)[said.codes]
            has = np.asarray([bool(one) for one in said.distinct], bool)[said.codes]
            found.append(NamedValues(stats.ARGUMENTS, code, has, is_text=True).narrowed())
        return found

    def _domains(self, rows: Rows, is_domain: Bool) -> list[NamedValues]:
        """The domain of each range that is in one with a name."""
        name_of: dict[int, int] = {}
        registered = self._names.optional(rows["textId"][is_domain])
        for row, code in zip(np.flatnonzero(is_domain).tolist(), registered.tolist(), strict=True):
            text = rows.texts["text"][row]
            name_of[int(rows["domainId"][row])] = self._recorded.texts.code(text) if text else code
        used, inverse = coded(rows["domainId"])
        code = np.asarray([name_of.get(one, NONE) for one in used.tolist()] or [NONE], np.int64)
        domain = code[inverse] if len(used) else inverse
        return [NamedValues("domain", domain, domain >= 0, is_text=True).narrowed()]


def _shown(key: str) -> str:
    """What a value in an op's name is called."""
    return {"seq": stats.SEQUENCE_NUMBER, "sizes": stats.SHAPE}.get(key, key)


def _is_misread(rows: Rows) -> bool:
    """Whether a number was taken off a text that is not an op's name: names have no commas."""
    texts = rows.texts["text"]
    odd = [one == "" or "," in (one or "") for one in texts.distinct]
    is_odd = np.asarray(odd, bool)[texts.codes]
    return any(bool((is_odd & (values != NULL)).any()) for values in rows.ended.values())


def kept(events: HostEvents, wanted: Bool) -> HostEvents:
    """Some of the events; all of them as they are."""
    if wanted.all():
        return events
    columns = tuple(
        NamedValues(one.name, one.values[wanted], one.has[wanted], one.is_text)
        for one in events.columns
    )
    launch = events.launch[wanted] if len(events.launch) else events.launch
    return HostEvents(
        events.kind,
        events.thread[wanted],
        events.name[wanted],
        events.start_ns[wanted],
        events.duration_ns[wanted],
        launch,
        columns,
    )


def _overhead(text: str) -> str:
    """What a kind of overhead is called: what the profiler did itself is marked as that."""
    if text.endswith(stats.LOADED_BY_CUDA):  # programs do that without a profiler, too
        return text
    return stats.RECORDER_OVERHEAD + text.removesuffix(" (Profiler)")


def _timed(events: HostEvents, rows: Rows) -> HostEvents:
    timed: np.ndarray[Any, np.dtype[np.bool_]] = rows.has("start")
    return events if timed.all() else kept(events, timed)


def _length(rows: Rows) -> I64:
    """Durations; what never ended is an instant."""
    has = rows.has("start") & rows.has("end")
    return np.where(has, rows["end"] - rows["start"], 0)
