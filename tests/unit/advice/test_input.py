"""Rules about input: the stages of tf.data, the cores it takes, pipelines made again."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.analysis.tf_data_bottleneck_analysis import Bottleneck, Knob
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Finding, Place
from stepscope.tables.in_steps.loaders import restarts
from tests.unit.advice.asking import Asked, pictured
from tests.unit.advice.made import saying
from tests.unit.formats.kineto.layout import profile, x

# ------------------------------------------------------------------ stages of tf.data

# A step of 100 ms that waits 60 ms for input; the pipeline is called once a step.
SERIAL = Bottleneck(
    host="h",
    pipeline="Host:0",
    iterator="Map",
    long_name="Iterator::Root::Prefetch::BatchV2::Map",
    kind="map",
    self_time_us=50_000,
    self_time_frac=0.9,
    max_latency_us=70_000,
    wait_frac=0.6,
    wait_of="time between calls",
    wait_us=60_000,
    parallelism=1,
    cores=4,
    threads=4,
    elements=8,
    element_us=5_000,
)
PARALLEL = replace(
    SERIAL,
    iterator="ParallelMapV2",
    long_name=SERIAL.long_name.replace("Map", "ParallelMapV2"),
    parallelism=4,
)
CACHEABLE = replace(PARALLEL, is_repeated=True)
READER = replace(
    SERIAL, kind="source", iterator="TFRecord", long_name="Iterator::Root::FlatMap::TFRecord"
)
GENERATOR = replace(
    SERIAL, kind="python source", long_name="Iterator::Root::Prefetch::FlatMap::Generator"
)
FLAT_MAP = "Iterator::Root::Prefetch::MapAndBatch::Shuffle::FlatMap"
WINDOWS = replace(
    SERIAL,
    kind="interleave",
    iterator="FlatMap",
    long_name=FLAT_MAP,
    datasets=128,
    maker=FLAT_MAP,
)
READY = replace(SERIAL, kind="hand-over", iterator="Prefetch", long_name="Iterator::Root::Prefetch")

Gains = dict[str, float | None]
# By rule the stage, and the changes with the share of the step that the tool predicts for each.
CASES: dict[str, tuple[Bottleneck, Gains]] = {
    "serial-map": (SERIAL, {"num_parallel_calls": 0.45}),
    "missing-prefetch": (PARALLEL, {"prefetch": 0.4}),
    "no-cache": (CACHEABLE, {"cache": 0.55}),
    "no-interleave": (READER, {"interleave": 0.3}),
    "nested-datasets": (WINDOWS, {"whole_batches": 0.42, "interleave": 0.3}),
    "python-in-pipeline": (GENERATOR, {"native_function": 0.5}),
    "batch-after-map": (replace(PARALLEL, elements=2048, element_us=60), {"vectorised_map": 0.35}),
    "file-reads": (replace(PARALLEL, read_frac=0.7), {"packed_files": 0.42}),
    "late-filter": (replace(PARALLEL, kept_frac=0.25), {"early_filter": 0.4}),
    "late-shard": (PARALLEL, {"early_shard": 0.45}),
    "few-input-threads": (replace(PARALLEL, threads=1), {"threads": 0.4}),
    "host-input-limit": (PARALLEL, {"offline": 0.55}),
}


def results(
    stage: Bottleneck | None,
    gains: Gains,
    *,
    wait_ms: float = 60.0,
    step_ms: float = 100.0,
    host_cores: int = 0,
    ops: dict[str, float] | None = None,
    rivals: tuple[SimpleNamespace, ...] = (),
) -> dict[str, Any]:
    """Results of a second that was recorded, by tool id.

    Args:
        stage: The bottleneck.
        gains: By change the share of the step that it would gain.
        wait_ms: How long each step waits for input.
        step_ms: How long each step takes.
        host_cores: Cores of the host, if that computes the steps and not a device.
        ops: Milliseconds of the ops in functions of tf.data.
        rivals: Threads beside the loop.
    """
    knobs = tuple(
        Knob(name, None if gain is None else gain * step_ms * 1e3, gain, "", "")
        for name, gain in gains.items()
    )
    steps = SimpleNamespace(
        time_ms=SimpleNamespace(mean=step_ms),
        confidence=1.0,
        count=10,
        source="markers",
        recorder_factor=1.0,
    )
    environment = SimpleNamespace(
        profile_duration_ms=1000.0,
        framework="TensorFlow",
        device_count=0 if host_cores else 1,
        host_cores=host_cores,
    )
    listed = [SimpleNamespace(type=name, self_time_ms=time) for name, time in (ops or {}).items()]
    found: dict[str, Any] = {
        "overview_page": SimpleNamespace(
            steps=steps,
            breakdown_ms={"input": wait_ms, "host_to_device": 0.0, "other": 0.0},
            environment=environment,
        ),
        "tf_data_bottleneck_analysis": SimpleNamespace(
            bottleneck=stage, knobs=knobs, function_ops=table(*listed), graph=None
        ),
    }
    account = SimpleNamespace(rivals=table(*rivals), has_python=True)
    return found | ({"step_account": account} if rivals else {})


def table(*rows: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(records=lambda: list(rows))


def rival(**known: Any) -> SimpleNamespace:
    """A thread beside the loop."""
    plain = {"file": "train.py", "line": 1, "busy_frac": 0.5, "count": 1, "loop_waits": False}
    return SimpleNamespace(**plain | {"makes_input": False, "call": ""} | known)


def answer(rule_id: str, found: dict[str, Any]) -> Answer:
    (one,) = next(rule for rule in RULES if rule.id == rule_id).check(Results(found))
    return one


def finding(rule_id: str, found: dict[str, Any]) -> Finding:
    one = answer(rule_id, found)
    assert isinstance(one, Finding), one
    return one


@pytest.mark.parametrize("rule_id", CASES)
def test_a_rule_comes_first_on_its_own_fault(rule_id: str) -> None:
    stage, gains = CASES[rule_id]
    rules = [rule for rule in RULES if rule.id in CASES or rule.id == "input-bound"]
    assert advise(results(stage, gains), rules).findings[0].rule == rule_id
    assert isinstance(answer(rule_id, results(stage, gains, wait_ms=4.9)), Silence)
    # Without steps, or without tf.data, it cannot know.
    assert isinstance(answer(rule_id, results(stage, gains, step_ms=nan)), Unknown)
    assert isinstance(answer(rule_id, results(None, {})), Unknown)


@pytest.mark.parametrize(
    ("rule_id", "stage", "gains", "fires"),
    [
        # Keras feeds a PyDataset through a generator of batches, which nobody can prefetch.
        ("python-in-pipeline", replace(GENERATOR, elements=1), {"native_function": 0.5}, True),
        ("python-in-pipeline", replace(GENERATOR, elements=32), {"native_function": 0.5}, True),
        ("missing-prefetch", replace(GENERATOR, elements=1), {"prefetch": 0.4}, False),
        ("missing-prefetch", replace(GENERATOR, elements=32), {"prefetch": 0.4}, True),
        # A flat_map of windows was told to read several files at once.
        ("no-interleave", WINDOWS, {"interleave": 0.3}, False),
        ("no-interleave", replace(WINDOWS, datasets=2), {"interleave": 0.3}, True),
        ("no-cache", replace(CACHEABLE, is_random=True), {"cache": 0.5}, False),
        ("no-cache", replace(CACHEABLE, has_cache=True), {"cache": 0.5}, False),
        ("serial-map", SERIAL, {}, False),  # the change gains nothing
    ],
)
def test_a_stage_that_a_rule_is_about_or_not(
    rule_id: str, stage: Bottleneck, gains: Gains, fires: bool
) -> None:
    assert isinstance(answer(rule_id, results(stage, gains)), Finding if fires else Silence)


@pytest.mark.parametrize(("cores", "beyond_ms"), [(2, 0.4 * 94.0), (0, 0.0)])
def test_python_beside_the_steps_ops_takes_a_core_from_them(cores: int, beyond_ms: float) -> None:
    """It keeps up, nearly: what is waited for is little, and yet the ops have half of the cores."""
    stage = replace(GENERATOR, elements=1, element_us=80_000)
    found = results(stage, {"native_function": 0.06}, wait_ms=6.0, host_cores=cores)
    high_ms = finding("python-in-pipeline", found).saving_high_ms
    assert high_ms == pytest.approx(6.0 + beyond_ms)


@pytest.mark.parametrize(("idle_ms", "saving_ms"), [(50.0, 50.0), (20.0, None)])
def test_python_that_holds_the_lock_beside_the_step_is_found(
    idle_ms: float, saving_ms: float | None
) -> None:
    """Nobody waits for a batch, but PyFunc ran 700 of 1000 ms and nothing computed for 50."""
    found = results(None, {}, wait_ms=1.0, ops={"PyFunc": 700.0, "Cast": 100.0})
    found["host_activity"] = SimpleNamespace(step_time_ms=100.0, idle_ms=idle_ms)
    held = answer("python-in-pipeline", found)
    assert (held.saving_ms if isinstance(held, Finding) else None) == saving_ms


@pytest.mark.parametrize(
    ("python_ms", "frac", "savings_ms"),
    [(300.0, 1.0, (30.0, 60.0)), (100.0, 1.0, None), (300.0, 0.2, None)],
)
def test_a_batch_that_is_ready_waits_for_the_lock_that_the_pipeline_holds(
    python_ms: float, frac: float, savings_ms: tuple[float, float] | None
) -> None:
    """30 of each 100 ms are Python's, of a wait of 60 ms: half of it."""
    stage = replace(READY, python_frac=frac)
    held = answer("python-in-pipeline", results(stage, {}, ops={"EagerPyFunc": python_ms}))
    if savings_ms is None:
        assert isinstance(held, Silence)
    else:
        assert isinstance(held, Finding)
        assert (held.saving_ms, held.saving_high_ms) == savings_ms


BUSY = rival(function="windows", line=12, busy_frac=0.6)


@pytest.mark.parametrize(
    ("rivals", "place"),
    [
        ((BUSY, rival(function="watch", line=7, busy_frac=0.4)), Place("windows", "train.py", 12)),
        # Who holds the lock all the time keeps the loop from its own Python: another fault.
        ((rival(function="watch", line=7, loop_waits=True),), None),
        # What tf.data calls is it, however busy another thread is, and if it holds the lock.
        (
            (BUSY, rival(function="pad", busy_frac=0.1, loop_waits=True, makes_input=True)),
            Place("pad", "train.py", 1),
        ),
    ],
)
def test_what_makes_elements_in_python_is_placed_where_other_threads_are(
    rivals: tuple[SimpleNamespace, ...], place: Place | None
) -> None:
    found = results(GENERATOR, {"native_function": 0.5}, rivals=rivals)
    assert finding("python-in-pipeline", found).place == place


def test_a_late_hand_over_is_no_fault_of_the_pipeline() -> None:
    """A step of 100 ms waits 20 for input, beside what calls every wait the input's fault."""
    found = results(READY, {}, wait_ms=20.0)
    nodes = {"Prefetch": 18_000.0, "BatchV2": 1_400.0}
    listed = [SimpleNamespace(iterator=name, self_us=us) for name, us in nodes.items()]
    found["tf_data_bottleneck_analysis"].graph = SimpleNamespace(nodes=table(*listed))
    rule = next(rule for rule in RULES if rule.id == "late-hand-over")
    (one,) = advise(found, [rule, saying("input-bound", 20.0, "input")]).findings
    assert (one.rule, one.severity) == ("late-hand-over", "info")
    assert one.saving_high_ms == pytest.approx(20.0)


# ------------------------------------------------------------------ cores


def takes_cores(op: str = "PyFunc", busy_ms: float = 620.0, **known: Any) -> Answer:
    """Of steps of 20 ms; a fifth of ``busy_ms`` is of Cast."""
    ops = {op: 0.8 * busy_ms, "Cast": 0.2 * busy_ms, "MapDataset": 900.0}
    devices = known.pop("devices", 0)
    found = results(None, {}, **{"wait_ms": 0.2, "host_cores": 2, "step_ms": 20.0} | known, ops=ops)
    found["overview_page"].environment.device_count = devices
    return answer("input-takes-cores", found)


@pytest.mark.parametrize("op", ["PyFunc", "DecodeJpeg"])
def test_what_makes_batches_beside_the_step_is_told_with_its_share_of_the_cores(op: str) -> None:
    """0.62 of 2 cores is 31 % of a step of 20 ms: 6.2 ms."""
    found = takes_cores(op, rivals=(rival(function="rarity", line=9, busy_frac=0.7),))
    assert isinstance(found, Finding)
    assert (found.saving_low_ms, found.saving_high_ms) == pytest.approx((0.4 * 6.2, 1.6 * 6.2))
    assert found.place == Place("rarity", "train.py", 9)


def test_python_functions_take_one_core_together() -> None:
    """Four calls at once wait for one lock: a core of 2 s, and 0.5 of Cast on 2 cores."""
    found = takes_cores(busy_ms=2500.0, rivals=(rival(function="rarity", busy_frac=0.9),))
    assert isinstance(found, Finding)
    assert found.measured["busy_cores"] == pytest.approx(1.0 + 0.5)


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        ({"op": "DecodeJpeg", "busy_ms": 250.0}, Silence),  # 0.25 cores
        ({"busy_ms": 900.0}, Silence),  # of which 720 ms compute or wait: nothing tells
        ({"op": "DecodeJpeg", "host_cores": 16}, Silence),
        ({"op": "DecodeJpeg", "devices": 1}, Silence),  # a device computes the steps
        ({"op": "DecodeJpeg", "wait_ms": 5.0}, Silence),  # the step waits for input
        ({"op": "DecodeJpeg", "host_cores": 0}, Unknown),
    ],
)
def test_it_is_silent_where_input_takes_nothing_from_the_step(
    known: dict[str, Any], kind: type
) -> None:
    assert isinstance(takes_cores(**known), kind)


# ------------------------------------------------------------------ made again in every step

STEP_US, STEPS = 1000.0, 8
LOAD = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def loading(*, is_made_again: bool = True) -> list[dict[str, Any]]:
    """Steps of 1 ms: 0.5 of the loader, which may draw an order, then a product."""
    events: list[dict[str, Any]] = []
    iters = "torch/utils/data/{}.py({}): __iter__"
    for step in range(STEPS):
        at = STEP_US * step
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, STEP_US))
        events.append(x("user_annotation", LOAD, at + 20, 500))
        events.append(x("cpu_op", "aten::stack", at + 400, 100))
        events.append(x("cpu_op", "aten::mm", at + 550, 400))
        if is_made_again:
            events.append(x("cpu_op", "aten::randperm", at + 30, 300))
            events.append(x("python_function", iters.format("dataloader", 492), at + 5, 10))
            events.append(x("python_function", iters.format("sampler", 160), at + 25, 310))
    return events


def test_a_loaders_iterator_in_every_step_is_found_with_what_it_takes(tmp_path: Path) -> None:
    asked = Asked(profile(tmp_path, loading()))
    found = asked.finding("restarted-pipeline")
    assert found.measured["restarts_per_step"] == pytest.approx(1.0)
    assert found.measured["restart_ms"] == pytest.approx(0.32)
    assert found.saving_high_ms == pytest.approx(0.5)
    assert found.severity == "high"
    # Parts of a batch that is made on the loop's thread are the input's.
    parts = asked.result("step_account").part_list()
    share = {one.op: one.number("input_frac") for one in parts}
    assert [share[f"aten/{op}"] for op in ("randperm", "stack", "mm")] == [1.0, 1.0, 0.0]


def test_a_permutation_of_the_programs_own_does_not_count(tmp_path: Path) -> None:
    events = loading(is_made_again=False)
    events += [x("cpu_op", "aten::randperm", STEP_US * n + 960, 30) for n in range(STEPS)]
    (host,) = profile(tmp_path, events).hosts
    assert restarts(host) is None


def test_a_dataset_in_every_step_is_found_and_inner_ones_are_not_counted() -> None:
    """What an interleave makes for each file, on a thread of tf.data's, does not count."""
    found = pictured(
        ".R---..M--.R---..M--.R---..M--.R---..M--.R---..M--.R---..M--",
        "..F-.......F-........F-.......F-........F-.......F-.........",
        "tf_data_0  ..I.I.I...I.I.I.....I.I.I...I.I.I.....I.I.I...I.I.I.........",
        steps=6,
        R="MakeIterator::RootDataset",
        F="MakeIterator::FlatMapDataset",
        I="MakeIterator::TensorSliceDataset",
        M="model/dense/MatMul:MatMul",
    )
    one = found.finding("restarted-pipeline")
    assert one.measured["restarts_per_step"] == pytest.approx(1.0)
    assert one.measured["restart_ms"] == pytest.approx(0.4)
    # Half of what surrounds the 0.4 ms of the 1 ms step goes with them at least.
    around = found.result("step_account").part_list()
    most = sum(part.time_ms for part in around if part.kind != "op")
    assert one.saving_ms == pytest.approx((0.4 + most) / 2, abs=0.01)
