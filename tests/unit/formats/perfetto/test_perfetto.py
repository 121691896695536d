"""Perfetto traces open, and ours come back as they were."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import stepscope
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats import FORMATS
from stepscope.formats.perfetto import read
from stepscope.formats.xspace import decode
from stepscope.store import find, read_pieces
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import timeline
from stepscope.timeline.flows import flows
from stepscope.wire import write as wire
from tests.kernels import examples
from tests.profiles import async_gpu, overlapping_streams, pytorch_like, worked_example
from tests.unit.formats.exported import shown
from tests.unit.formats.layout import lines
from tests.unit.formats.perfetto.traces import (
    CLEARED,
    NEEDS,
    clocks,
    described,
    event,
    gpu_counters,
    interned,
    packet,
    process,
    small,
    thread,
    track,
)

HOST = ("/host:CPU", "trainer/main")


def opened(folder: Path, data: bytes) -> Space:
    path = folder / "a.pftrace"
    path.write_bytes(data)
    ((source,),) = (run.sources for run in find(path).runs)
    assert source.format == "perfetto"
    return FORMATS["perfetto"].open(read_pieces(str(path)), str(path))


def test_slices_instants_counters_and_gpus_have_their_places(tmp_path: Path) -> None:
    found = lines(opened(tmp_path, small()))
    step, launch, mark = found[HOST]
    assert (step["name"], step["start"], step["length"]) == ("step", 1_000, 1_000)
    assert (step["loss"], step["n"], step["who"]) == (0.5, -3, "me")
    assert (launch["name"], launch["start"], launch["length"]) == ("launch", 1_200, 100)
    assert (mark["name"], mark["length"]) == ("mark", 0)
    (work,) = found["/device:CUSTOM:Other events", "trainer/queue"]
    assert (work["name"], work["length"]) == ("work", 500)
    (gemm,) = found["/device:GPU:1", "Stream #3"]
    assert (gemm["name"], gemm["start"], gemm["length"]) == ("gemm", 1_600, 250)
    (sample,) = found["/device:CUSTOM:Telemetry", "_counters_"]
    assert (sample["name"], sample["counter_value"], sample["unit"]) == ("memory", 42.0, "MB")


def test_counters_of_gpus_are_on_their_planes_under_their_names(tmp_path: Path) -> None:
    """Two writers number theirs alike; one says what its are called after it has counted."""
    said = described(1, "Busy", unit=37) + described(2, "Read", unit=9, per=22)
    data = b"".join(
        (
            packet(clocks((6, 1_000), (1, 5_000_001_000)), flags=CLEARED),
            packet(gpu_counters(0, (1, 40), (2, 1.5)), at=1_000),
            packet(gpu_counters(0, (1, -3), (9, 7)), at=3_000),
            packet(gpu_counters(1, (1, 50)), at=2_000),
            packet(gpu_counters(0, (1, 60)), at=2_000),
            packet(gpu_counters(0, (1, 99)), at=2_000, sequence=8),
            packet(gpu_counters(0, said=said), at=4_000),
        )
    )
    found = lines(opened(tmp_path, data))
    assert {plane for plane, _ in found} == {"/device:GPU:0", "/device:GPU:1"}
    seen = [
        (one["name"], one["start"] - 5_000_000_000, one["counter_value"], one.get("unit"))
        for one in found["/device:GPU:0", "_counters_"]
    ]
    assert seen == [
        ("Busy", 1_000, 40.0, "%"),
        ("Busy", 2_000, 60.0, "%"),
        ("Busy", 3_000, -3.0, "%"),
        ("Read", 1_000, 1.5, "MB/s"),
        ("counter 9", 3_000, 7.0, None),
        ("counter 1", 2_000, 99.0, None),
    ]
    ((busy,),) = ([one] for one in found["/device:GPU:1", "_counters_"])
    assert (busy["name"], busy["counter_value"]) == ("Busy", 50.0)


def test_counters_beside_work_are_drawn(tmp_path: Path) -> None:
    data = small() + packet(gpu_counters(5, (1, 40), said=described(1, "Busy", unit=37)), at=1_650)
    space = opened(tmp_path, data)
    tracks = timeline(Profile("p", (Host("h", space),))).tracks
    (drawn,) = [one for one in tracks if one.name == "Busy"]
    assert drawn.counter is not None
    assert drawn.counter.value.tolist()[-1] == 40.0


def test_an_arrow_goes_from_the_first_of_a_flow_to_the_next(tmp_path: Path) -> None:
    space = opened(tmp_path, small())
    found = flows(Profile("p", (Host("h", space),)))
    name = [space.event_metadata.name[row] for row in space.events.metadata.tolist()]
    arrows = [(name[a], name[b]) for a, b in zip(found.source, found.target, strict=True)]
    assert arrows == [("launch", "work")]


def test_names_mean_something_until_the_writer_starts_over(tmp_path: Path) -> None:
    data = b"".join(
        (
            packet(interned((2, 1, "early")), flags=CLEARED),
            packet(event(3, 9, number=1), at=1, flags=NEEDS),
            packet(interned((2, 1, "late")), flags=CLEARED),
            packet(event(3, 9, number=1), at=2, flags=NEEDS),
            packet(event(3, 9, number=1), at=3, flags=NEEDS, sequence=8),
        )
    )
    space = opened(tmp_path, data)
    ((_, events),) = lines(space).items()
    assert [one["name"] for one in events] == ["early", "late"]
    assert "1 packets or values need names from before the trace began" in " ".join(space.warnings)


def test_clocks_are_brought_together(tmp_path: Path) -> None:
    """One that counts from the packet before, and the wall's."""
    data = b"".join(
        (
            packet(clocks((6, 5_000), (1, 1_000_005_000), (64, 5_000), counts=64), flags=CLEARED),
            packet(event(3, 9, name="a"), wire.number(58, 64), at=10),
            packet(event(3, 9, name="b"), wire.number(58, 64), at=10),
            packet(event(3, 9, name="c"), wire.number(58, 1), at=1_000_005_030),
            packet(event(3, 9, name="d"), wire.number(58, 6), at=5_040),
        )
    )
    ((_, events),) = lines(opened(tmp_path, data)).items()
    assert [(one["name"], one["start"] - 1_000_005_000) for one in events] == [
        ("a", 10),
        ("b", 20),
        ("c", 30),
        ("d", 40),
    ]


def test_packets_may_be_compressed(tmp_path: Path) -> None:
    data = small()
    begin = len(packet(flags=CLEARED)) + len(process(1, 40, "trainer"))
    packed = data[:begin] + wire.blob(1, wire.blob(50, zlib.compress(data[begin:])))
    assert lines(opened(tmp_path, packed)) == lines(opened(tmp_path, data))


def test_what_does_not_pair_is_counted(tmp_path: Path) -> None:
    data = b"".join(
        (
            packet(flags=CLEARED),
            packet(event(2, 9), at=1),
            packet(event(1, 9, name="open"), at=2),
            packet(event(1, 9, name="inner"), at=3),
            packet(event(2, 9), at=5),
            packet(event(3, 9, name="last"), at=9),
        )
    )
    space = opened(tmp_path, data)
    ((_, events),) = lines(space).items()
    assert [(one["name"], one["start"], one["length"]) for one in events] == [
        ("open", 2, 7),
        ("inner", 3, 2),
        ("last", 9, 0),
    ]
    said = " ".join(space.warnings)
    assert "1 slices never end" in said and "1 ends of slices lack their begin" in said


def test_tracks_read_together_are_read_as_each_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(7)
    kinds = (1, 1, 2, 2, 3, 5)
    named = b"".join(track(number, f"track {number}") for number in range(40))
    data = (
        packet(flags=CLEARED)
        + named
        + b"".join(
            packet(
                event(rng.choice(kinds), rng.randrange(40), name=rng.choice("ab")),
                at=rng.randrange(90),
            )
            for _ in range(1_500)
        )
    )
    together = opened(tmp_path, data)
    monkeypatch.setattr(read, "_TOGETHER_EVENTS", 0)
    alone = opened(tmp_path, data)
    assert lines(together) == lines(alone)
    assert together.warnings == alone.warnings


def test_slices_that_touch_and_nest_at_one_instant(tmp_path: Path) -> None:
    steps = [(1, "a", 0), (1, "b", 0), (2, "", 5), (2, "", 5), (1, "c", 5), (2, "", 5)]
    data = packet(flags=CLEARED) + b"".join(
        packet(event(kind, 9, name=name), at=at) for kind, name, at in steps
    )
    ((_, events),) = lines(opened(tmp_path, data)).items()
    assert Counter((one["name"], one["start"], one["length"]) for one in events) == Counter(
        [("a", 0, 5), ("b", 0, 5), ("c", 5, 0)]
    )


def test_a_trace_without_track_events_says_so(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="does not open"):
        opened(tmp_path, packet(flags=CLEARED) + thread(2, 40, 41, "main") + track(3, "x"))


@pytest.mark.parametrize(
    "build",
    [
        worked_example,
        lambda: worked_example(gpu=True),
        overlapping_streams,
        async_gpu,
        pytorch_like,
    ],
)
def test_ours_comes_back_as_it_was(tmp_path: Path, build: Callable[[], bytes]) -> None:
    first = timeline(Profile("p", (Host("h", decode(build())),)))
    view = first.span()[0], first.span()[1] + 1
    data = b"".join(RECORDING_FORMATS["perfetto"].write(first, *view))
    second = timeline(Profile("p", (Host("h", opened(tmp_path, data)),)))
    before, after = shown(first), shown(second)
    assert before[0] == after[0]
    assert before[1] == after[1]
    assert before[2] == after[2]


def test_broken_bytes_open_or_say_why_not() -> None:
    rng, data = random.Random(3), small()
    for _ in range(examples(2_000)):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 6)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        cut = rng.randrange(1, len(broken)) if rng.random() < 0.5 else len(broken)
        try:
            FORMATS["perfetto"].open([bytes(broken[:cut])], "a")  # type: ignore[arg-type]  # only read in order
        except FormatError as error:
            assert error.why


@pytest.mark.filterwarnings("error")
def test_events_that_come_back_at_one_moment_are_no_steps(tmp_path: Path) -> None:
    path = tmp_path / "again.pftrace"
    whole = small() * 200
    path.write_bytes(whole[: len(whole) * 2 // 3 + 1])
    with stepscope.open(path) as session:
        assert len(session.overview_page().headline) > 0
