"""Traces as Kineto lays them out, from events said in microseconds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.steps import StepCount
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import parse

BASE_NS = 1_700_000_000_000_000_000
PID = 100


def x(
    category: str, name: str, ts: float, dur: float, pid: Any = PID, tid: Any = PID, **args: Any
) -> dict[str, Any]:
    """A slice."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {key.replace("_", " "): value for key, value in args.items()},
    }


def allocation(ts: float, size: int, total: int, addr: int = 64, **args: Any) -> dict[str, Any]:
    """An allocation (negative size: it is given back)."""
    said = {
        "Total Reserved": 0,
        "Total Allocated": total,
        "Bytes": size,
        "Device Id": -1,
        "Device Type": 0,
        "Addr": addr,
    }
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": PID,
        "tid": PID,
        "ts": ts,
        "args": said | {k.replace("_", " "): v for k, v in args.items()},
    }


def arrow(phase: str, number: int, ts: float, tid: int = PID) -> dict[str, Any]:
    """One end of a forward-backward arrow."""
    return {
        "ph": phase,
        "id": number,
        "pid": PID,
        "tid": tid,
        "ts": ts,
        "cat": "fwdbwd",
        "name": "fwdbwd",
    }


def text(events: list[dict[str, Any]], head: Mapping[str, Any] | None = None) -> str:
    """The file's text: one event after the other, cut as Kineto cuts them."""
    said = {"schemaVersion": 1, "deviceProperties": [], "baseTimeNanoseconds": BASE_NS}
    words = json.dumps(said | dict(head or {}))[1:-1]
    bodies = []
    for one in events:
        body = json.dumps({key: value for key, value in one.items() if key != "args"})[1:-1]
        if "args" in one:
            body += ',\n    "args": {\n      ' + json.dumps(one["args"])[1:-1] + "\n    }"
        bodies.append("  {\n    " + body + "\n  }")
    return (
        "{\n  "
        + words
        + ',\n  "traceEvents": [\n'
        + ",\n".join(bodies)
        + ('\n  ],"traceName": "/tmp/trace.json" }')
    )


def trace(folder: Path, events: list[dict[str, Any]], **head: Any) -> Trace:
    """The events, written and read."""
    path = folder / "trace.json"
    path.write_text(text(events, head), "utf-8")
    return read(path)


def xspace(folder: Path, events: list[dict[str, Any]], **head: Any) -> bytes:
    """The events as an XSpace."""
    return to_xspace(trace(folder, events, **head), count=StepCount())[0]


def profile(folder: Path, events: list[dict[str, Any]], **head: Any) -> Profile:
    """The events as a profile of one host."""
    return Profile("torch", (Host("h", decode(xspace(folder, events, **head))),))


def lines(data: bytes) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """By plane and line: each event's name, begin and length in µs, and its stats."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for plane in parse(data).planes:
        stat_names = {key: one.name for key, one in plane.stat_metadata.items()}
        for line in plane.lines:
            found[plane.name, line.name] = [
                {
                    "name": plane.event_metadata[event.metadata_id].name,
                    "begin": (line.timestamp_ns - BASE_NS) / 1e3 + event.offset_ps / 1e6,
                    "length": event.duration_ps / 1e6,
                    **{stat_names[s.metadata_id]: _value(s, stat_names) for s in event.stats},
                }
                for event in line.events
            ]
    return found


def _value(stat: Any, names: Mapping[int, str]) -> Any:
    kind = stat.WhichOneof("value")
    return names[stat.ref_value] if kind == "ref_value" else getattr(stat, kind)
