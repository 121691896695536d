"""Rules about memory: how full a device is, what grows, who holds the peak of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.advice.evidence.device_memory import device_memories
from stepscope.registry import Silence
from stepscope.result import Finding
from tests.labelled.synthetic import GIB, GOOD
from tests.profiles.model import EventLike, host, line
from tests.unit.advice.asking import Asked, ask, opened
from tests.unit.formats.torch_memory.snapshot import MB, event, segment, written


def held(used_gib: float, limit_gib: int = 16, fragmentation: float = 0.05) -> Asked:
    return ask(replace(GOOD, heap=(int(used_gib * GIB), limit_gib * GIB, fragmentation)))


def test_a_memory_at_its_peak_has_holders_and_free_pieces() -> None:
    asked = held(12, fragmentation=0.75)
    (found,) = device_memories(asked.result("memory_profile"))
    assert (found.peak_bytes, found.capacity_bytes) == (12 * GIB, 16 * GIB)
    assert found.free_bytes == 4 * GIB
    assert (found.used_frac, found.fragmentation_frac) == pytest.approx((0.75, 0.75))
    sizes = [size for _name, size in found.holders]
    assert 1 <= len(sizes) <= 3 and sizes == sorted(sizes, reverse=True)
    # 4 GiB free, the largest piece a quarter of them.
    pieces = asked.finding("memory-fragmentation").measured
    assert pieces["largest_free_piece_bytes"] == pytest.approx(GIB)


def test_the_highest_use_ever_counts_where_the_allocator_remembers_it() -> None:
    result = held(12).result("memory_profile")
    ever = replace(result.memories[0], lifetime_peak_bytes=15 * GIB)
    (found,) = device_memories(replace(result, memories=(ever,)))
    assert (found.peak_bytes, found.holders) == (15 * GIB, ())
    assert found.used_frac == pytest.approx(15 / 16)


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("GPU_0_bfc", "GPU_0_bfc"),
        ("0", "the memory of device 0"),
        ("host-1: 3", "host-1: the memory of device 3"),
    ],
)
def test_a_memory_without_a_name_is_that_of_its_device(id_: str, name: str) -> None:
    result = held(12).result("memory_profile")
    other = replace(result.memories[0], id=id_)
    assert device_memories(replace(result, memories=(other,)))[0].name == name


def test_the_last_three_per_cent_are_an_alarm_that_pieces_may_explain() -> None:
    assert held(15.8).finding("memory-near-limit").severity == "high"
    rules = [one.rule for one in held(15, fragmentation=0.8).advice()]
    assert rules[rules.index("memory-near-limit") - 1] == "memory-fragmentation"


def growing(bytes_per_step: int, start: int = GIB) -> Asked:
    """Twelve steps; an allocator that holds so much more after each, beside a buffer of a step."""
    events: list[EventLike] = []
    for step in range(12):
        begin = 1000.0 * step
        events.append(("train", begin, 1000, {"step_num": step, "_r": 1}))
        for at, use in ((100, start + 300 * MB), (800, start)):
            use += step * bytes_per_step
            stats = {
                "allocator_name": "GPU_0_bfc",
                "bytes_reserved": 0,
                "bytes_allocated": use,
                "bytes_available": 16 * GIB - use,
                "requested_bytes": 1,
                "allocation_bytes": 1,
                "addr": 1,
            }
            events.append(("MemoryAllocation", begin + at, 1, stats))
    return opened(host(line("python", *events)))


def test_memory_that_a_step_keeps_is_a_fault() -> None:
    found = growing(64 * MB).finding("memory-growth")
    assert found.measured["bytes_per_step"] == pytest.approx(64 * MB)
    assert found.severity == "medium"


@pytest.mark.parametrize("bytes_per_step", [0, 1 << 10, -64 * MB])
def test_memory_that_is_given_back_is_left_in_peace(bytes_per_step: int) -> None:
    asked = growing(bytes_per_step, start=2 * GIB)
    assert "does not grow" in asked.reason("memory-growth", Silence)


# ------------------------------------------------------------------ snapshots


def at_peak(
    folder: Path, *events: dict[str, Any], blocks: Sequence[dict[str, Any]] = ()
) -> Finding:
    snapshot = {"segments": [segment(0, 100 * MB, *blocks)], "device_traces": [[*events]]}
    with stepscope.open(written(folder / "a.pickle", snapshot)) as session:
        return next(one for one in session.advice().findings if one.rule == "memory-at-peak")


def test_the_function_that_holds_most_is_named_with_its_line(tmp_path: Path) -> None:
    found = at_peak(
        tmp_path,
        event("alloc", 0, 10 * MB, 1, "train.py:12 step"),
        event("alloc", 10 * MB, 60 * MB, 2, "model.py:40 forward"),
        event("alloc", 70 * MB, 20 * MB, 3, "model.py:44 forward"),
        event("free_completed", 10 * MB, 60 * MB, 4),
    )
    assert found.place is not None
    assert (found.place.file, found.place.line) == ("work/model.py", 40)
    sizes = [found.measured[f"{name}_bytes"] for name in ("held", "kept", "peak")]
    assert sizes == [80 * MB, 20 * MB, 90 * MB]
    assert (found.severity, found.saving_ms) == ("medium", None)


def test_each_line_of_a_script_is_a_holder(tmp_path: Path) -> None:
    scripts = ((0, 30, "train.py:8 <module>"), (30, 50, "train.py:13 <module>"))
    found = at_peak(tmp_path, *(event("alloc", at * MB, mb * MB, 1, of) for at, mb, of in scripts))
    assert found.place is not None
    assert (found.place.file, found.place.line) == ("work/train.py", 13)


def test_memory_from_before_asks_for_a_longer_history(tmp_path: Path) -> None:
    block = {"address": 0, "size": 90 * MB, "requested_size": 90 * MB, "state": "active_allocated"}
    new = event("alloc", 90 * MB, 5 * MB, 2, "model.py:40 forward")
    found = at_peak(tmp_path, new, blocks=(block,))
    assert found.measured["before_recording_bytes"] == 90 * MB
