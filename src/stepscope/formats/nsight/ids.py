"""Whose event a row is: processes, threads, devices and streams from Nsight's numbers.

A global id holds the thread in its bits 0–23, the process in 24–47, the machine above. Numbers of
launches and devices are unique in their process alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import coded
from stepscope.formats.launched.recorded import (
    I64,
    NONE,
    HostThread,
    LaunchedRecording,
    Stream,
    by_row,
)
from stepscope.formats.nsight.names import NsightNames
from stepscope.formats.packed import NULL
from stepscope.formats.trace_tables import Rows, TraceTables

_THREAD_BITS: Final = 24
_MASK: Final = (1 << _THREAD_BITS) - 1


class Ids:
    """The processes, threads, devices and streams of an export, numbered as they are met."""

    def __init__(
        self, database: TraceTables, recorded: LaunchedRecording, names: NsightNames
    ) -> None:
        self._recorded = recorded
        self._processes: dict[int, int] = {}
        self._threads: dict[int, int] = {}
        self._streams: dict[tuple[int, int, int], int] = {}
        self._thread_names = _thread_names(database, names)
        self._process_names = _process_names(database)
        self._gpus = _gpus(database)
        # Exports without processes on device rows join launches by their number alone.
        self._knows_processes = any(
            database.has(f"CUPTI_ACTIVITY_KIND_{kind}", "globalPid")
            for kind in ("KERNEL", "MEMCPY", "MEMSET")
        )

    def processes(self, global_id: I64) -> I64:
        """Index of the process of each global id; all are one process where devices know none."""
        if not self._knows_processes:
            return np.zeros(len(global_id), np.int64)
        pids = np.where(global_id == NULL, NULL, global_id >> _THREAD_BITS)
        used, inverse = coded(pids)
        found = [self._processes.setdefault(pid, len(self._processes)) for pid in used.tolist()]
        return np.asarray(found, np.int64)[inverse] if found else inverse

    def threads(self, global_id: I64) -> I64:
        """Row of the thread of each global id; all that have none are one thread."""
        used, inverse = coded(global_id)
        found = [self._thread(one) for one in used.tolist()]
        return np.asarray(found, np.int64)[inverse] if found else inverse

    def _thread(self, global_id: int) -> int:
        known = self._threads.get(global_id)
        if known is None:
            pid, tid = (global_id >> _THREAD_BITS) & _MASK, global_id & _MASK
            name = self._thread_names.get(global_id, "")
            if global_id == NULL:
                pid, tid, name = 0, 0, "thread not recorded"
            if not name and pid == tid:
                name = self._process_names.get(pid, "")
            known = self._threads[global_id] = len(self._recorded.threads)
            self._recorded.threads.append(HostThread(pid, tid, name))
        return known

    def streams(self, rows: Rows, process: I64) -> I64:
        """Row of the stream of each device row.

        Args:
            rows: With ``deviceId``, ``streamId`` and ``globalPid``.
            process: Index of the process of each.
        """
        pid = rows.get("globalPid", NONE) >> _THREAD_BITS & _MASK
        keys = (rows.get("deviceId", 0), rows.get("streamId", 0), process, pid)
        return by_row(keys, lambda one: self._stream(*one))

    def _stream(self, device: int, stream: int, process: int, pid: int) -> int:
        device = self._gpus.get((pid, device), device)
        # Waits of a whole context name no stream: -1 and its unsigned twin.
        stream = stream if 0 <= stream < 1 << 31 else 0
        key = (max(device, 0), stream, process)
        known = self._streams.get(key)
        if known is None:
            known = self._streams[key] = len(self._recorded.streams)
            self._recorded.streams.append(Stream(*key))
        return known


def _thread_names(database: TraceTables, names: NsightNames) -> dict[int, str]:
    rows = database.rows("ThreadNames", ("globalTid", "nameId"))
    texts = names.texts(rows["nameId"])
    pairs = zip(rows["globalTid"].tolist(), rows["nameId"].tolist(), strict=True)
    return {thread: texts[name] for thread, name in pairs if name in texts}


def _process_names(database: TraceTables) -> dict[int, str]:
    """Names of programs by process; paths to them are left out."""
    rows = database.rows("PROCESSES", ("pid",), ("name",))
    pairs = zip(rows["pid"].tolist(), rows.texts["name"], strict=True)
    return {pid: name.replace("\\", "/").rpartition("/")[2] for pid, name in pairs if name}


def _gpus(database: TraceTables) -> dict[tuple[int, int], int]:
    """The GPU of the machine behind each (process, device number), where CUDA was shown a part."""
    rows = database.rows("TARGET_INFO_CUDA_DEVICE", ("pid", "cudaId", "gpuId"))
    known = rows.has("pid") & rows.has("cudaId") & rows.has("gpuId")
    columns = (rows[name][known].tolist() for name in ("pid", "cudaId", "gpuId"))
    return {(pid, device): gpu for pid, device, gpu in zip(*columns, strict=True)}
