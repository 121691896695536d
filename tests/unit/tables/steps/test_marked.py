"""Marks that leave out a part of the loop, pauses, processes, and marks nobody made."""

from itertools import pairwise

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.quantities import share_words
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.in_steps.host_activity import function_calls
from stepscope.tables.in_steps.idle import idle
from stepscope.tables.steps.attribution import PARTS, HostSteps, steps
from tests.profiles.model import Event, Plane, gpu, host, line, plane, space, stream
from tests.profiles.rounds import every, fetches, gaps, marks, recorded, tf_function

US = 1_000_000


def steps_of(data: bytes) -> HostSteps:
    found = steps(Host("h", decode(data)))
    assert found is not None
    total = np.sum([found.parts_ps[part] for part in PARTS], axis=0)
    assert np.array_equal(total, found.duration_ps)
    return found


@pytest.mark.parametrize(
    ("body", "wait"),
    [(5.84, 15.5), (2.0, 40.0), (30.0, 8.0)],
    ids=["as in the guide", "starved", "some input"],
)
def test_a_batch_fetched_between_the_marks_belongs_to_the_step(body: float, wait: float) -> None:
    """``for step, data in enumerate(ds): with Trace(...)``: the next element is asked for after."""
    period = body + wait
    starts = every(1000 * period, 12)
    events = [
        *marks(starts, 1000 * body),
        *fetches([at + 1000 * body for at in starts], 1000 * wait),
    ]
    found = steps_of(recorded(*events))
    assert found.markers.is_start_to_start
    assert found.duration_ps[found.kept] == pytest.approx(1000 * period * US)
    assert found.parts_ps["input"][found.kept] == pytest.approx(1000 * wait * US)
    share = wait / period
    assert f"leave out {share_words(share)} of the loop" in found.markers.explanation


@pytest.mark.parametrize("between", [0.0, 30.0, 99.0])
def test_marks_that_cover_the_loop_stay_as_they_are(between: float) -> None:
    found = steps_of(recorded(*marks(every(1000 + between, 8), 1000)))
    assert not found.markers.is_start_to_start
    assert set(found.duration_ps.tolist()) == {1000 * US}
    assert found.markers.certainty == "certain"


@pytest.mark.parametrize("at", [5, 10, 15])
def test_a_pause_of_the_loop_is_no_part_of_a_step(at: int) -> None:
    """An evaluation of 50 steps' time after one of them; input is fetched between the others."""
    starts = [1000.0 * i + (50_000 if i >= at else 0) for i in range(24)]
    found = steps_of(recorded(*marks(starts, 600)))
    assert found.markers.is_start_to_start
    assert found.duration_ps.max() == 1000 * US
    assert any("1 pause between steps" in one for one in found.left_out)


@pytest.mark.parametrize("gap", [(3_100.0, 9_000.0), (2_600.0, 9_000.0), (3_100.0, 4_200.0)])
def test_a_gap_of_the_recording_is_no_part_of_a_step(gap: tuple[float, float]) -> None:
    """Marks of 500 µs each millisecond; none is recorded in the gap."""
    starts = [at for at in every(1000, 16) if not gap[0] - 500 < at < gap[1]]
    milli = [1000 * at for at in starts]
    found = steps_of(
        recorded(*marks(milli, 500_000), planes=[gaps([(1000 * gap[0], 1000 * gap[1])])])
    )
    assert found.duration_ps.max() <= 1_000_000 * US
    assert found.duration_ps[found.kept] == pytest.approx(1_000_000 * US)
    assert any("recorder wrote a chunk" in one for one in found.left_out)


def test_steps_that_are_recorded_no_further_than_their_begin_are_none() -> None:
    starts = every(10_000, 8)
    cuts = [(at + 0.0, at + 6_000) for at in starts]
    ops = [Event("aten::mm", at + 7_000, 2_000) for at in starts]
    found = steps_of(recorded(*marks(starts, 9_500), *ops, planes=[gaps(cuts)]))
    assert found.markers.is_window
    assert found.markers.reason == "the recorder wrote a chunk in each step"


@pytest.mark.parametrize(("at_steps", "kept"), [(True, 22), (False, 18)])
def test_what_a_loop_does_before_a_gap_counts_if_the_gap_began_at_a_step(
    at_steps: bool, kept: int
) -> None:
    """Steps of 1 ms, of which each fifth evaluates for 9 ms more; then the recorder cuts."""
    starts, cuts, at = list[float](), list[tuple[float, float]](), 0.0
    for step in range(24):
        starts.append(at)
        at += 1000 if step % 5 != 4 else 10_000
        if step % 5 == 4:
            cuts.append((at, at + 30_000))
            at += 30_000
    found = steps_of(recorded(*marks(starts, 800), planes=[gaps(cuts, at_steps=at_steps)]))
    assert found.markers.is_start_to_start
    lengths = np.where(np.arange(24) % 5 == 4, 10_000, 1000)[found.kept]
    assert found.kept.sum() == kept
    assert found.duration_ps[found.kept].tolist() == (lengths * US).tolist()


def test_steps_of_processes_side_by_side_are_not_mixed() -> None:
    children = [
        plane(f"/host:CPU [{pid}]", line("python", *marks(every(1000, count, shift), 990)))
        for pid, count, shift in ((41, 6, 300.0), (42, 9, 0.0))
    ]
    found = steps_of(space(host(line("python", Event("wait", 0, 9000))), *children))
    assert len(found) == 9
    assert set(found.duration_ps.tolist()) == {990 * US}


def test_numbers_of_launches_join_within_a_process_only() -> None:
    """A child whose kernels have the parent's numbers, 20 ms later, changes nothing of it."""

    def process(suffix: str, shift: float) -> list[Plane]:
        main, device = [], []
        for step, at in enumerate(every(1000, 8, shift)):
            main += [
                *([] if suffix else marks([at], 900)),
                Event("cuLaunchKernel", at + 100, 20, {"correlation_id": 1 + step}),
            ]
            device.append(Event("sgemm", at + 300, 400, {"correlation_id": 1 + step}))
        events = [line("python", *main), stream(7, *device)]
        return [plane(f"/host:CPU{suffix}", events[0]), plane(f"/device:GPU:0{suffix}", events[1])]

    alone = steps_of(space(*process("", 0.0)))
    both = steps_of(space(*process("", 0.0), *process(" [42]", 20_000.0)))
    assert both.runs_behind == alone.runs_behind
    assert both.duration_ps.tolist() == alone.duration_ps.tolist()
    assert both.parts_ps["device_compute_32"].tolist() == [400 * US] * 8


def test_steps_told_from_the_optimizer_are_not_said_to_be_marked() -> None:
    """PyTorch's converter gives steps from one end of the optimizer's step to the next."""
    ends = every(1000, 6, 1000.0)
    optimizer = [Event("Optimizer.step#SGD.step", end - 100, 100) for end in ends]
    told = [
        Event("train", a, b - a, {"step_num": i, "_r": 1})
        for i, (a, b) in enumerate(pairwise(ends))
    ]
    forward = [Event("aten::linear", at - 900, 300) for at in ends]
    found = steps_of(recorded(*optimizer, *told, *forward))
    assert (found.markers.source, found.markers.certainty) == ("framework", "likely")
    assert "marked by the program" in found.markers.explanation
    # The step the recording began in ends as the others do.
    assert len(found) == 6
    assert not found.kept[0]


def test_marks_of_the_program_count_where_a_hook_marked_too() -> None:
    """The converter of PyTorch's trace does not see marks that are kept elsewhere."""
    hooked = [
        Event("train", *span, {"step_num": 1, "_r": 1, "_marked_by": "optimizer"})
        for span in ((at, 1000.0) for at in every(1000, 6, 1000.0))
    ]
    own = [Event("loop", at + 300, 900, {"step_num": 90, "_r": 1}) for at in every(1000, 5, 1000.0)]
    assert set(steps_of(recorded(*hooked, *own)).markers.num.tolist()) == {90}


def test_session_that_begins_at_a_step_holds_its_first_step_whole() -> None:
    """No end of the step before was recorded; the recorder waited for it."""
    sessions = [every(10_000, 4, 10_000.0), every(10_000, 4, 110_000.0)]
    begun = 100_000.0
    optimizer = [Event("Optimizer.step#SGD.step", at - 100, 100) for one in sessions for at in one]
    bounds = [*pairwise(sessions[0]), *pairwise([begun, *sessions[1]])]
    told = [Event("train", a, b - a, {"step_num": i, "_r": 1}) for i, (a, b) in enumerate(bounds)]
    forward = [Event("aten::linear", at - 900, 300) for one in sessions for at in one]
    gap = gaps([(sessions[0][-1] + 500, begun - 5)], "torch")
    found = steps_of(recorded(*optimizer, *told, *forward, planes=[gap]))
    assert found.markers.source == "framework"
    # All but the one that the recording began in, and the last.
    assert found.duration_ps[found.kept].tolist() == [10_000 * US] * 6
    assert not any("cut off where" in text for text in found.left_out)


def test_the_loops_thread_is_found_where_devices_tell_the_steps() -> None:
    """TF 2.6 to 2.12 on a GPU: a Steps line, and the host's thread waits for the device."""
    how = {"tf_function_call": "notTraced-nonXla", "tracing_count": 1}
    thread, kernels, told = [], [], []
    for step, at in enumerate(every(1000, 3), 1):
        launch = {"correlation_id": step}
        thread += [
            Event("train_function", at, 60, how),
            Event("cuLaunchKernel", at + 20, 10, launch),
            Event("cuStreamSynchronize", at + 60, 800),
        ]
        kernels.append(Event("sgemm", at + 50, 790, launch))
        told.append(Event(str(step), at + 50, 800))
    pool = line("tf_Compute/1", Event("a:MatMul", 5, 2))
    data = space(
        host(line("python3", *thread), pool), gpu(0, stream(7, *kernels), line("Steps", *told))
    )
    profile_host = Host("h", decode(data))
    found = steps(profile_host)
    assert found is not None
    assert found.markers.source == "device_steps"
    assert profile_host.space.lines[found.markers.thread].name == "python3"
    # What waits in the steps and what called for them are seen, though no mark is on the thread.
    waits = idle(Profile("p", (profile_host,)))
    assert waits is not None
    assert [(one.name, one.occurrences) for one in waits.waits] == [("cuStreamSynchronize", 3)]
    assert [(one.function, one.calls) for one in function_calls(profile_host)] == [
        ("train_function", 3)
    ]


def test_batches_whose_marks_the_recording_cut_are_counted_and_left_out_of_the_mean() -> None:
    """Keras 2 begins to record within the first batch's mark, and ends within the last one's."""
    starts = every(1000, 7)
    marked = marks(starts[1:-1], 950)
    found = steps_of(
        recorded(*marked, *tf_function("train_function", [at + 20 for at in starts], 900))
    )
    assert len(found) == 7
    assert found.kept.tolist() == [False, *5 * [True], False]
    assert found.duration_ps[found.kept].tolist() == 5 * [950 * US]
    assert "2 more were cut at the edges" in found.markers.explanation


def test_a_call_beside_the_marks_that_is_no_batch_is_no_step() -> None:
    """A warm-up long before the loop, two calls before it, and a function that is not Keras'."""
    marked = marks(every(1000, 5, 20_000), 950)
    inside = every(1000, 5, 20_020)
    for name, others in (
        ("train_function", [100.0]),
        ("train_function", [18_000.0, 19_000.0]),
        ("warm_up", [19_000.0]),
    ):
        calls = tf_function(name, [*others, *inside], 900)
        assert len(steps_of(recorded(*marked, *calls))) == 5


@pytest.mark.parametrize("written", [300.0, 3_000.0, 30_000.0])
def test_the_summaries_of_the_callback_that_recorded_one_batch_are_none_of_it(
    written: float,
) -> None:
    """Keras on a GPU: the one step lasts from its first kernel until the callback has written."""
    how = {"tf_function_call": "notTraced-nonXla", "tracing_count": 1}
    thread = [
        Event("train_function", 0, 900, how),
        Event("cuLaunchKernel", 20, 10, {"correlation_id": 1}),
        Event("EagerLocalExecute: WriteSummary", 1_000, written),
        Event("EagerLocalExecute: FlushSummaryWriter", 1_000 + written, 100),
    ]
    kernel = Event("sgemm", 50, 800, {"correlation_id": 1})
    told = line("Steps", Event("2", 50, 1_050 + written))
    data = space(host(line("python3", *thread)), gpu(0, stream(7, kernel), told))
    found = steps_of(data)
    assert found.duration_ps.tolist() == [950 * US]
    assert found.markers.reason == "only one step was recorded"


@pytest.mark.parametrize("is_of_22", [False, True], ids=["by name", "by the stat of TF 2.2"])
def test_batches_of_an_evaluation_are_no_steps_of_the_training(is_of_22: bool) -> None:
    """Four steps of 3 ms, 1 ms apart; between the third and the fourth two batches, one traced."""

    def mark(kind: str, number: int, at: float, length: float) -> Event:
        stats = {"step_num": number, "_r": 1, "graph_type": kind}
        return Event("TraceContext" if is_of_22 else kind, at, length, stats)

    found = steps_of(
        recorded(
            *(mark("train", at, 4000.0 * at, 3000) for at in range(3)),
            mark("test", 0, 50_000, 120_000),
            mark("test", 1, 171_000, 2000),
            mark("train", 3, 180_000, 3000),
        )
    )
    assert found.markers.name == [f"train {at}" for at in range(4)]
    assert "Those of another kind are not counted: 2 of 'test'." in found.markers.explanation
    # The third ends with its mark: what follows it is the evaluation's.
    assert found.duration_ps.tolist() == [4000 * US, 4000 * US, 3000 * US, 3000 * US]


def test_marks_of_kinds_that_are_not_keras_stay_together() -> None:
    events = [
        Event(kind, 1000.0 * at, 900, {"step_num": at, "_r": 1})
        for at, kind in enumerate(("train", "generate") * 3)
    ]
    assert len(steps_of(recorded(*events))) == 6


@pytest.mark.parametrize(
    ("stats", "numbers"),
    [
        ([{"step_num": 499 + at} for at in range(6)], [499, 500, 501, 502, 503, 504]),
        ([{"step_num": 8}, {"step_num": 9}, {"step_num": 0}], [8, 9, 0]),  # a new epoch
        ([{}] * 4, [0, 1, 2, 3]),  # Keras of TensorFlow 2.3 wrote none
    ],
)
def test_batches_of_keras_keep_their_numbers(
    stats: list[dict[str, int]], numbers: list[int]
) -> None:
    events = [Event("Profiled batch", 1000.0 * at, 990, one) for at, one in enumerate(stats)]
    found = steps_of(recorded(*events))
    assert found.markers.num.tolist() == numbers
    assert found.markers.name == [f"batch {number}" for number in numbers]
