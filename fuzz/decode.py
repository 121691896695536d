"""``python -m fuzz.decode --seconds 60``: mutated profiles must give columns or a DecodeError.

Whatever is decoded must be sound (rows in range, offsets inside the file), must nest and pivot,
and must survive encoding. Each input is written to ``--scratch`` before it is tried, so that it
is still there after a crash of the interpreter. See README.md here for the checked build.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from pathlib import Path

import numpy as np

from fuzz.mutate import mutated, seeds
from stepscope.columns import Space, nest, read_bytes, stats_by_name
from stepscope.columns.space import KIND_BYTES, KIND_REF, KIND_STR, Stats
from stepscope.errors import DecodeError
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.kernels.core import compiled


def check_sound(space: Space) -> None:
    """Raise AssertionError where columns contradict each other."""
    events = space.events
    ends = [line.end for line in space.lines]
    assert [line.begin for line in space.lines] == [0, *ends][: len(ends)]
    assert (ends[-1] if ends else 0) == len(events)
    for offsets, stats in (
        (events.stat_begin, space.event_stats),
        (space.event_metadata.stat_begin, space.metadata_stats),
    ):
        assert offsets[0] == 0 and offsets[-1] == len(stats) and (np.diff(offsets) >= 0).all()
    assert _within(events.metadata, len(space.event_metadata))
    for stats in (space.event_stats, space.metadata_stats, space.plane_stats):
        _check_stats(space, stats)


def _within(rows: np.ndarray[tuple[int, ...], np.dtype[np.integer]], size: int) -> bool:
    return not len(rows) or bool(rows.min() >= 0 and rows.max() < size)


def _check_stats(space: Space, stats: Stats) -> None:
    assert _within(stats.key, len(space.stat_metadata))
    assert _within(stats.value[stats.kind == KIND_REF], len(space.stat_metadata))
    for value in stats.value[np.isin(stats.kind, (KIND_STR, KIND_BYTES))].tolist():
        assert value < len(space.buffer)
        read_bytes(space, value)


def try_once(data: bytes) -> str:
    """Run everything on one input; the outcome in a word."""
    try:
        space = decode(data, threads=1)
    except DecodeError as error:
        assert 0 <= error.offset_bytes <= len(data)
        return "refused"
    check_sound(space)
    nesting = nest(space.events.start_ps, space.events.duration_ps, space.line_begin)
    assert (nesting.self_ps >= 0).all()
    for column in stats_by_name(space, set(space.stat_metadata.name)).values():
        assert len(column.texts) == len(column.ints) == len(column.floats)
    written = encode(space)
    if not space.planes:
        return "damaged" if space.damage else "sound"
    again = decode(written, threads=1)
    assert again.damage is None, str(again.damage)
    assert len(again.events) == len(space.events)
    assert (again.events.start_ps == space.events.start_ps).all()
    return "damaged" if space.damage else "sound"


def main() -> int:
    """Fuzz for the given time; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.decode", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="the same seed tries the same inputs")
    parser.add_argument("--corpus", type=Path, help="folder of .pb files to mutate as well")
    parser.add_argument("--scratch", type=Path, default=Path("fuzz-input.pb"))
    parser.add_argument("--replay", type=Path, help="try this one file and stop")
    given = parser.parse_args()
    faulthandler.enable()
    unraisable: list[str] = []
    # A bound that the checked build finds violated deep in a kernel cannot travel as an exception.
    sys.unraisablehook = lambda event: unraisable.append(repr(event.exc_value))
    if given.replay is not None:
        print(try_once(given.replay.read_bytes()), *unraisable)
        return bool(unraisable)
    rng, found = random.Random(given.seed), seeds(given.corpus)
    counts: dict[str, int] = {}
    end = time.monotonic() + given.seconds
    while time.monotonic() < end:
        # Mostly the small seed: it is through in a fraction of a millisecond.
        data = mutated(rng, found[0] if rng.random() < 0.8 else rng.choice(found))
        given.scratch.write_bytes(data)
        try:
            outcome = try_once(data)
        except BaseException:
            print(f"failed on {given.scratch} (seed {given.seed})", file=sys.stderr)
            raise
        if unraisable:
            print(f"failed on {given.scratch} (seed {given.seed}): {unraisable}", file=sys.stderr)
            return 1
        counts[outcome] = counts.get(outcome, 0) + 1
    given.scratch.unlink(missing_ok=True)
    core = "compiled" if compiled() else "plain Python"
    print(f"{sum(counts.values())} inputs, kernels {core}: {dict(sorted(counts.items()))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
