"""Each rule about tf.data on the facts of its fault, and on those of its neighbours' faults."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.analysis.tf_data_bottleneck_analysis import Bottleneck
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Finding, Place
from tests.unit.advice.made import saying
from tests.unit.advice.starved import SERIAL, results

PARALLEL = replace(SERIAL, iterator="ParallelMapV2", parallelism=4)
PARALLEL = replace(PARALLEL, long_name=SERIAL.long_name.replace("Map", "ParallelMapV2"))
CACHEABLE = replace(PARALLEL, is_repeated=True)
READER = replace(
    SERIAL, kind="source", iterator="TFRecord", long_name="Iterator::Root::FlatMap::TFRecord"
)
GENERATOR = replace(
    SERIAL, kind="python source", long_name="Iterator::Root::Prefetch::FlatMap::Generator"
)
PYTHON_MAP = replace(SERIAL, python_frac=0.8)
CHEAP = replace(PARALLEL, elements=2048, element_us=60)
FILES = replace(PARALLEL, read_frac=0.7)
STARVED = replace(PARALLEL, threads=1)

WINDOWS = replace(
    SERIAL,
    kind="interleave",
    iterator="FlatMap",
    long_name="Iterator::Root::Prefetch::MapAndBatch::Shuffle::FlatMap",
    datasets=128,
    maker="Iterator::Root::Prefetch::MapAndBatch::Shuffle::FlatMap",
)

# The change each rule reads, with the share of the step the tool predicts for it.
CASES: dict[str, tuple[Bottleneck, dict[str, float | None], float]] = {
    "serial-map": (SERIAL, {"num_parallel_calls": 0.45}, 45.0),
    "missing-prefetch": (PARALLEL, {"prefetch": 0.4}, 40.0),
    "no-cache": (CACHEABLE, {"cache": 0.55}, 55.0),
    "no-interleave": (READER, {"interleave": 0.3}, 30.0),
    "nested-datasets": (WINDOWS, {"whole_batches": 0.42, "interleave": 0.3}, 42.0),
    "python-in-pipeline": (GENERATOR, {"native_function": 0.5}, 50.0),
    "batch-after-map": (CHEAP, {"vectorised_map": 0.35}, 35.0),
    "file-reads": (FILES, {"packed_files": 0.42}, 42.0),
    "late-filter": (replace(PARALLEL, kept_frac=0.25), {"early_filter": 0.4}, 40.0),
    "late-shard": (PARALLEL, {"early_shard": 0.45}, 45.0),
    "few-input-threads": (STARVED, {"threads": 0.4}, 40.0),
    "host-input-limit": (PARALLEL, {"offline": 0.55}, 55.0),
}


def answer(rule_id: str, found: dict[str, Any]) -> Answer:
    (one,) = next(rule for rule in RULES if rule.id == rule_id).check(Results(found))
    return one


@pytest.mark.parametrize("elements", [1, 32], ids=["whole batches", "one at a time"])
def test_a_generator_is_told_whatever_it_makes(elements: int) -> None:
    """Keras feeds a PyDataset through a generator of batches."""
    stage = replace(GENERATOR, elements=elements)
    found = answer("python-in-pipeline", results(stage, {"native_function": 0.5}))
    assert isinstance(found, Finding)


def test_python_beside_the_steps_ops_takes_a_core_from_them() -> None:
    """It keeps up, nearly: what is waited for is little, and yet the ops have half of the cores."""
    stage = replace(GENERATOR, elements=1, element_us=80_000)
    gains: dict[str, float | None] = {"native_function": 0.06}
    found = answer("python-in-pipeline", results(stage, gains, wait_ms=6.0, host_cores=2))
    assert isinstance(found, Finding)
    assert found.saving_high_ms == pytest.approx(6.0 + 0.4 * 94.0)
    alone = answer("python-in-pipeline", results(stage, gains, wait_ms=6.0))
    assert isinstance(alone, Finding)
    assert alone.saving_high_ms == pytest.approx(6.0)


def test_whole_batches_of_a_generator_are_not_to_be_prefetched() -> None:
    """Keras builds the pipeline around a PyDataset: nobody can end it with a prefetch."""
    stage = replace(GENERATOR, elements=1)
    gains: dict[str, float | None] = {"native_function": 0.5, "prefetch": 0.4}
    assert isinstance(answer("missing-prefetch", results(stage, gains)), Silence)
    several = replace(GENERATOR, elements=32)
    assert isinstance(answer("missing-prefetch", results(several, gains)), Finding)


def test_datasets_of_windows_are_no_files() -> None:
    """A flat_map of windows was told to read several files at once."""
    found = results(WINDOWS, {"whole_batches": 0.42, "interleave": 0.3})
    assert isinstance(answer("no-interleave", found), Silence)
    answer("nested-datasets", found)
    few = replace(WINDOWS, datasets=2)
    files = answer("no-interleave", results(few, {"interleave": 0.3}))
    assert isinstance(files, Finding)


@pytest.mark.parametrize("rule_id", CASES)
@pytest.mark.parametrize("other", CASES)
def test_a_rule_comes_first_only_on_its_own_fault(rule_id: str, other: str) -> None:
    stage, gains, _saving = CASES[other]
    rules = [rule for rule in RULES if rule.id in CASES or rule.id == "input-bound"]
    first = advise(results(stage, gains), rules).findings[0]
    assert (first.rule == rule_id) == (rule_id == other)


@pytest.mark.parametrize("rule_id", CASES)
def test_a_rule_is_silent_where_input_costs_nothing(rule_id: str) -> None:
    stage, gains, _saving = CASES[rule_id]
    found = answer(rule_id, results(stage, gains, wait_ms=4.9))
    assert isinstance(found, Silence)


@pytest.mark.parametrize("rule_id", CASES)
def test_a_rule_cannot_know_without_steps_or_tf_data(rule_id: str) -> None:
    stage, gains, _saving = CASES[rule_id]
    assert isinstance(answer(rule_id, results(stage, gains, step_ms=nan)), Unknown)
    assert isinstance(answer(rule_id, results(None, {})), Unknown)


def test_random_or_cached_elements_are_not_to_be_cached() -> None:
    for stage in (replace(CACHEABLE, is_random=True), replace(CACHEABLE, has_cache=True)):
        assert isinstance(answer("no-cache", results(stage, {"cache": 0.5})), Silence)


def test_a_change_that_gains_nothing_is_no_finding() -> None:
    assert isinstance(answer("serial-map", results(SERIAL, {})), Silence)


def test_python_that_holds_the_lock_beside_the_step_is_found() -> None:
    """Nobody waits for a batch, but PyFunc ran 700 of 1000 ms and nothing computed for 50."""
    found = results(None, {}, wait_ms=1.0)
    ops = [
        SimpleNamespace(type="PyFunc", self_time_ms=700.0),
        SimpleNamespace(type="Cast", self_time_ms=100.0),
    ]
    found["tf_data_bottleneck_analysis"].function_ops.records = lambda: ops
    found["host_activity"] = SimpleNamespace(step_time_ms=100.0, idle_ms=50.0)
    held = answer("python-in-pipeline", found)
    assert isinstance(held, Finding)
    assert held.saving_ms == pytest.approx(50.0), "min(70 % of 100 ms, 50 ms)"
    found["host_activity"] = SimpleNamespace(step_time_ms=100.0, idle_ms=20.0)
    assert isinstance(answer("python-in-pipeline", found), Silence)


@pytest.mark.parametrize(("python_ms", "frac"), [(300.0, 1.0), (100.0, 1.0), (300.0, 0.2)])
def test_a_batch_that_is_ready_waits_for_the_lock_that_the_pipeline_holds(
    python_ms: float, frac: float
) -> None:
    """30 of each 100 ms are Python's, of a wait of 60 ms: half of it."""
    ready = replace(PYTHON_MAP, iterator="Prefetch", kind="hand-over", python_frac=frac)
    found = results(ready, {})
    ops = [SimpleNamespace(type="EagerPyFunc", self_time_ms=python_ms)]
    found["tf_data_bottleneck_analysis"].function_ops.records = lambda: ops
    held = answer("python-in-pipeline", found)
    if (python_ms, frac) != (300.0, 1.0):
        assert isinstance(held, Silence)
        return
    assert isinstance(held, Finding)
    assert (held.saving_ms, held.saving_high_ms) == (30.0, 60.0)


def test_what_makes_elements_in_python_is_placed_where_other_threads_are() -> None:
    found = results(GENERATOR, {"native_function": 0.5})
    busy = rival(function="windows", line=12, busy_frac=0.6)
    found["step_account"] = account_of(busy, rival(function="watch", line=7, busy_frac=0.4))
    one = answer("python-in-pipeline", found)
    assert isinstance(one, Finding)
    assert one.place == Place("windows", "train.py", 12)
    # Who holds the lock all the time keeps the loop from its own Python: another fault.
    found["step_account"] = account_of(rival(function="watch", line=7, loop_waits=True))
    one = answer("python-in-pipeline", found)
    assert isinstance(one, Finding)
    assert one.place is None
    # What tf.data calls is it, however busy another thread is, and if it holds the lock.
    made = rival(function="pad", line=3, busy_frac=0.1, loop_waits=True, makes_input=True)
    found["step_account"] = account_of(busy, made)
    one = answer("python-in-pipeline", found)
    assert isinstance(one, Finding)
    assert one.place == Place("pad", "train.py", 3)


def test_a_late_hand_over_is_no_fault_of_the_pipeline() -> None:
    """A step of 100 ms waits 20 for input, beside what calls every wait the input's fault."""
    ready = replace(
        SERIAL, kind="hand-over", iterator="Prefetch", long_name="Iterator::Root::Prefetch"
    )
    found = results(ready, {}, wait_ms=20.0)
    nodes = [
        SimpleNamespace(iterator="Prefetch", self_us=18_000.0),
        SimpleNamespace(iterator="BatchV2", self_us=1_400.0),
    ]
    found["tf_data_bottleneck_analysis"].graph = SimpleNamespace(
        nodes=SimpleNamespace(records=lambda: nodes)
    )
    rule = next(rule for rule in RULES if rule.id == "late-hand-over")
    (one,) = advise(found, [rule, saying("input-bound", 20.0, "input")]).findings
    assert (one.rule, one.severity) == ("late-hand-over", "info")
    assert one.saving_high_ms == pytest.approx(20.0)


def rival(**known: Any) -> SimpleNamespace:
    """A thread beside the loop."""
    plain = {"file": "train.py", "line": 1, "busy_frac": 0.5, "count": 1, "loop_waits": False}
    plain = plain | {"makes_input": False, "call": ""}
    return SimpleNamespace(**{**plain, **known})


def account_of(*rivals: SimpleNamespace) -> SimpleNamespace:
    """A step account that knows these threads."""
    return SimpleNamespace(rivals=SimpleNamespace(records=lambda: list(rivals)))
