"""Memory snapshots as PyTorch writes them, from a list of what the allocator did."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

MB = 1 << 20
START_US = 1_700_000_000_000_000
Event = dict[str, Any]


def frames(*lines: str) -> list[dict[str, Any]]:
    """A stack, innermost first: ``train.py:12 step`` is line 12 of /home/me/work/train.py."""
    found = []
    for line in lines:
        place, _, name = line.partition(" ")
        file, _, number = place.rpartition(":")
        folder = "/usr/lib/python3/site-packages" if file.startswith("torch/") else "/home/me/work"
        found.append({"filename": f"{folder}/{file}", "line": int(number), "name": name})
    return found


def event(action: str, address: int, size: int, time_us: int, *stack: str, **more: Any) -> Event:
    """One event of the allocator's."""
    return {
        "action": action,
        "addr": address,
        "size": size,
        "stream": 0,
        "time_us": START_US + time_us,
        "frames": frames(*stack),
        **more,
    }


def block(address: int, size: int, state: str, *stack: str) -> dict[str, Any]:
    """A block of a segment at the snapshot."""
    return {
        "address": address,
        "size": size,
        "requested_size": size,
        "state": state,
        "frames": frames(*stack),
    }


def segment(address: int, size: int, *blocks: dict[str, Any], device: int = 0) -> dict[str, Any]:
    """A segment at the snapshot."""
    used = sum(one["size"] for one in blocks if one["state"].startswith("active"))
    return {
        "device": device,
        "address": address,
        "total_size": size,
        "allocated_size": used,
        "active_size": used,
        "stream": 0,
        "segment_type": "large",
        "blocks": list(blocks),
    }


def training() -> dict[str, Any]:
    """A step: weights from before, an activation that is freed, a gradient that stays, an OOM."""
    step, model = "train.py:12 step", "model.py:40 forward"
    return {
        "segments": [
            segment(
                0,
                40 * MB,
                block(0, 8 * MB, "active_allocated", "train.py:3 main"),
                block(8 * MB, 16 * MB, "inactive"),
                block(24 * MB, 4 * MB, "active_allocated", step),
                block(28 * MB, 12 * MB, "inactive"),
            ),
        ],
        "device_traces": [
            [
                event("free_completed", 100 * MB, 2 * MB, 0),
                event("segment_free", 100 * MB, 20 * MB, 1),
                event("alloc", 8 * MB, 16 * MB, 10, "torch/nn/linear.py:9 forward", model, step),
                event("alloc", 24 * MB, 4 * MB, 20, step, category="gradient"),
                event("free_requested", 8 * MB, 16 * MB, 30),
                event("free_completed", 8 * MB, 16 * MB, 31),
                event("oom", 0, 900 * MB, 40, step, device_free=5 * MB),
                event("snapshot", 0, 0, 50),
            ]
        ],
        "allocator_settings": {"expandable_segments": False},
    }


def written(path: Path, value: Any, protocol: int = 4) -> Path:
    """The value as a pickle."""
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path
