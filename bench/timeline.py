"""Tiles of random views: time, bytes and memory, on a recording repeated in time.

python -m bench.timeline RECORDING [--times N] [--views 200]
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

import stepscope
from bench.repeat import repeat_in_time
from stepscope.columns import decode
from stepscope.surfaces.http.tile_format import pack
from stepscope.tables.profile import Host, Profile
from stepscope.tables.timeline import Wanted, tile, timeline

WIDTH_PX = 1440
SEED = 20_261_121
DEEPEST = 7  # views down to 10^-7 of the trace


def main() -> int:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(prog="bench.timeline", description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--times", type=int, default=1, help="repeat it so many times in time")
    parser.add_argument("--views", type=int, default=200)
    arguments = parser.parse_args()
    profile = opened(arguments.recording, arguments.times)
    print(json.dumps(measured(profile, arguments.views)))
    return 0


def opened(recording: Path, times: int) -> Profile:
    """The decoded recording, repeated."""
    if times == 1:
        return stepscope.open(recording).profile
    data = repeat_in_time(recording.read_bytes(), times)
    return Profile(recording.name, (Host("h", decode(data)),))


def measured(profile: Profile, views: int) -> dict[str, float]:
    """Milliseconds to lay out, to the first screen and per tile; bytes per screen; memory."""
    began = time.perf_counter()
    line = timeline(profile)
    line.build_all()
    laid_out = time.perf_counter()
    begin, end = line.span()
    wanted = [Wanted(track.id) for track in line.tracks]
    pack(tile(line, wanted, begin, end + 1, WIDTH_PX))
    first = time.perf_counter()
    random = np.random.default_rng(SEED)
    times, sizes = [], []
    for _ in range(views):
        length = int((end - begin) * 10 ** -random.uniform(0, DEEPEST)) + 1
        left = begin + int(random.uniform() * (end - begin - length))
        start = time.perf_counter()
        sizes.append(len(pack(tile(line, wanted, left, left + length, WIDTH_PX))))
        times.append(1e3 * (time.perf_counter() - start))
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "events": line.events,
        "tracks": len(line.tracks),
        "lay_out_ms": 1e3 * (laid_out - began),
        "first_screen_ms": 1e3 * (first - laid_out),
        "tile_p50_ms": float(np.percentile(times, 50)),
        "tile_p95_ms": float(np.percentile(times, 95)),
        "tile_max_ms": max(times),
        "bytes_p95": float(np.percentile(sizes, 95)),
        "bytes_max": max(sizes),
        "peak_mb": kilobytes * (1 if sys.platform == "darwin" else 1024) / 1e6,
    }


if __name__ == "__main__":
    sys.exit(main())
