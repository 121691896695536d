"""Traces that viewers derived are read to the picosecond: what the text says, and no more."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

import stepscope
from stepscope.columns.space import Space
from stepscope.formats import FORMATS
from stepscope.store import read_pieces
from stepscope.surfaces.export.chrome_json import chrome_trace
from stepscope.timeline import timeline

DATA = Path(__file__).parents[3] / "shared" / "data"
TPU = DATA / "kineto" / "other" / "tpu-xla-trace-viewer.trace.json.gz"
Key = tuple[str, str, int, int]


def opened(path: Path) -> Space:
    return FORMATS["kineto"].open(read_pieces(str(path)), str(path))


def shown(space: Space, entry: int) -> str:
    return space.event_metadata.display_name[entry] or space.event_metadata.name[entry]


def events(space: Space) -> Counter[Key]:
    """How often each (plane, name, start, duration) is there; times in ps."""
    first = int(space.events.start_ps.min())
    return Counter(
        (
            space.planes[line.plane].name,
            shown(space, int(space.events.metadata[row])),
            int(space.events.start_ps[row]) - first,
            int(space.events.duration_ps[row]),
        )
        for line in space.lines
        for row in range(line.begin, line.end)
    )


@pytest.mark.skipif(not TPU.is_file(), reason="../shared/data/kineto is not here")
def test_a_trace_of_xlas_has_every_event_to_the_picosecond() -> None:
    with gzip.open(TPU) as file:
        listed = json.load(file, parse_float=Decimal, parse_int=Decimal)["traceEvents"]
    names = {one["pid"]: one["args"]["name"] for one in listed if one.get("name") == "process_name"}
    slices = [one for one in listed if one.get("ph") == "X"]
    assert len(slices) == 10_312
    first_ps = min(round(one["ts"] * 10**6) for one in slices)
    wanted = Counter(
        (
            names[one["pid"]],
            one["name"],
            round(one["ts"] * 10**6) - first_ps,
            round(one["dur"] * 10**6),
        )
        for one in slices
    )
    space = opened(TPU)
    assert events(space) == wanted
    threads = {(one["pid"], one["tid"]) for one in slices}
    assert len([line for line in space.lines if line.end > line.begin]) == len(threads)
    assert not any("left out" in one for one in space.warnings)


@pytest.mark.parametrize("name", ["jax-tpu-v6e-4", "julia-gtx1080ti"])
def test_our_own_export_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    folder = DATA / "xplane" / name
    if not folder.is_dir():
        pytest.skip("../shared/data/xplane is not here")
    path = min(folder.rglob("*.xplane.pb*"), key=lambda one: one.stat().st_size)
    with stepscope.open(path) as session:
        found = timeline(session.profile)
        begin, end = found.span()
        exported = tmp_path / "exported.json"
        exported.write_bytes(b"".join(chrome_trace(found, begin, end + 1)))
        original = events(session.profile.hosts[0].space)
    space = opened(exported)
    assert original.total() > 0
    assert original - events(space) == Counter()
