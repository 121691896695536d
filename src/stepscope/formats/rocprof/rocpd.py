"""rocpd databases: a set of tables per process, each with its suffix; two generations of schema.

Version 3 has process, thread and agent on each row, version 4 a number of a track that has them.
Ids are unique within a suffix alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.columns import coded
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.database import TraceDatabase, opened
from stepscope.formats.format import Input, Peek
from stepscope.formats.launched import Counter, LaunchedRecording, to_space
from stepscope.formats.launched.recorded import I64, NONE, HostThread
from stepscope.formats.packed import NULL
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
from stepscope.formats.trace_tables import Rows, shortcomings
from stepscope.limits import json_value

TITLE: Final = "a rocprofv3 database (rocpd)"
_DISPATCH: Final = "rocpd_kernel_dispatch"
_ANCHORS: Final = (_DISPATCH, "rocpd_region", "rocpd_info_process")
_NOT_SHOWN: Final = (
    "rocpd_memory_allocate",
    "rocpd_sample",
    "rocpd_graph_launch",
    "rocpd_call_stack",
)
_MARKERS: Final = "MARKER"
_PLACES: Final = ("pid", "tid", "agent_id", "queue_id", "stream_id")


def open_database(pieces: Input, *, file: str) -> Space:
    """The recording in a database, all of its processes.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It is no such database, or one without events.
    """
    recorded = LaunchedRecording(TITLE)
    with pieces.on_disk() as path, opened(path, title=TITLE, file=file) as database:
        for index, suffix in enumerate(_suffixes(database)):
            _Process(database, recorded, suffix, index).read()
        versions = [one for suffix in _suffixes(database) for one in _version(database, suffix)]
        _finish(database, recorded, versions)
    if not recorded.count and database.damage:
        raise FormatError(TITLE, f"SQLite says: {database.damage}", file=file)
    return to_space(recorded, file=file)


def writer_of(pieces: Peek) -> str:
    """Which generation of rocpd's schema a database has.

    Raises:
        FormatError: It does not open.
    """
    with pieces.on_disk("rocpd_metadata") as path, opened(path, title=TITLE, file="") as database:
        found = [one for suffix in _suffixes(database) for one in _version(database, suffix)]
    return f"rocprofv3 (schema {found[0]})" if found else "rocprofv3"


def _suffixes(database: TraceDatabase) -> list[str]:
    """What follows the names of tables: one for each process, "" where there is none."""
    found: dict[str, None] = {}
    for table in database.tables:
        for anchor in _ANCHORS:
            rest = table.removeprefix(anchor)
            if rest != table and (not rest or rest.startswith("_")) and "launch" not in rest:
                found[rest] = None
    return sorted(found)


def _version(database: TraceDatabase, suffix: str) -> list[str]:
    rows = database.rows(
        f"rocpd_metadata{suffix}", (), ("value",), where=("tag", ("schema_version",))
    )
    return [one for one in rows.texts["value"] if one]


def _finish(database: TraceDatabase, recorded: LaunchedRecording, versions: list[str]) -> None:
    schema = f" (schema {versions[0]})" if versions else ""
    recorded.origin = f"Imported from rocprofv3{schema}. {LACKS}"
    if versions:
        recorded.host_facts["rocpd_schema_version"] = versions[0]
    left_out = [
        f"{table} ({count:,})"
        for table in _NOT_SHOWN
        if (count := sum(database.count(table + one) for one in _suffixes(database)))
    ]
    if left_out:
        recorded.warnings.append(f"Tables whose rows are not shown: {', '.join(left_out)}.")
    recorded.warnings.extend(shortcomings(database, "database"))


class _Process:
    """Reads the tables of one suffix."""

    def __init__(
        self, database: TraceDatabase, recorded: LaunchedRecording, suffix: str, index: int
    ) -> None:
        self._database = database
        self._recorded = recorded
        self._suffix = suffix
        self._index = index
        process = self._rows("rocpd_info_process", ("pid",))
        self._pid = int(process.get("pid", 0)[0]) if len(process) else index
        self._tracks = self._rows("rocpd_track", ("id", *_PLACES))
        self._by_track = _Lookup(self._tracks["id"])
        self._events = self._rows(
            "rocpd_event", ("id", "category_id", "stack_id", "correlation_id")
        )
        self._by_event = _Lookup(self._events["id"])
        # Calls and what they launch share the recorder's own number; writers without it fill in
        # the other one.
        stack = self._events.get("stack_id", 0)
        self._launch = stack if (stack > 0).any() else self._events.get("correlation_id", 0)
        self._threads = self._numbers_of("rocpd_info_thread", "tid")
        self._agents = self._agents_of()

    def read(self) -> None:
        """All events of the process."""
        self._dispatches()
        self._copies()
        self._regions()
        names = self._rows("rocpd_info_thread", ("tid",), ("name",))
        for number, name in zip(names["tid"].tolist(), names.texts["name"], strict=True):
            for row, one in enumerate(self._recorded.threads):
                if name and (one.process, one.number) == (self._pid, number):
                    self._recorded.threads[row] = HostThread(one.process, one.number, name)

    def _rows(
        self, table: str, numbers: tuple[str, ...], texts: tuple[str, ...] = (), **more: Any
    ) -> Rows:
        return self._database.rows(table + self._suffix, numbers, texts, **more)

    def _numbers_of(self, table: str, column: str) -> dict[int, int]:
        rows = self._rows(table, ("id", column))
        return dict(zip(rows["id"].tolist(), rows.get(column, 0).tolist(), strict=True))

    def _agents_of(self) -> dict[int, Agent]:
        numbers = ("id", "absolute_index", "type_index")
        said = ("type", "product_name", "name", "extdata")
        rows = self._rows("rocpd_info_agent", numbers, said)
        found: dict[int, Agent] = {}
        for at, key in enumerate(rows["id"].tolist()):
            kind = rows.texts["type"][at] or "GPU"
            number = int(rows.get("type_index", int(rows.get("absolute_index", 0)[at]))[at])
            found[key] = Agent(kind, number)
            if kind == "GPU" and 0 <= number < 1 << 16 and number not in self._recorded.facts:
                names = {key: rows.texts[key][at] for key in ("product_name", "name")}
                add_facts(self._recorded, number, {**names, **_extdata(rows.texts["extdata"][at])})
        return found

    def _place(self, rows: Rows, column: str) -> I64:
        """A column of the row itself, or of its track; -1 where nowhere."""
        if column in rows.known or "track_id" not in rows.known:
            return rows.get(column, NONE)
        at, found = self._by_track.find(rows["track_id"])
        return np.where(found, np.append(self._tracks.get(column, NONE), NONE)[at], NONE)

    def _launch_of(self, rows: Rows) -> I64:
        at, found = self._by_event.find(rows["event_id"])
        return np.where(found, np.append(self._launch, 0)[at], 0)

    def _dispatches(self) -> None:
        sizes = ("private_segment_size", "group_segment_size")
        columns = (
            "start",
            "end",
            "kernel_id",
            "dispatch_id",
            "event_id",
            "track_id",
            *_PLACES,
            *sizes,
            *DIMS,
        )
        rows = self._timed(self._rows(_DISPATCH, columns))
        kernels = self._kernels()
        add_dispatches(
            self._recorded,
            {
                "start": rows["start"],
                "end": rows["end"],
                "agent": self._place(rows, "agent_id"),
                "kernel": rows.get("kernel_id", NONE),
                "queue": self._place(rows, "queue_id"),
                "stream": self._place(rows, "stream_id"),
                "launch": self._launch_of(rows),
                "dispatch_id": rows.get("dispatch_id", NONE),
                "private": rows.get(sizes[0], NONE),
                "group": rows.get(sizes[1], NONE),
                **{one: rows.get(one, NONE) for one in DIMS},
            },
            self._agents,
            kernels,
            self._index,
        )
        self._counters(rows)

    def _kernels(self) -> dict[int, RocmKernel]:
        numbers = ("id", "arch_vgpr_count", "accum_vgpr_count", "sgpr_count")
        rows = self._rows("rocpd_info_kernel_symbol", numbers, ("display_name", "kernel_name"))
        registers = [rows.get(one, NONE).tolist() for one in numbers[1:]]
        return {
            key: RocmKernel(display or (name or "").removesuffix(".kd"), *counts)
            for key, display, name, *counts in zip(
                rows["id"].tolist(),
                rows.texts["display_name"],
                rows.texts["kernel_name"],
                *registers,
                strict=True,
            )
        }

    def _copies(self) -> None:
        columns = (
            "start",
            "end",
            "size",
            "src_agent_id",
            "dst_agent_id",
            "event_id",
            "track_id",
            "queue_id",
            "stream_id",
        )
        rows = self._timed(self._rows("rocpd_memory_copy", columns))
        add_copies(
            self._recorded,
            {
                "start": rows["start"],
                "end": rows["end"],
                "source": rows.get("src_agent_id", NONE),
                "target": rows.get("dst_agent_id", NONE),
                "size": rows.get("size", NONE),
                "queue": self._place(rows, "queue_id"),
                "stream": self._place(rows, "stream_id"),
                "launch": self._launch_of(rows),
            },
            self._agents,
            self._index,
        )

    def _regions(self) -> None:
        """Calls and ranges; which a row is, its event's category says."""
        columns = ("start", "end", "name_id", "event_id", "track_id", "pid", "tid")
        rows = self._timed(self._rows("rocpd_region", columns))
        at, found = self._by_event.find(rows["event_id"])
        category = np.where(found, np.append(self._events.get("category_id", NONE), NONE)[at], NONE)
        markers = [key for key, name in self._categories(category).items() if _MARKERS in name]
        is_range = np.isin(category, markers)
        names = self._texts(rows["name_id"])
        used, inverse = coded(rows["name_id"])
        codes = self._recorded.texts.codes(names.get(one, f"call {one}") for one in used.tolist())
        name = codes[inverse] if len(codes) else inverse
        name = self._messages(markers, rows["event_id"], name)
        thread = self._place(rows, "tid")
        used, inverse = coded(thread)
        numbers = np.asarray([self._threads.get(one, one) for one in used.tolist()] or [0])
        thread = numbers[inverse] if len(thread) else thread
        launch = self._launch_of(rows)
        for wanted, marked in ((~is_range, False), (is_range, True)):
            columns_of = {
                "start": rows["start"][wanted],
                "end": rows["end"][wanted],
                "thread": thread[wanted],
                "launch": launch[wanted],
            }
            add_calls(
                self._recorded, name[wanted], columns_of, self._index, self._pid, is_range=marked
            )

    def _categories(self, used: I64) -> dict[int, str]:
        table = f"rocpd_info_category{self._suffix}"
        if self._database.has(table):
            return self._database.texts(table, "id", "name", used)
        return self._texts(used)

    def _texts(self, wanted: I64) -> dict[int, str]:
        return self._database.texts(f"rocpd_string{self._suffix}", "id", "string", wanted)

    def _messages(self, markers: list[int], event: I64, name: I64) -> I64:
        """What the program called its ranges, which newer writers keep beside the call's name."""
        if not markers:
            return name
        where = ("category_id", markers)
        said = self._rows("rocpd_event", ("id",), ("extdata",), where=where)
        of_event = {}
        for key, text in zip(said["id"].tolist(), said.texts["extdata"], strict=True):
            message = _extdata(text).get("message")
            if isinstance(message, str) and message:
                of_event[key] = self._recorded.texts.code(message)
        if not of_event:
            return name
        at, found = _Lookup(np.asarray(list(of_event), np.int64)).find(event)
        codes = np.append(np.asarray(list(of_event.values()), np.int64), NONE)
        return np.where(found, codes[at], name)

    def _counters(self, dispatches: Rows) -> None:
        """Hardware counters of dispatches, at the begin of each."""
        rows = self._rows("rocpd_pmc_event", ("event_id", "pmc_id"), ("value",))
        if not len(rows):
            return
        known = self._rows("rocpd_info_pmc", ("id", "agent_id"), ("name", "units"))
        values = rows.reals("value")
        at, found = _Lookup(dispatches["event_id"]).find(rows["event_id"])
        start = np.where(found, np.append(dispatches["start"], 0)[at], 0)
        for row, key in enumerate(known["id"].tolist()):
            mine = np.flatnonzero(found & (rows["pmc_id"] == key) & ~np.isnan(values))
            agent = self._agents.get(int(known.get("agent_id", NONE)[row]), Agent("GPU", 0))
            if len(mine) and agent.kind == "GPU":
                self._recorded.counters.append(
                    Counter(
                        agent.number,
                        known.texts["name"][row] or f"counter {key}",
                        start[mine],
                        values[mine],
                        known.texts["units"][row] or "",
                    )
                )

    def _timed(self, rows: Rows) -> Rows:
        """The rows that have a begin and an end; the others are counted."""
        kept = rows.has("start") & rows.has("end")
        if kept.all():
            return rows
        self._recorded.warnings.append(
            f"{int((~kept).sum()):,} rows have no time; they are left out."
        )
        return rows.kept(kept)


class _Lookup:
    """Rows by key."""

    def __init__(self, keys: I64) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, wanted: I64) -> tuple[I64, np.ndarray[Any, np.dtype[np.bool_]]]:
        """The row of each wanted key, and whether there is one (else any row)."""
        if not len(self._keys):
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return self._order[at], (self._keys[at] == wanted) & (wanted != NULL)


def _extdata(text: str | None) -> dict[str, Any]:
    """What is in a column of JSON; empty where it is none."""
    try:
        found = json_value(text) if text and len(text) > 2 else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
