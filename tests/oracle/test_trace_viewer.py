"""The timeline against what the incumbent's trace viewer shows of the same recordings.

Every event it shows is on ours, with the same name and duration. Accepted differences: it hides
allocator events and tf.data's Produce/Consume pairs (reference §1.4); ours shows them. It leaves
out `Async XLA Ops` and planes of kinds it does not know (reference §8.7). It adds the number to the
name of a step. It joins `ThreadpoolListener` instants (Record, StartRegion, StopRegion) into
`Region`s; ours shows the instants as recorded. Tracks that either side derives are not compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope.timeline import LaneRange, tile, timeline
from tests.oracle.recorded import recording

_DERIVED = ("Steps", "XLA Modules", "XLA Ops", "Framework ", "TensorFlow ", "Source")
_HIDDEN = (
    "MemoryAllocation",
    "MemoryDeallocation",
    "Produce",
    "Consume",
    "ThreadpoolListener::Record",
    "ThreadpoolListener::StartRegion",
    "ThreadpoolListener::StopRegion",
)


def _shown(events: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Name and duration (ns) of the recorded events it shows."""
    threads = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event.get("name") == "thread_name"
    }
    for event in events:
        if event.get("ph") == "X":
            if threads.get((event["pid"], event["tid"]), "").startswith(_DERIVED):
                continue
            step = event.get("args", {}).get("step_num")
            name = event["name"].removesuffix(f" {step}") if step else event["name"]
            yield name, round(event["dur"] * 1e6) // 1000


@pytest.mark.incumbent
@pytest.mark.parametrize("name", ["tf-v100-8gpu", "jax-cpu", "jax-mi300x/jax08_gemm"])
def test_every_event_the_incumbent_shows_is_on_the_timeline(name: str, tmp_path: Path) -> None:
    convert = pytest.importorskip(
        "xprof.convert.raw_to_tool_data", reason="needs xprof, which is not installed here"
    )
    profile = recording(name)
    copy = tmp_path / "h.xplane.pb"
    copy.write_bytes(profile.hosts[0].space.buffer)
    data, _ = convert.xspace_to_tool_data([str(copy)], "trace_viewer", {})
    theirs = Counter(_shown(json.loads(data)["traceEvents"]))

    found = timeline(profile)
    ours: Counter[tuple[str, int]] = Counter()
    for track in found.tracks:
        if track.counter is None and not track.name.startswith(_DERIVED):
            names = [found.names[i] for i in track.labels.name[track.code].tolist()]
            # The incumbent draws an instant 1 ps long.
            lengths = [max(length, 1) // 1000 for length in track.duration_ps.tolist()]
            ours.update(zip(names, lengths, strict=True))

    assert theirs
    assert [event for event in theirs - ours if event[0] != "ThreadpoolListener::Region"] == []
    assert [event for event in ours - theirs if not event[0].endswith(_HIDDEN)] == []


def test_the_two_million_events_are_all_on_one_screen() -> None:
    profile = recording("tf-cpu-custom-loop-2M")
    found = timeline(profile)
    begin, end = found.span()
    recorded = [LaneRange(one.id) for one in found.tracks if not one.derived]
    made = tile(found, recorded, begin, end + 1, 1440)
    assert int(made.count.sum()) == len(profile.hosts[0].space.events) == 2_052_510
