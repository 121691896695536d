"""``python -m fuzz.kineto --seconds 60``: mutated JSON traces must give columns or a ValueError.

Whatever is read must be sound: every number of a text, a chain or a place is one that exists, and
the planes made of it decode without damage. Each input is written to ``--scratch`` before it is
tried. See README.md here for the checked build.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from stepscope.formats.kineto.open_trace import warnings
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.event_rows import TEXT
from stepscope.formats.kineto.reading.read import read_pieces
from stepscope.formats.kineto.reading.scan import Scanned, scan
from stepscope.formats.kineto.steps import StepCount
from stepscope.formats.xspace import decode
from stepscope.kernels.core import compiled

# What the grammar of JSON turns on, and numbers at which something overflows.
_BITS: Final = (
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\0", b"\xff", b"\\u12", b"\\ud800",
    b"e9999", b"-", b"1e-7", b"18446744073709551616", b"9223372036854775808", b"0.0000001",
    b"null", b"inf", b"N/A", b'"ph"', b'{"ph": "X"', b'"args": {', b"]}", b'"ts": "', b"/*",
)  # fmt: skip
_EVENTS: Final = 12


def seed_trace() -> bytes:
    """A small trace with an event of every kind, laid out as Kineto does."""
    events: list[dict[str, Any]] = []
    for n in range(_EVENTS // 4):
        at, op = 100.5 * n, {"External id": n + 1, "Input Dims": [[2, 3], []], "finished": True}
        launch = {"correlation": n + 1, "cbid": 211}
        kernel = {"device": 0, "stream": 7, "correlation": n + 1, "grid": [1, 1, 1]}
        events += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": at,
             "dur": 50.123, "args": op},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
             "ts": at + 1, "dur": 2.0, "args": launch},
            {"ph": "X", "cat": "kernel", "name": "gemm<float>", "pid": 0, "tid": 7, "ts": at + 5,
             "dur": 20.001, "args": kernel},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9,
             "ts": at + 2, "args": {"Addr": 2**47, "Bytes": -64, "Device Type": 1}},
        ]  # fmt: skip
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": events}
    return json.dumps(trace, indent=2).encode()


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The text with one to six places changed."""
    out = bytearray(data)
    for _ in range(rng.randrange(1, 7)):
        at, what = rng.randrange(len(out) + 1), rng.randrange(5)
        if what == 0:
            out[at : at + 1] = bytes([rng.randrange(256)])
        elif what == 1:
            out[at:at] = rng.choice(_BITS)
        elif what == 2:
            del out[at : at + rng.randrange(1, 40)]
        elif what == 3:
            begin = rng.randrange(len(out) + 1)
            out[at:at] = out[begin : begin + rng.randrange(1, 300)]
        else:
            del out[at + rng.randrange(len(data)) :]
        if not out:
            break
    return bytes(out)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """The text in pieces of one size."""
    for at in range(0, len(data), size):
        yield data[at : at + size]


def check_sound(found: Scanned) -> None:
    """Raise AssertionError where columns contradict each other."""
    columns, texts = found.columns, len(found.texts)
    assert len({len(column) for column in columns.values()}) == 1
    counted = np.zeros(len(found), np.int64)
    for own in found.own.values():
        assert len(own.row) == len(own.number) == own.begin[-1]
        assert _within(own.key, texts) and (np.diff(own.key) > 0).all()
        np.add.at(counted, own.row, 1)
    assert (counted == columns["values"]).all()
    for name in ("category", "name", "pid", "tid"):
        assert _within(columns[name], texts), name
    assert _within(columns["chain"], len(found.before))
    assert _within(found.own[TEXT].number, texts)
    assert (found.before < np.arange(len(found.before))).all()
    assert _within(found.link_key, texts) and _within(found.link_text, texts)


def _within(numbers: np.ndarray[tuple[int, ...], np.dtype[Any]], size: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= -1 and numbers.max() < size)


def try_once(data: bytes, size: int) -> str:
    """Run everything on one input; the outcome in a word."""
    try:
        check_sound(scan(pieces(data, size)))
    except ValueError:
        return "refused"
    trace = read_pieces(pieces(data, size))
    said = list(warnings(trace))
    xspace, _ = to_xspace(trace, count=StepCount())
    if xspace:
        assert decode(xspace, threads=1).damage is None
    return "cut" if trace.damage.is_cut else "repaired" if said else "sound"


def main() -> int:
    """Fuzz for the given time or number of inputs; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.kineto", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--inputs", type=int, default=0, help="stop after so many (0: by time)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed tries the same inputs")
    parser.add_argument("--scratch", type=Path, default=Path("fuzz-input.json"))
    parser.add_argument("--replay", type=Path, help="try this one file and stop")
    given = parser.parse_args()
    faulthandler.enable()
    unraisable: list[str] = []
    sys.unraisablehook = lambda event: unraisable.append(repr(event.exc_value))
    if given.replay is not None:
        print(try_once(given.replay.read_bytes(), 1 << 20), *unraisable)
        return bool(unraisable)
    rng, seed = random.Random(given.seed), seed_trace()
    counts: dict[str, int] = {}
    end = time.monotonic() + given.seconds
    done = 0
    while (done < given.inputs) if given.inputs else (time.monotonic() < end):
        done += 1
        data = mutated(rng, seed)
        given.scratch.write_bytes(data)
        try:
            outcome = try_once(data, rng.choice((7, 64, 1 << 20)))
        except BaseException:
            print(f"failed on {given.scratch} (seed {given.seed})", file=sys.stderr)
            raise
        if unraisable:
            print(f"failed on {given.scratch} (seed {given.seed}): {unraisable}", file=sys.stderr)
            return 1
        counts[outcome] = counts.get(outcome, 0) + 1
    given.scratch.unlink(missing_ok=True)
    core = "compiled" if compiled() else "plain Python"
    print(f"{done} inputs, kernels {core}: {dict(sorted(counts.items()))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
