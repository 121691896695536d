"""Dumps of the flight recorder and logs of the Inspector, as PyTorch and NCCL write them."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
Entry = dict[str, Any]


def entry(number: int, at_ms: float, state: str = "completed", **more: Any) -> Entry:
    """A call of the default group's n-th all-reduce, of 1024 floats."""
    return {
        "record_id": number, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
        "profiling_name": "nccl:all_reduce", "time_created_ns": START_NS + round(at_ms * MS),
        "time_discovered_started_ns": START_NS, "time_discovered_completed_ns": START_NS + 5 * MS,
        "input_sizes": [[512, 2]], "input_dtypes": ["Float"], "output_sizes": [[512, 2]],
        "output_dtypes": ["Float"], "state": state, "retired": state == "completed",
        "timeout_ms": 600_000, "is_p2p": False,
        "frames": [
            {"filename": "/usr/lib/python3/site-packages/torch/distributed/c10d.py", "line": 9,
             "name": "all_reduce"},
            {"filename": "/home/me/work/train.py", "line": 40 + number % 10, "name": "step"},
        ],
        **more,
    }  # fmt: skip


def dump(entries: Iterable[Entry], world: int = 2, **groups: list[int]) -> dict[str, Any]:
    """A rank's dump; further groups by name, with their ranks."""
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}}
    for name, ranks in groups.items():
        config[name] = {"name": name, "desc": name, "ranks": str(ranks)}
    return {
        "version": "2.10",
        "pg_config": config,
        "pg_status": {"0": {"last_enqueued_collective": 1}},
        "entries": list(entries),
    }


class _AsPyTorch(pickle._Pickler):  # the one in C cannot be told what to keep
    """Keeps texts and frames to refer to them again; nothing else is in two places."""

    def memoize(self, obj: object) -> None:
        if isinstance(obj, str) or (isinstance(obj, dict) and "filename" in obj):
            super().memoize(obj)  # type: ignore[misc]


def as_pytorch(value: dict[str, Any]) -> bytes:
    """A pickle as PyTorch's C++ writes it."""
    out = io.BytesIO()
    _AsPyTorch(out, 2).dump(value)
    return out.getvalue()


def write_dumps(folder: Path, *ranks: dict[str, Any], protocol: int = 2) -> Path:
    """The dumps of ranks 0, 1, …; protocol 0 is JSON."""
    for rank, one in enumerate(ranks):
        data = pickle.dumps(one, protocol) if protocol else json.dumps(one).encode()
        (folder / f"nccl_trace_rank_{rank}").write_bytes(data)
    return folder


def perf(
    number: int,
    size: int,
    length_us: int,
    *,
    collective: str = "AllReduce",
    rank: int = 0,
    ranks: int = 8,
    dumped_us: int = START_NS // 1000,
    factor: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """A collective of a communicator; NCCL moves ``factor`` times its message."""
    share = (ranks - 1) / ranks
    moved = size * factor / length_us / 1e3
    return {
        "header": {"id": "0x7f8c496ae9f661", "comm_name": "DP 0", "rank": rank, "n_ranks": ranks,
                   "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "",
                     "rec_mechanism": "profiler_plugin", "dump_timestamp_us": dumped_us,
                     "hostname": "gpu-node-7", "pid": 4711},
        "coll_perf": {
            "coll": collective, "coll_sn": number, "coll_msg_size_bytes": size,
            "coll_exec_time_us": length_us, "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": moved,
            "coll_busbw_gbs": moved * share * (2 if collective == "AllReduce" else 1),
            **more,
        },
    }  # fmt: skip


def log(path: Path, *records: dict[str, Any]) -> Path:
    """The records one after the other, as the Inspector writes them."""
    path.write_text("\n".join(map(json.dumps, records)))
    return path
