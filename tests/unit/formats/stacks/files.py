"""The same short run, as each sampler writes it.

Three samples of ``main`` and ``step``, then one of ``main`` and ``load``, 10 ms each.
"""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

from stepscope.wire import write as wire

HOME = "/home/me/work"
START_MS = 1_700_000_000_000.0


def speedscope() -> dict[str, Any]:
    """As py-spy writes it."""
    frames = [
        {"name": "main", "file": f"{HOME}/train.py", "line": 3},
        {"name": "step", "file": f"{HOME}/train.py", "line": 12},
        {"name": "load", "file": f"{HOME}/data.py", "line": 7},
    ]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "profiles": [
            {
                "type": "sampled",
                "name": 'Thread 34 "MainThread"',
                "unit": "seconds",
                "startValue": 0.0,
                "endValue": 0.04,
                "samples": [[0, 1], [0, 1], [0, 1], [0, 2]],
                "weights": [0.01] * 4,
            },
        ],
        "shared": {"frames": frames},
    }


def evented() -> dict[str, Any]:
    """Two calls of ``step`` one right after the other, and what they call."""
    opened = [
        ("O", 0, 0),
        ("O", 0, 1),
        ("C", 5, 1),
        ("O", 5, 1),
        ("O", 6, 2),
        ("C", 8, 2),
        ("C", 9, 1),
        ("C", 10, 0),
    ]
    return {
        **speedscope(),
        "profiles": [
            {
                "type": "evented",
                "name": "main",
                "unit": "microseconds",
                "startValue": 0,
                "endValue": 10,
                "events": [{"type": kind, "at": at, "frame": frame} for kind, at, frame in opened],
            },
        ],
    }


COLLAPSED = (
    f"main ({HOME}/train.py:3);step ({HOME}/train.py:12) 3\n"
    f"main ({HOME}/train.py:3);load ({HOME}/data.py:7) 1\n"
)
#: As Python's own sampler writes them.
PLACED = f"tid:34;{HOME}/train.py:main:3;{HOME}/train.py:step:12 3\n"
PERF = """\
python 4711/4712 [003]   100.000000:   10000 cycles:
\t    7f0000000000 py::step:/home/me/work/train.py+0x9 (/tmp/perf-4711.map)
\t    7f0000000001 py::main:/home/me/work/train.py+0x9 (/tmp/perf-4711.map)

python 4711/4712 [003]   100.010000:   10000 cycles:
\t    7f0000000000 py::step:/home/me/work/train.py+0x9 (/tmp/perf-4711.map)
\t    7f0000000001 py::main:/home/me/work/train.py+0x9 (/tmp/perf-4711.map)

python 4711/4712 [003]   100.020000:   10000 cycles:
\t    7f1200000000 sgemm_kernel+0x40 (/usr/lib/libblas.so.3)
\t    7f0000000001 py::main:/home/me/work/train.py+0x9 (/tmp/perf-4711.map)
"""


def gecko(*, rows: bool = False) -> dict[str, Any]:
    """As samply writes it; with ``rows`` as Firefox does."""
    words = ["main", "step", "load", f"{HOME}/train.py", f"{HOME}/data.py"]
    times = [0.0, 10.0, 20.0, 30.0]
    if rows:
        texts = [
            f"main ({HOME}/train.py:3)",
            f"step ({HOME}/train.py:12)",
            f"load ({HOME}/data.py:7)",
        ]
        thread: dict[str, Any] = {
            "stringTable": texts,
            "frameTable": {"schema": {"location": 0}, "data": [[0], [1], [2]]},
            "stackTable": {
                "schema": {"prefix": 0, "frame": 1},
                "data": [[None, 0], [0, 1], [0, 2]],
            },
            "samples": {
                "schema": {"stack": 0, "time": 1},
                "data": [[1, times[0]], [1, times[1]], [1, times[2]], [2, times[3]]],
            },
        }
    else:
        thread = {
            "stringArray": words,
            "funcTable": {"name": [0, 1, 2], "fileName": [3, 3, 4]},
            "frameTable": {"func": [0, 1, 2], "line": [3, 12, 7]},
            "stackTable": {"prefix": [None, 0, 0], "frame": [0, 1, 2]},
            "samples": {"stack": [1, 1, 1, 2], "time": times, "length": 4},
        }
    return {
        "meta": {"interval": 10.0, "startTime": START_MS, "product": "python"},
        "threads": [{"name": "MainThread", "tid": 34, "pid": 1, **thread}],
    }


def pprof() -> bytes:
    """A profile with counts and nanoseconds, gzipped, as ``go tool pprof`` takes it."""
    words = [
        "",
        "samples",
        "count",
        "cpu",
        "nanoseconds",
        "main",
        "step",
        "load",
        f"{HOME}/train.py",
        f"{HOME}/data.py",
    ]
    parts = [_pair(1, 1, 2), _pair(1, 3, 4)]
    for number, (name, path, line) in enumerate(((5, 8, 3), (6, 8, 12), (7, 9, 7)), 1):
        function = wire.number(1, number) + wire.number(2, name) + wire.number(4, path)
        of_line = wire.blob(4, wire.number(1, number) + wire.number(2, line))
        parts += [wire.blob(5, function), wire.blob(4, wire.number(1, number) + of_line)]
    for leaf, count in ((2, 3), (3, 1)):
        values = wire.varint(count) + wire.varint(count * 10_000_000)
        parts.append(wire.blob(2, wire.blob(1, bytes([leaf, 1])) + wire.blob(2, values)))
    parts += [wire.blob(6, word.encode(), always=True) for word in words]
    return gzip.compress(b"".join(parts))


def tachyon(
    order: str = "<", *, path: str = f"{HOME}/train.py", compression: int = 0, times: int = 1
) -> bytes:
    """As Python's own sampler writes it: a whole stack, two more samples of it, another leaf.

    Those again, as many times as asked for.
    """
    texts = [path, "main", "step", f"{HOME}/data.py", "load"]
    # Path, name, line, three of no interest, and no opcode.
    frames = [(0, 1, 3), (0, 2, 12), (3, 4, 7)]
    thread = struct.pack(f"{order}QI", 34, 0)
    step = wire.varint(10_000)
    samples = (
        thread + b"\x01" + wire.varint(0) + b"\x03" + bytes([2, 1, 0])
        + thread + b"\x00" + bytes([2]) + (step + b"\x03") * 2
        + thread + b"\x03" + step + b"\x01" + bytes([1, 1, 2])
    ) * times  # fmt: skip
    words = b"".join(wire.varint(len(one.encode())) + one.encode() for one in texts)
    table = b"".join(bytes([file, name, 2 * line, 0, 1, 0, 255]) for file, name, line in frames)
    texts_at = 64 + len(samples)
    header = struct.pack(
        f"{order}4sI4BQQQIQQII", {"<": b"HCAT", ">": b"TACH"}[order], 2, 3, 15, 1, 0, 5_000_000,
        10_000, 4, 1, texts_at, texts_at + len(words), compression, 1,
    )  # fmt: skip
    size = texts_at + len(words) + len(table) + 32
    footer = struct.pack(f"{order}IIQ16x", len(texts), len(frames), size)
    return header + samples + words + table + footer


def _pair(field: int, first: int, second: int) -> bytes:
    return wire.blob(field, wire.number(1, first) + wire.number(2, second))


def write_all(folder: Path) -> dict[str, Path]:
    """A file of each kind."""
    texts = {
        "speedscope": ("a.speedscope.json", json.dumps(speedscope())),
        "collapsed": ("a.collapsed", COLLAPSED),
        "gecko": ("a.gecko.json", json.dumps(gecko())),
        "perf-script": ("a.perf", PERF),
    }
    found = {kind: folder / name for kind, (name, _) in texts.items()}
    for kind, (_, text) in texts.items():
        found[kind].write_text(text)
    found["pprof"] = folder / "a.pb.gz"
    found["pprof"].write_bytes(pprof())
    found["tachyon"] = folder / "a.bin"
    found["tachyon"].write_bytes(tachyon())
    return found
