"""The bottleneck of pipelines whose waits can be worked out by hand."""

import pytest

from stepscope.analysis.tf_data_bottleneck_analysis import (
    TOOL,
    Options,
    TfDataBottleneckAnalysis,
    tf_data_bottleneck_analysis,
)
from stepscope.errors import UsageError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.verdicts.tf_data import _are_batched
from tests.profiles import host as host_plane
from tests.profiles import line, space
from tests.profiles.model import EventLike, gpu, stream

ROOT = "Iterator::Root"
PREFETCH = f"{ROOT}::Prefetch"
MAP = f"{PREFETCH}::Map"
SOURCE = f"{MAP}::TFRecord"


def profile(*hosts: bytes) -> Profile:
    return Profile("s", tuple(Host(f"h{i}", decode(data)) for i, data in enumerate(hosts)))


def analyze(*hosts: bytes, **options: object) -> TfDataBottleneckAnalysis:
    return tf_data_bottleneck_analysis(profile(*hosts), Options(**options))  # type: ignore[arg-type]


def prefetched(calls: int = 4, wait: float = 400.0, id_: int = 1) -> bytes:
    """Every 1000 µs a call that waits ``wait`` µs for an element made since 300 µs before it.

    Making it is Map, half of whose time is TFRecord's.
    """
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for call in range(calls):
        base, made = 1000.0 * call + 300, wait + 300
        main += [
            ("train", base - 1, 900.0, {"step_num": call, "_r": 1}),
            ("IteratorGetNext", base, wait + 20),
            (ROOT, base, wait + 20, {"id": id_}),
            (PREFETCH, base, wait + 10, {"id": id_ + 1, "parent_id": id_}),
            ("PrefetchConsume", base + wait + 5, 1.0, {"element_id": call}),
        ]
        begin = base - 300
        pool += [
            ("PrefetchProduce", begin, made, {"element_id": call}),
            (MAP, begin, made, {"id": id_ + 2, "parent_id": id_ + 1}),
            (SOURCE, begin + made / 2, made / 2, {"id": id_ + 3, "parent_id": id_ + 2}),
        ]
    return space(
        host_plane(line("python", *main), line("tf_data_iterator_resource/1", *pool)),
    )


def nodes(found: TfDataBottleneckAnalysis) -> dict[str, dict[str, object]]:
    assert found.graph is not None
    return {str(row["long_name"]): row for row in found.graph.nodes.rows()}


def test_the_wait_goes_to_the_iterator_that_kept_it() -> None:
    found = analyze(prefetched())
    graph = nodes(found)
    # Of the 700 µs of making, 300 pass before the call: it waits 50 in Map and 350 in TFRecord.
    assert graph[MAP]["critical_us"] == pytest.approx(50)
    assert graph[SOURCE]["critical_us"] == pytest.approx(350)
    assert graph[PREFETCH]["critical_us"] == pytest.approx(10)
    assert graph[ROOT]["critical_us"] == pytest.approx(10)
    assert graph[MAP]["self_us"] == pytest.approx(350)
    assert graph[SOURCE]["parent"] == graph[MAP]["node"]
    assert found.verdict == "input_bound"
    assert found.bottleneck is not None
    assert (found.bottleneck.iterator, found.bottleneck.long_name) == ("TFRecord", SOURCE)
    assert found.bottleneck.self_time_us == pytest.approx(350)
    assert found.bottleneck.kind == "source"


def test_each_branch_of_a_zip_has_the_time_that_it_kept_the_call_waiting() -> None:
    """Zip asks its inputs one after the other, so both are on the path, each with its own time."""
    fast, slow = f"{ROOT}::Zip::Range", f"{ROOT}::Zip::Map"
    main: list[EventLike] = []
    for call in range(4):
        base = 1000.0 * call + 300
        main += [
            ("train", base - 1, 900.0, {"step_num": call, "_r": 1}),
            (ROOT, base, 400.0, {"id": 1}),
            (f"{ROOT}::Zip", base, 390.0, {"id": 2, "parent_id": 1}),
            (f"{ROOT}::Zip[0]::Range", base + 10, 20.0, {"id": 3, "parent_id": 2}),
            (f"{ROOT}::Zip[1]::Map", base + 40, 340.0, {"id": 4, "parent_id": 2}),
        ]
    found = analyze(space(host_plane(line("python", *main))))
    graph = nodes(found)
    critical = [graph[name]["critical_us"] for name in (fast, slow, f"{ROOT}::Zip", ROOT)]
    assert critical == pytest.approx([20, 340, 30, 10])
    assert all(graph[name]["is_critical"] for name in (fast, slow))
    assert found.bottleneck is not None
    assert found.bottleneck.long_name == slow


def test_statistics_of_the_calls() -> None:
    (row,) = analyze(prefetched()).pipelines.rows()
    assert (row["host"], row["name"], row["calls"], row["slow_calls"]) == ("h0", "Host:0", 4, 4)
    assert row["min_us"] == row["mean_us"] == row["max_us"] == pytest.approx(420)
    assert row["wait_frac"] == pytest.approx(0.42)


def test_predicted_gains() -> None:
    knobs = {knob.knob: knob for knob in analyze(prefetched()).knobs}
    # Made in 1000 µs per call, of which the source and its share: half of it with two readers.
    assert knobs["interleave"].gain_us == pytest.approx(1000 * 350 / 420 / 2)
    assert knobs["cache"].gain_us == pytest.approx(420)
    assert [*knobs] == ["cache", "interleave"]


def test_fast_calls_are_healthy() -> None:
    found = analyze(prefetched(wait=20.0))
    assert (found.verdict, found.bottleneck, found.knobs) == ("healthy", None, ())
    assert "no call" in found.summary[0]


def test_slow_calls_that_cost_little_are_healthy() -> None:
    main: list[EventLike] = [(ROOT, 10_000.0 * call, 100.0, {"id": 1}) for call in range(5)]
    found = analyze(space(host_plane(line("python", *main))))
    assert found.verdict == "healthy"
    assert found.pipelines["slow_calls"][0] == 5
    assert "slow calls" in found.summary[0]


@pytest.mark.parametrize(
    ("begin", "frac", "of"), [(1_100, 0.4, "its step"), (5_600, 400 / 6_000, "the recording")]
)
def test_a_single_call_has_the_step_it_falls_into(begin: float, frac: float, of: str) -> None:
    """Outside of steps it has the whole recording, here 6 ms."""
    steps: list[EventLike] = [
        ("train", base, 1_000.0, {"step_num": number, "_r": 1})
        for number, base in enumerate((0.0, 1_000.0, 2_000.0))
    ]
    call = (ROOT, begin, 400.0, {"id": 1})
    found = analyze(space(host_plane(line("python", *steps), line("other", call))))
    assert found.pipelines["wait_frac"][0] == pytest.approx(frac)
    assert found.pipelines["wait_of"][0] == of


def test_what_device_work_hides_is_said() -> None:
    """Of the 420 µs of waiting in each millisecond a kernel runs beside the last 320."""
    kernels = [("k", 1000.0 * call + 400, 600.0) for call in range(4)]
    found = analyze(prefetched() + space(gpu(0, stream(1, *kernels))))
    assert found.verdict == "input_bound"
    assert "waiting for pipeline" in found.summary[0]
    # A step of 900 µs waits for 100.
    assert "hides part of it: input costs 11 % of each step" in found.summary[0]


def test_no_activity_is_an_answer() -> None:
    quiet = space(host_plane(line("python", ("train", 0, 10.0, {"step_num": 0, "_r": 1}))))
    found = analyze(quiet)
    assert (found.verdict, found.bottleneck, found.graph) == ("no_activity", None, None)
    unavailable = TOOL.available(profile(quiet))
    assert unavailable is not None
    assert "Iterator::" in unavailable.missing


def test_a_call_whose_data_was_begun_before_the_recording_is_not_judged() -> None:
    early: list[EventLike] = [
        (ROOT, 0.0, 50_000.0, {"id": 1}),
        (PREFETCH, 0.0, 50_000.0, {"id": 2, "parent_id": 1}),
        ("PrefetchConsume", 49_990.0, 1.0, {"element_id": 77}),
    ]
    main: list[EventLike] = list(early)
    pool: list[EventLike] = []
    for call in range(3):
        base = 60_000.0 + 1000 * call
        main += [
            (ROOT, base, 420.0, {"id": 1}),
            (PREFETCH, base, 410.0, {"id": 2, "parent_id": 1}),
            ("PrefetchConsume", base + 405, 1.0, {"element_id": call}),
        ]
        pool += [
            ("PrefetchProduce", base, 400.0, {"element_id": call}),
            (MAP, base, 400.0, {"id": 3, "parent_id": 2}),
        ]
    found = analyze(space(host_plane(line("python", *main), line("tf_data_x/1", *pool))))
    assert found.bottleneck is not None
    assert found.bottleneck.long_name == MAP
    assert found.pipelines["incomplete_calls"] == [1]
    slowest = analyze(
        space(host_plane(line("python", *main), line("tf_data_x/1", *pool))), rank=0
    ).graph
    assert slowest is not None
    assert not slowest.is_judged
    assert slowest.duration_us == pytest.approx(50_000)


def test_without_produce_events_the_waiting_parent_is_the_cause() -> None:
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for call in range(3):
        base = 1000.0 * call
        main += [(ROOT, base, 420.0, {"id": 1}), (PREFETCH, base, 410.0, {"id": 2, "parent_id": 1})]
        pool.append((MAP, base + 5, 390.0, {"id": 3, "parent_id": 2}))
    found = analyze(space(host_plane(line("python", *main), line("tf_data_x/1", *pool))))
    assert found.bottleneck is not None
    assert found.bottleneck.long_name == MAP
    assert nodes(found)[MAP]["critical_us"] == pytest.approx(390)


def test_iterators_that_name_each_other_as_parents_end() -> None:
    a, b = f"{ROOT}::Map", f"{ROOT}::Map::Range"
    loop = [
        (ROOT, 0.0, 100.0, {"id": 1}),
        (a, 500.0, 100.0, {"id": 2, "parent_id": 3}),
        (b, 500.0, 100.0, {"id": 3, "parent_id": 2}),
    ]
    lines = [line(f"tf_data_{i}", event) for i, event in enumerate(loop)]
    found = analyze(space(host_plane(*lines)))
    assert list(found.pipelines["calls"]) == [1]
    assert set(nodes(found)) == {ROOT}


def test_the_costliest_pipeline_of_all_hosts_is_explained() -> None:
    found = analyze(prefetched(wait=200.0), prefetched(wait=600.0), prefetched(wait=300.0))
    assert found.bottleneck is not None
    assert found.bottleneck.host == "h1"
    assert list(found.pipelines["host"]) == ["h1", "h2", "h0"]
    chosen = analyze(prefetched(wait=200.0), prefetched(wait=600.0), graph_host="h0").graph
    assert chosen is not None
    assert chosen.host == "h0"


@pytest.mark.parametrize(
    ("made", "named"), [(100.0, MAP), (30.0, PREFETCH)], ids=["worker", "hand-over"]
)
def test_a_late_hand_over_is_named_only_if_no_stage_works(made: float, named: str) -> None:
    """The element was ready after ``made`` µs; the call took 400 µs to return it."""
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for call in range(3):
        base = 1000.0 * call
        main += [
            (ROOT, base, 400.0, {"id": 1}),
            (PREFETCH, base, 400.0, {"id": 2, "parent_id": 1}),
            ("PrefetchConsume", base + 395, 1.0, {"element_id": call}),
        ]
        pool += [
            ("PrefetchProduce", base, made, {"element_id": call}),
            (MAP, base, made, {"id": 3, "parent_id": 2}),
        ]
    found = analyze(space(host_plane(line("python", *main), line("tf_data_x/1", *pool))))
    assert found.bottleneck is not None
    assert found.bottleneck.long_name == named


def test_device_pipelines_are_told_apart() -> None:
    feed: list[EventLike] = []
    for call in range(3):
        base = 1000.0 * call
        feed += [
            ("Iterator::Prefetch", base, 400.0, {"id": 1}),
            ("Iterator::Prefetch::Generator", base + 5, 390.0, {"id": 2, "parent_id": 1}),
        ]
    found = analyze(space(host_plane(line("tf_data_x/1", *feed))))
    assert list(found.pipelines["name"]) == ["Device:0"]
    assert found.bottleneck is not None
    assert found.bottleneck.kind == "device feed"
    assert found.knobs == ()


def test_unknown_choices_say_what_is_known() -> None:
    with pytest.raises(UsageError, match="Host:0"):
        analyze(prefetched(), pipeline="Host:7")
    with pytest.raises(UsageError, match=r"^There is no pipeline on host 'h9'\."):
        analyze(prefetched(), graph_host="h9")
    with pytest.raises(UsageError, match=r"0 \(slowest\) to 3"):
        analyze(prefetched(), rank=9)


def frames(largest: str, types: str = "double", *, calls: int = 4) -> bytes:
    """A map makes spectra of 256 numbers of two bytes each, and a batch of 4 keeps their means."""
    main: list[EventLike] = []
    for call in range(calls):
        base = 1000.0 * call
        kept = {"shapes": "[4,8]", "types": "float"}
        main += [
            ("IteratorGetNext", base, 400.0),
            (ROOT, base, 400.0, {"id": 1, **kept}),
            (f"{ROOT}::BatchV2", base + 1, 398.0, {"id": 2, "parent_id": 1, **kept}),
        ]
        for part in range(4):
            at = base + 5 + 90.0 * part
            made = {"shapes": largest, "types": types}
            read = {"shapes": "[256]", "types": "int16"}
            main += [
                (f"{ROOT}::BatchV2::Map", at, 85.0, {"id": 3, "parent_id": 2, **made}),
                (f"{ROOT}::BatchV2::Map::TensorSlice", at, 1.0, {"id": 4, "parent_id": 3, **read}),
            ]
    return space(host_plane(line("python", *main)))


def test_a_stage_says_how_large_its_elements_are() -> None:
    one = analyze(frames("[129,64]")).bottleneck
    assert one is not None and one.long_name == f"{ROOT}::BatchV2::Map"
    assert (one.shape, one.size_bytes) == ("[129,64] double", 129 * 64 * 8)


@pytest.mark.parametrize(
    ("shapes", "types"), [("[129,?]", "double"), ("[]", "tstring"), ("[3] []", "float")]
)
def test_elements_of_an_unknown_size_say_nothing(shapes: str, types: str) -> None:
    one = analyze(frames(shapes, types)).bottleneck
    assert one is not None and one.shape == "" and one.size_bytes != one.size_bytes


BATCH = f"{PREFETCH}::MapAndBatch"
DECODE = f"{BATCH}::ParallelMapV2"


def passes(*ids: int, stages: tuple[str, ...] = (DECODE, BATCH)) -> bytes:
    """A pass over the data for each id, of four calls that wait for the first of the stages."""
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for number, id_ in enumerate(ids):
        for call in range(4):
            base = 4000.0 * number + 1000.0 * call + 300
            main += [
                ("train", base - 1, 900.0, {"step_num": 4 * number + call, "_r": 1}),
                ("IteratorGetNext", base, 420.0),
                (ROOT, base, 420.0, {"id": id_}),
                (PREFETCH, base, 410.0, {"id": id_ + 1, "parent_id": id_}),
                ("PrefetchConsume", base + 405, 1.0, {"element_id": call + 10 * number}),
            ]
            pool += [("PrefetchProduce", base - 300, 700.0, {"element_id": call + 10 * number})]
            for depth, stage in enumerate(reversed(stages)):
                made = 700.0 - 20 * depth
                told = {"id": id_ + 2 + depth, "parent_id": id_ + 1 + depth}
                pool += [(stage, base + 400 - made, made, told)]
            pool += [("flip/RandomUniform:RandomUniform", base, 1.0)]
    return space(
        host_plane(line("python", *main), line("tf_data_iterator_resource/1", *pool)),
    )


@pytest.mark.parametrize(("ids", "again"), [((10, 50), True), ((10,), False), ((10, 10), False)])
def test_a_second_iterator_of_the_same_stages_is_another_pass(
    ids: tuple[int, ...], again: bool
) -> None:
    found = analyze(passes(*ids)).bottleneck
    assert found is not None
    assert (found.iterator, found.is_repeated) == ("ParallelMapV2", again)


def test_random_numbers_are_those_of_the_last_function() -> None:
    found = analyze(passes(10)).bottleneck
    assert found is not None
    assert not found.is_random, "the batch's function comes after it"
    analysis = analyze(passes(10, stages=(MAP,)))
    alone = analysis.bottleneck
    assert alone is not None
    assert alone.is_random
    assert "cache" not in {one.knob for one in analysis.knobs}


@pytest.mark.parametrize(
    ("downstream", "batched"),
    [
        (["Root", "Prefetch", "BatchV2"], True),
        (["Root", "Prefetch", "BatchV2", "Shuffle", "Repeat"], True),
        (["Root", "Prefetch", "BatchV2", "Filter"], False),
        (["Root", "Prefetch"], False),
    ],
)
def test_a_shuffle_before_the_batch_does_not_keep_a_map_from_whole_batches(
    downstream: list[str], batched: bool
) -> None:
    """``map``, ``shuffle`` and ``batch`` is the usual order."""
    assert _are_batched(downstream) == batched
