"""PyTorch's traces: the JSON scanner, and how its events become columns."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from fuzz.decode import check_sound
from fuzz.mutate import mutated
from fuzz.target import Target
from stepscope.errors import DecodeError
from stepscope.formats.kineto.open_trace import open_trace

_LARGEST_SEED = 200_000
_TOKENS = (
    b"1e999", b"-1e999", b"NaN", b"Infinity", b"null", b"true", b'"\\ud800"', b'"\\u0000"',
    b'"\xff"', b"9" * 40, b"-9223372036854775808", b"1.7976931348623157e308", b"[" * 200,
    b'{"a":' * 50, b'"', b"\\", b"}", b"]", b",", b":", b'"ph":"X"', b'"ts":', b'"dur":-1',
)  # fmt: skip


def _event(name: str, category: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 7, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip


def small_trace() -> bytes:
    """A trace with every kind of event, as PyTorch lays it out."""
    events: list[dict[str, Any]] = []
    memory = {"Total Allocated": 5, "Bytes": 5, "Device Type": 0, "Addr": 64}
    here = {"pid": 1, "tid": 7}
    for step in range(3):
        at = 1_000_000.5 + 1000 * step
        op = {"External id": step, "Input Dims": [[2]]}
        arrow = {"ph": "s", "id": step, "ts": at + 21, "cat": "ac2g", "name": "ac2g"}
        point = {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "ts": at}
        events += [
            _event(f"ProfilerStep#{step}", "user_annotation", at, 900),
            _event("aten::mm", "cpu_op", at + 10, 200, **op),
            _event("cudaLaunchKernel", "cuda_runtime", at + 20, 9, correlation=step),
            _event("sgemm", "kernel", at + 40, 90, correlation=step, stream=7, device=0),
            {**arrow, **here},
            {**point, **here, "args": memory},
        ]
    name = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}
    events.append(name)
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}]}
    return json.dumps({**head, "traceEvents": events}, indent=2).encode()


def _seeds(corpus: Path | None) -> list[bytes]:
    found = [small_trace(), json.dumps(json.loads(small_trace())).encode()]
    if corpus is not None:
        files = (path for path in sorted(corpus.rglob("*.json")) if path.is_file())
        found += [path.read_bytes() for path in files if path.stat().st_size <= _LARGEST_SEED]
    return found


def _mutate(rng: random.Random, seed: bytes) -> bytes:
    data = bytearray(seed if rng.random() < 0.5 else mutated(rng, seed))
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(data) + 1)
        data[at : at + rng.choice((0, 0, 1, 4, 16))] = rng.choice(_TOKENS)
    return bytes(data)


def _attempt(data: bytes) -> str:
    cut = len(data) // 3
    try:
        space = open_trace((data[:cut], data[cut:]))
    except DecodeError as error:
        return f"refused: {error.reason[:40]}"
    check_sound(space)
    for texts in (space.event_metadata.name, space.stat_metadata.name, space.warnings):
        "\n".join(texts).encode()
    return "damaged" if space.damage else "sound"


TARGET = Target("kineto", 0.2, _seeds, _mutate, _attempt)
