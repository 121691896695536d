"""Rules about many workers: unequal work, late ones, transfers, hung collectives, pods."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.pods.faults import FAULTS
from bench.pods.job import Layout, Simulation, no_fault
from bench.pods.recorded import summaries
from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.advice.rules.workers import collective_time
from stepscope.formats import FORMATS
from stepscope.pod.analyse import analyse
from stepscope.pod.report import Pod
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Finding
from stepscope.store import read_pieces
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GOOD, POD, RING, layers
from tests.profiles.loops import Collective, Kernel
from tests.profiles.model import gpu, host, line, stream
from tests.unit.advice.asking import Asked, ask, opened
from tests.unit.formats.kineto.layout import profile, x
from tests.unit.formats.nccl.dumps import dump, entry, write_dumps
from tests.unit.tables.account.drawn import host as drawn_host

# ------------------------------------------------------------------ unequal work


def test_of_two_workers_neither_has_peers_and_the_last_to_arrive_is_named() -> None:
    found = ask(replace(POD, devices=2, slower={1: 1.4})).finding("straggler")
    assert found.saving_ms == pytest.approx(0.4 * 1.5)
    named = (found.measured["worker"], found.measured["cause"])
    assert named == ("/device:GPU:1 of host-0", "Device compute")


def test_more_kernels_on_one_device_are_unequal_work_and_no_straggler() -> None:
    asked = ask(replace(POD, more={0: layers(count=3)}), POD)
    found = asked.finding("unbalanced-devices")
    # One of eight devices works 2.25 ms, the others 1.5: the mean is 1.594.
    assert found.saving_ms == pytest.approx(2.25 - (2.25 + 7 * 1.5) / 8)
    # 18 kernels and a collective against 12 and one.
    rules = [one.rule for one in asked.advice()]
    assert rules.index("unbalanced-devices") < rules.index("straggler")


def test_devices_that_run_nothing_are_counted_if_there_are_steps_enough() -> None:
    alone = replace(GOOD, kernels=[Kernel("touch", 5)], devices=4, more={0: layers()})
    found = ask(alone).finding("unbalanced-devices")
    assert found.measured["unused_devices"] == 3
    assert found.saving_ms == pytest.approx(1.505 - (1.505 + 3 * 0.005) / 4)
    assert "too few" in ask(replace(alone, steps=2)).reason("unbalanced-devices", Unknown)


def test_workers_that_are_late_in_turns_wait_for_each_other() -> None:
    """In each step another of four devices is 0.6 ms late, and the three others wait."""
    streams: list[list[tuple[str, float, float]]] = [[], [], [], []]
    marks = []
    for step in range(8):
        begin = 3_000.0 * step
        marks.append(("train", begin, 2_900.0, {"step_num": step, "_r": 1}))
        for device, events in enumerate(streams):
            work = 2_000.0 + 600.0 * (step % 4 == device)
            events.append(("ampere_bf16_s16816gemm", begin, work))
            events.append((RING, begin + work, 2_700.0 - work))
    planes = [gpu(index, stream(7, *events)) for index, events in enumerate(streams)]
    found = opened(host(line("python", *marks)), *planes).finding("worker-skew")
    assert found.saving_ms == pytest.approx(0.6 * 3 / 4)
    # Of the six counted steps two devices are late in one, and wait in five.
    assert found.saving_high_ms == pytest.approx(0.6 * 5 / 6)


# ------------------------------------------------------------------ transfers


def test_transfers_are_split_into_what_is_waited_for_and_what_is_hidden() -> None:
    """Two devices work 1.5 ms; then they send for 0.4 ms, 0.3 of them beside the work."""
    sends = replace(GOOD, devices=2, collective=Collective(400, overlap_us=300, name=RING))
    time = collective_time(ask(sends, sends).result("pod_viewer"))
    assert (time.exposed_ms, time.hidden_ms, time.work_ms) == pytest.approx((0.1, 0.3, 1.5))
    assert (time.waited_ms, time.per_step) == pytest.approx((0.0, 1.0))


def on_processors(**threads: str) -> Asked:
    """Processes of three steps of 1 ms: O computes, A exchanges on a thread of its own."""
    hosts = []
    for name, work in threads.items():
        computes, exchanges = work.split()
        rows = (computes * 3, f"gloo  {exchanges * 3}")
        one = drawn_host(*rows, steps=3, O="aten/mm:mm", A="gloo:all_reduce")
        hosts.append(replace(one, name=name))
    return Asked(Profile("s", tuple(hosts)))


LATE = "OOOOOOOO.. ........AA"
EARLY = "OOO....... ...AAAAAAA"


def test_the_worker_that_waits_least_makes_the_others_wait() -> None:
    pair = on_processors(a=EARLY, b=LATE)
    found = pair.finding("straggler").measured
    # a spends 700 µs of each ms in the exchange, b 200: a waits 500 for b, which computes 500 more.
    assert (found["worker"], found["last_frac"]) == ("b", 1.0)
    assert [found["caused_wait_ms"], found["cause_ms"]] == pytest.approx([0.5, 0.5])
    # Only what b spends is a transfer; nobody waits if both come at the same time.
    for each in (pair, on_processors(a=LATE, b=LATE)):
        exposed = each.finding("exposed-collectives").measured["exposed_ms"]
        assert exposed == pytest.approx(0.2)


def exchanging(folder: Path, count: int, each_us: float) -> Asked:
    """Six steps of 10 ms; in each a product of 1 ms and so many exchanges, one after the other."""
    events = []
    for step in range(6):
        at = 10_000.0 * step
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, 10_000.0))
        events.append(x("cpu_op", "aten::mm", at + 10, 1000.0))
        for number in range(count):
            begin = at + 1100 + number * (each_us + 5)
            events.append(x("cpu_op", "c10d::allreduce_", begin, 2.0))
            events.append(x("user_annotation", "gloo:all_reduce", begin + 3, each_us, tid=101))
    return Asked(profile(folder, events))


def test_many_short_exchanges_are_told_to_be_joined(tmp_path: Path) -> None:
    found = exchanging(tmp_path, 40, 100.0).finding("gradient-buckets")
    assert found.measured["reductions_per_step"] == 40
    assert found.saving_high_ms == pytest.approx(40 * 0.102, rel=0.03)


@pytest.mark.parametrize(("count", "each_us"), [(2, 2000.0), (1, 6000.0)])
def test_a_few_exchanges_are_in_buckets_already(tmp_path: Path, count: int, each_us: float) -> None:
    exchanging(tmp_path, count, each_us).reason("gradient-buckets", Silence)


# ------------------------------------------------------------------ hung collectives


def dumped(folder: Path, *ranks: dict[str, Any]) -> Asked:
    write_dumps(folder, *ranks)
    paths = [str(folder / f"nccl_trace_rank_{rank}") for rank in range(len(ranks))]
    flight = FORMATS["nccl-flight"]
    hosts = [
        Host(f"rank{rank}", flight.open(read_pieces(path), path)) for rank, path in enumerate(paths)
    ]
    return Asked(Profile("s", tuple(hosts)))


def running(ranks: int, **known: Any) -> dict[str, Any]:
    return dump([entry(1, 0, "started", **known)], ranks)


def finished(count: int, late_ms: float = 0.0) -> dict[str, Any]:
    return dump([entry(n, 100.0 * n + late_ms) for n in range(1, count + 1)], 3)


def test_the_rank_that_is_missing_or_calls_something_else_is_named(tmp_path: Path) -> None:
    waits = dump([entry(1, 0), entry(2, 1, "started")], 3)
    found = dumped(tmp_path, waits, finished(1), waits).finding("hung-collective")
    assert (found.severity, found.measured["missing"]) == ("high", "rank 1")
    other = running(3, profiling_name="nccl:broadcast")
    found = dumped(tmp_path, running(3), running(3), other).finding("hung-collective")
    assert "missing" not in found.measured


def test_a_rank_that_is_last_in_every_collective_is_named(tmp_path: Path) -> None:
    asked = dumped(tmp_path, finished(12), finished(12, 5.0), finished(12, 0.5))
    found = asked.finding("hung-collective")
    assert found.severity == "medium"
    assert found.measured["late_ms"] == pytest.approx(12 * 4.5)


@pytest.mark.parametrize(("count", "late_ms"), [(9, 5.0), (12, 0.5), (12, 0.0)])
def test_few_collectives_and_short_delays_accuse_nobody(
    tmp_path: Path, count: int, late_ms: float
) -> None:
    asked = dumped(tmp_path, finished(count), finished(count, late_ms), finished(count))
    assert "had finished" in asked.reason("hung-collective", Silence)


@pytest.mark.parametrize(
    ("ranks", "says"), [(2, "All ranks called all_reduce #1"), (3, "left none")]
)
def test_what_may_still_run_or_left_no_dump_is_not_accused(
    tmp_path: Path, ranks: int, says: str
) -> None:
    asked = dumped(tmp_path, running(ranks), running(ranks))
    assert says in asked.reason("hung-collective", Unknown)


# ------------------------------------------------------------------ pods whose fault is known

PIPELINE, SHARDED = Layout(4, 16, 1), Layout(1, 64, 1)
SEED, SIZE = 4, 0.4


@cache
def pod_of(fault: str, layout: Layout = PIPELINE) -> tuple[Pod, float]:
    """The pod, and what its fault costs of each step, ms."""
    healthy = Simulation(layout, no_fault(layout), SEED).simulate()
    if not fault:
        return analyse(summaries(healthy, SEED)), 0.0
    made, _ = FAULTS[fault](layout, SIZE, np.random.default_rng(SEED))
    run = Simulation(layout, made, SEED).simulate()
    return analyse(summaries(run, SEED)), run.step_ms - healthy.step_ms


def answers(rule_id: str, pod: Pod) -> list[Answer]:
    return list(RULES[RULES.ids.index(rule_id)].check(Results({"pod": pod})))


@pytest.mark.parametrize(
    ("fault", "layout", "rule", "cause"),
    [
        ("gpu_throttled", PIPELINE, "straggler", "compute"),
        ("input_starved", SHARDED, "straggler", "input"),
        ("host_pause", SHARDED, "straggler", "host"),
        ("slow_rack", SHARDED, "straggler", "compute"),
        ("nic_slow", PIPELINE, "slow-link", "network"),
        ("last_stage", PIPELINE, "unequal-stages", "unequal"),
    ],
)
def test_the_fault_comes_first_with_its_cost_and_its_cause(
    fault: str, layout: Layout, rule: str, cause: str
) -> None:
    """There is the pod alone, as of more hosts than open together."""
    pod, cost_ms = pod_of(fault, layout)
    first = advise({"pod": pod}, RULES, {}).findings[0]
    assert (first.rule, first.measured["cause"]) == (rule, cause)
    assert first.saving_ms == pytest.approx(cost_ms, rel=0.1)
    assert first.evidence[0].rows == (next(pod.suspects.rows())["name"],)


@pytest.mark.parametrize("rule", ["straggler", "slow-link", "unequal-stages"])
@pytest.mark.parametrize("layout", [PIPELINE, SHARDED], ids=str)
def test_an_even_pod_is_left_in_peace(rule: str, layout: Layout) -> None:
    (answer,) = answers(rule, pod_of("", layout)[0])
    assert isinstance(answer, Silence)


def test_two_that_are_slow_together_are_both_advised() -> None:
    """Fixing one alone saves next to nothing: that is the least, not what is expected."""
    pod, cost_ms = pod_of("two_hosts", SHARDED)
    found = [one for one in answers("straggler", pod) if isinstance(one, Finding)]
    assert len(found) == 2
    for one in found:
        assert one.saving_ms == pytest.approx(cost_ms, rel=0.3)
        assert one.saving_low_ms is not None and one.saving_low_ms < 0.35 * cost_ms
    told = [one for one in advise({"pod": pod}, RULES, {}).findings if one.rule == "straggler"]
    assert {one.severity for one in told} == {"high"}
