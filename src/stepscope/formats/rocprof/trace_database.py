"""The databases of rocprof 1 and 2 (``results.db``): a table for each layer, times in ns.

A call and what it launched have one process and one ``Index``; HIP and HSA count apart. Kernels are
in ``OPS``, or in ``KERN`` where no calls of HIP were recorded. Schema: ROCm/rocprofiler,
``bin/tblextr.py``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import coded
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.database import TraceDatabase, opened
from stepscope.formats.format import Input
from stepscope.formats.launched import Counter, LaunchedRecording, to_space
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
from stepscope.formats.trace_tables import Bool, shortcomings
from stepscope.records import dataclass

TITLE: Final = "a database of rocprof 1 or 2"
_TIMES: Final = ("BeginNs", "EndNs", "pid")
_BARRIER: Final = "<barrier packet>"
_LAST_NS: Final = 1 << 62
_GPUS: Final = 1 << 16
#: Columns of ``KERN`` beside those of counters.
_PROPERTIES: Final = frozenset({
    *_TIMES, "Index", "KernelName", "gpu-id", "queue-id", "queue-index", "tid", "grd", "wgr", "lds",
    "scr", "vgpr", "arch_vgpr", "accum_vgpr", "sgpr", "wave_size", "fbar", "sig", "obj",
    "DispatchNs", "CompleteNs", "DurationNs",
})  # fmt: skip


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
        _Reader(database, recorded).read()
        recorded.warnings.extend(shortcomings(database, "database"))
    if not recorded.count and database.damage:
        raise FormatError(TITLE, f"SQLite says: {database.damage}", file=file)
    recorded.origin = f"Imported from a database of rocprof 1 or 2. {LACKS}"
    return to_space(recorded, file=file)


@dataclass(frozen=True, slots=True, eq=False)
class _Timed:
    """Rows with times: columns of numbers (-1 unknown), and a name for each."""

    columns: dict[str, I64]
    name: I64
    names: list[str]
    known: frozenset[str]

    def kept(self, wanted: Bool) -> _Timed:
        """Some of the rows."""
        columns = {key: values[wanted] for key, values in self.columns.items()}
        return _Timed(columns, self.name[wanted], self.names, self.known)


class _Reader:
    """Reads the tables of a database."""

    def __init__(self, database: TraceDatabase, recorded: LaunchedRecording) -> None:
        self._database = database
        self._recorded = recorded
        self._processes: dict[int, int] = {}

    def read(self) -> None:
        """All layers."""
        for table, domain in (("HIP", 0), ("HSA", 1)):
            self._calls(table, domain)
        self._calls("rocTX", 0, is_range=True)
        if not self._kernels("OPS", "Name", "dev-id") and self._kernels(
            "KERN", "KernelName", "gpu-id"
        ):
            self._counters()
        copies = self._timed("COPY", "dev-id", "queue-id", "stream-id", "Index")
        # HSA's own copies name no device.
        domain = 0 if "dev-id" in copies.known else 1
        names = [copies.names[code] for code in copies.name.tolist()]
        process = self._processes_of(copies, domain)
        add_named_copies(self._recorded, names, _work(copies, "dev-id"), process)

    def _timed(self, table: str, *numbers: str, name: str = "Name") -> _Timed:
        """The rows of a table that have times; the others are counted."""
        rows = self._database.rows(table, (*_TIMES, *numbers), (name,))
        start, end = rows["BeginNs"], rows["EndNs"]
        wanted = (start > 0) & (start <= end) & (end < _LAST_NS)
        if not wanted.all():
            self._recorded.warnings.append(
                f"{int((~wanted).sum()):,} rows of {table} have no time; they are left out."
            )
        texts = rows.texts[name]
        # Some names are quoted in the file, too.
        names = [(one or "").strip('"').removesuffix(".kd") for one in texts.distinct]
        columns = {one: rows.get(one, NONE) for one in (*_TIMES, *numbers)}
        code = np.asarray(texts.codes, np.int64)
        return _Timed(columns, code, names, rows.known).kept(wanted)

    def _processes_of(self, rows: _Timed, domain: int) -> I64:
        """By which number the launches of each row's process are known in a domain."""
        used, inverse = coded(rows.columns["pid"])
        known = self._processes
        index = [2 * known.setdefault(pid, len(known)) + domain for pid in used.tolist()]
        return np.asarray(index, np.int64)[inverse] if index else inverse

    def _calls(self, table: str, domain: int, *, is_range: bool = False) -> None:
        rows = self._timed(table, "tid", "Index")
        name = np.append(self._recorded.texts.codes(rows.names), NONE)[rows.name]
        columns = {
            "start": rows.columns["BeginNs"],
            "end": rows.columns["EndNs"],
            "thread": rows.columns["tid"],
            "launch": rows.columns["Index"],
        }
        pid = np.maximum(rows.columns["pid"], 0)
        process = self._processes_of(rows, domain)
        add_calls(self._recorded, name, columns, process, pid, is_range=is_range)

    def _kernels(self, table: str, name: str, device: str) -> int:
        """How many kernels a table has, which are added."""
        sizes = ("scr", "lds", "vgpr", "arch_vgpr", "accum_vgpr", "sgpr")
        rows = self._timed(table, device, "queue-id", "stream-id", "Index", *sizes, name=name)
        is_barrier = np.asarray([one == _BARRIER for one in rows.names] or [False])[rows.name]
        if is_barrier.any():
            self._recorded.warnings.append(
                f"{int(is_barrier.sum()):,} barriers between kernels are not shown."
            )
            rows = rows.kept(~is_barrier)
        work = _work(rows, device)
        kernel, kernels = _kernels_of(rows)
        # Grids and groups have their sizes here, not their shapes.
        none = np.full(len(kernel), NONE, np.int64)
        columns = {
            **work,
            **dict.fromkeys(DIMS, none),
            "kernel": kernel,
            "dispatch_id": none,
            "private": rows.columns["scr"],
            "group": rows.columns["lds"],
        }
        if table == "KERN":
            # Here ``Index`` counts dispatches, which no call names.
            columns |= {"launch": none, "dispatch_id": rows.columns["Index"]}
        agents = {one: Agent("GPU", one) for one in np.unique(work["agent"]).tolist()}
        add_dispatches(self._recorded, columns, agents, kernels, self._processes_of(rows, 0))
        return len(kernel)

    def _counters(self) -> None:
        """Hardware counters of dispatches, at the begin of each."""
        titles = [one for one in self._database.tables["KERN"] if one not in _PROPERTIES]
        if not titles:
            return
        rows = self._database.rows("KERN", ("BeginNs", "gpu-id"), titles)
        if not len(rows):  # another table was broken, which ended the reading
            return
        start, device = rows["BeginNs"], _devices(rows.get("gpu-id", 0))
        known = (start > 0) & (start < _LAST_NS)
        order = np.argsort(device, kind="stable")
        used, begins = np.unique(device[order], return_index=True)
        of_device = dict(zip(used.tolist(), np.split(order, begins[1:]), strict=True))
        for title in titles:
            values = rows.reals(title)
            has = known & ~np.isnan(values)
            for number, mine in of_device.items():
                some = mine[has[mine]]
                if len(some):
                    counter = Counter(number, title, start[some], values[some])
                    self._recorded.counters.append(counter)


def _work(rows: _Timed, device: str) -> dict[str, I64]:
    """What kernels and copies have in common."""
    columns = rows.columns
    return {
        "start": columns["BeginNs"],
        "end": columns["EndNs"],
        "agent": _devices(columns[device]),
        "queue": columns["queue-id"],
        "stream": columns["stream-id"],
        "launch": columns["Index"],
    }


def _devices(number: I64) -> I64:
    """Numbers of GPUs; 0 for what can be none."""
    return np.where((number >= 0) & (number < _GPUS), number, 0)


def _kernels_of(rows: _Timed) -> tuple[I64, dict[int, RocmKernel]]:
    """The number of each row's kernel, and the kernels: one is a name with its registers."""
    columns = rows.columns
    vector = np.where(columns["arch_vgpr"] >= 0, columns["arch_vgpr"], columns["vgpr"])
    parts = (rows.name, vector, columns["accum_vgpr"], columns["sgpr"])
    used, inverse = np.unique(np.stack(parts), axis=1, return_inverse=True)
    kernels = {
        at: RocmKernel(rows.names[name], *registers)
        for at, (name, *registers) in enumerate(used.T.tolist())
    }
    return inverse.ravel().astype(np.int64), kernels
