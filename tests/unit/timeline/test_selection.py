"""A selection is what a person named: these steps, this range, these devices, and nothing else."""

from __future__ import annotations

import pytest

from stepscope.analysis.kernel_stats import kernel_stats
from stepscope.analysis.step_account import step_account
from stepscope.columns.trim import clipped
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.events import device_events
from stepscope.tables.host.ops import host_ops
from stepscope.tables.steps.session import session_steps
from stepscope.timeline.axis import axis_of
from stepscope.timeline.counters import counter_tracks
from stepscope.timeline.selection import Selection, selected
from tests.profiles import Event, gpu, host, line, plane, space, stream
from tests.profiles.loops import Kernel, Loop, record

LOOP = Loop(kernels=(Kernel("sgemm", 400), Kernel("relu", 100)), input_us=50, steps=30)
US = 10**6


def profile(*files: tuple[str, bytes]) -> Profile:
    return Profile("run", tuple(Host(name, decode(data)) for name, data in files))


def loop() -> Profile:
    (data,) = record(LOOP).values()
    return profile(("h0", data))


def devices() -> bytes:
    return space(
        host(line("python", ("main", 0, 100))),
        *(gpu(number, stream(7, ("sgemm", 10, 10 + number))) for number in range(4)),
    )


def kernel_runs(found: Profile) -> list[int]:
    return [int(time) for one in found.hosts for time in device_events(one).duration_ps // US]


def test_steps_10_to_20_are_eleven() -> None:
    found = selected(loop(), Selection(steps="10-20"))
    steps = session_steps(found)
    assert steps is not None
    assert steps.num.tolist() == list(range(10, 21))
    assert steps.kept.all()
    assert found.selection == "steps 10–20 of 30"


def test_every_named_step_counts_though_the_whole_leaves_it_out() -> None:
    whole = loop()
    every = session_steps(whole)
    assert every is not None
    assert not every.kept[0]
    first = session_steps(selected(whole, Selection(steps="0")))
    assert first is not None
    assert first.kept.tolist() == [True]
    assert first.duration_ps.tolist() == [every.duration_ps[0]]


def test_a_range_counts_the_whole_steps_in_it_that_the_whole_counts() -> None:
    whole = loop()
    every = session_steps(whole)
    assert every is not None
    end_ms = (every.start_ps[5] + every.duration_ps[5] // 2) / 1e9
    found = session_steps(selected(whole, Selection(range=f"0-{end_ms}ms")))
    assert found is not None
    assert found.num.tolist() == [0, 1, 2, 3, 4]
    assert found.kept.tolist() == every.kept[:5].tolist()


def test_a_range_without_a_whole_step_is_accounted_for_as_it_is() -> None:
    whole = loop()
    every = session_steps(whole)
    assert every is not None
    begin = every.start_ps[5] / 1e9
    found = selected(whole, Selection(range=f"{begin}ms-{begin + 0.1}ms"))
    account = step_account(found)
    assert account.step_time_ms == pytest.approx(0.1, rel=1e-6)
    assert found.selection.startswith("100 µs (")


def test_an_event_across_an_edge_is_one_event_with_its_time_inside() -> None:
    data = space(gpu(0, stream(7, ("sgemm", 0, 100), ("sgemm", 100, 50), ("relu", 150, 10))))
    found = selected(profile(("h0", data)), Selection(range="0.09ms-0.12ms"))
    (row,) = kernel_stats(found).kernels.rows()
    assert (row["name"], row["occurrences"]) == ("sgemm", 2)
    assert row["total_duration_us"] == pytest.approx(10 + 20)


def test_a_counter_has_the_value_that_holds_as_the_range_begins() -> None:
    used = [("in use", at, 0, {"counter_value": value}) for at, value in ((10, 7), (50, 9))]
    counters = host(line("_counters_", *used), line("python", ("main", 0, 100)))
    for edges, times in (("0.02ms-0.08ms", [20, 50]), ("0.02ms-0.04ms", [20]), ("0ms-0.005ms", [])):
        found = selected(profile(("h0", space(counters))), Selection(range=edges))
        tracks = [track.counter for _, track in counter_tracks(found.hosts[0])]
        assert [int(at) // US for one in tracks if one for at in one.time_ps] == times
        assert [value for one in tracks if one for value in one.value] == [7, 9][: len(times)]


def test_events_that_began_before_the_range_stay_nested() -> None:
    inner, outer = Event("a/MatMul:MatMul", 10, 80), Event("b/Call:PartitionedCall", 0, 100)
    data = space(host(line("tf_Compute/1", inner, outer)))
    found = selected(profile(("h0", data)), Selection(range="0.02ms-0.08ms"))
    ops = host_ops(found.hosts[0])
    times = {
        ops.ops[op].type: int(time) // US
        for op, time in zip(ops.op.tolist(), ops.self_ps.tolist(), strict=True)
    }
    assert times == {"MatMul": 60, "PartitionedCall": 0}


def test_the_clock_of_the_device_is_clipped_with_the_hosts() -> None:
    op = Event("dot", 100, 100, {"device_offset_ps": 700 * US, "device_duration_ps": 96 * US})
    data = space(plane("/device:TPU:0", line("XLA Ops", op)))
    cut = clipped(decode(data), 110 * US, 180 * US, facts=[])
    found = device_events(Host("h0", cut))
    assert found.duration_ps.tolist() == [(96 - 10 - 20) * US]
    assert (found.start_ps.tolist(), cut.events.duration_ps.tolist()) == ([110 * US], [70 * US])


@pytest.mark.parametrize(
    ("text", "runs", "said"),
    [
        ("3", [13], "GPU:3"),
        ("GPU:0,GPU:2", [10, 12], "GPU:0, GPU:2"),
        ("1-2", [11, 12], "GPU:1, GPU:2"),
        ("gpu 1", [11], "GPU:1"),
        ("/device:GPU:1", [11], "GPU:1"),
        ("h0/GPU:1", [11], "GPU:1"),
        ("h0", [10, 11, 12, 13], "GPU:0, GPU:1, GPU:2, GPU:3"),
    ],
)
def test_devices_have_several_names(text: str, runs: list[int], said: str) -> None:
    found = selected(profile(("h0", devices())), Selection(device=text))
    assert (kernel_runs(found), found.selection) == (runs, said)


def test_a_number_is_a_rank_where_recordings_are_called_by_rank() -> None:
    one = space(host(line("python", ("main", 0, 90))), gpu(0, stream(7, ("sgemm", 10, 20))))
    whole = profile(*((f"rank{number}", one) for number in range(4)))
    for text in ("2", "rank 2", "rank2"):
        found = selected(whole, Selection(device=text, range="0-0.02ms"))
        assert [one.name for one in found.hosts] == ["rank2"]
        assert kernel_runs(found) == [10]
        assert found.selection == "20 µs of rank2 (0–0.02 ms)"
    assert len(axis_of(found).shift_ps) == 1
    both = selected(whole, Selection(device="1-2"))
    assert both.selection == "rank1, rank2"


def test_steps_are_of_the_whole_though_their_work_is_of_a_device() -> None:
    whole = loop()
    every, alone = session_steps(whole), session_steps(selected(whole, Selection(device="0")))
    assert every is not None
    assert alone is not None
    assert alone.num.tolist() == every.num.tolist()
    assert alone.kept.tolist() == every.kept.tolist()


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(steps="40-50"), "There is no step 40-50. Steps 0 to 29 were recorded."),
        (Selection(steps="ten"), "Say 12, or 10-20"),
        (Selection(range="soon"), "Say begin and end"),
        (Selection(range="-"), "Say begin and end"),
        (Selection(range="20ms-10ms"), "is empty. The recording lasts from 0 ms"),
        (Selection(device="GPU:9"), "is called 'GPU:9'. Recorded: GPU:0."),
    ],
)
def test_what_cannot_be_selected_is_answered_with_what_can(
    selection: Selection, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        selected(loop(), selection)
    assert words in f"{caught.value.what} {caught.value.hint}"


def test_a_recording_without_steps_offers_a_range() -> None:
    data = space(gpu(0, stream(7, ("sgemm", 0, 100))))
    with pytest.raises(UsageError) as caught:
        selected(profile(("h0", data)), Selection(steps="1"))
    assert "--range" in caught.value.hint


def test_the_unit_of_a_range_is_said_once() -> None:
    whole = loop()
    one, other = (selected(whole, Selection(range=text)) for text in ("2-3ms", "2000us–3ms"))
    assert one.selection == other.selection == "1 ms (2–3 ms)"
