"""Rules about many devices: communication, stragglers, unequal work."""

from dataclasses import replace

import pytest

from stepscope.formats.xspace import decode
from stepscope.registry import Silence, Unknown
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GOOD, POD, RING, WAIT, layers
from tests.profiles.loops import Collective, Kernel, Loop
from tests.profiles.model import gpu, host, line, space, stream
from tests.unit.advice.asking import Asked, ask

# Two devices work 1.5 ms, then send for 0.4 ms with nothing beside it.
BARE = replace(GOOD, devices=2, collective=Collective(400, name=RING))


def test_communication_that_compute_could_hide_is_worth_four_fifths_of_it() -> None:
    found = ask(BARE, BARE).finding("exposed-collectives")
    assert found.saving_ms == pytest.approx(0.8 * 0.4)
    assert found.saving_high_ms == pytest.approx(0.4)


def test_a_device_that_talks_to_nobody_is_left_in_peace() -> None:
    assert "No collective ran" in ask(GOOD).reason("exposed-collectives", Silence)


def test_more_communication_than_work_is_the_networks_limit() -> None:
    found = ask(_sends(2_500), _sends(2_500)).finding("collective-bound")
    # Half of the bytes; 1 of the 2.5 ms stays even if all of the work hides the rest.
    assert found.saving_ms == pytest.approx(1.25)
    assert found.saving_high_ms == pytest.approx(2.5)


def _sends(us: float) -> Loop:
    return replace(BARE, collective=Collective(us, name=RING))


def test_a_slow_device_makes_all_wait_for_what_it_takes_longer() -> None:
    found = ask(POD, replace(POD, slower={2: 1.4})).finding("straggler")
    # A replay of all steps, the first of which begins some microseconds before its first launch.
    assert found.saving_ms == pytest.approx(0.4 * 1.5, abs=1e-3)
    assert found.measured["worker"] == "GPU:2 of host-1"
    assert found.measured["cause"] == "compute"


def test_of_two_workers_neither_has_peers_and_the_last_to_arrive_is_named() -> None:
    pair = replace(POD, devices=2)
    found = ask(replace(pair, slower={1: 1.4})).finding("straggler")
    assert found.saving_ms == pytest.approx(0.4 * 1.5)
    assert found.measured["worker"] == "/device:GPU:1 of host-0"
    assert found.measured["cause"] == "Device compute"


def test_a_host_whose_input_is_late_is_named_as_a_whole() -> None:
    even = replace(POD, wait=WAIT)
    found = ask(even, replace(even, input_us=500), even).finding("straggler")
    assert found.measured["worker"] == "host-1"
    assert found.measured["cause"] == "input"
    assert found.saving_ms == pytest.approx(0.5, abs=0.01)


def test_more_kernels_on_one_device_are_unequal_work_and_no_straggler() -> None:
    heavy = replace(POD, more={0: layers(count=3)})
    asked = ask(heavy, POD)
    found = asked.finding("unbalanced-devices")
    # One of eight devices works 2.25 ms, the others 1.5: the mean is 1.594.
    assert found.saving_ms == pytest.approx(2.25 - (2.25 + 7 * 1.5) / 8)
    # 18 kernels and a collective against 12 and one.
    rules = [one.rule for one in asked.advice()]
    assert rules.index("unbalanced-devices") < rules.index("straggler")


def test_devices_that_run_nothing_are_counted() -> None:
    alone = replace(GOOD, kernels=[Kernel("touch", 5)], devices=4, more={0: layers()})
    found = ask(alone).finding("unbalanced-devices")
    assert found.measured["unused_devices"] == 3
    assert found.saving_ms == pytest.approx(1.505 - (1.505 + 3 * 0.005) / 4)


def test_few_steps_do_not_tell_who_works() -> None:
    alone = replace(GOOD, kernels=[Kernel("touch", 5)], devices=4, more={0: layers()}, steps=2)
    assert "too few" in ask(alone).reason("unbalanced-devices", Unknown)


def test_transfers_of_a_single_recorded_worker_may_be_waits() -> None:
    """Whether the others were late a recording of one device cannot say."""
    alone = ask(replace(_sends(2_500), devices=1)).finding("collective-bound")
    both = ask(_sends(2_500)).finding("collective-bound")
    assert alone.confidence < both.confidence


def test_workers_that_are_late_in_turns_wait_for_each_other() -> None:
    """In each step another of four devices is 0.6 ms late, and the three others wait."""
    streams: list[list[tuple[str, float, float]]] = [[], [], [], []]
    marks = []
    for step in range(8):
        base = 3_000.0 * step
        marks.append(("train", base, 2_900.0, {"step_num": step, "_r": 1}))
        for device, events in enumerate(streams):
            work = 2_000.0 + 600.0 * (step % 4 == device)
            events.append(("ampere_bf16_s16816gemm", base, work))
            events.append((RING, base + work, 2_700.0 - work))
    planes = [gpu(index, stream(7, *events)) for index, events in enumerate(streams)]
    data = space(host(line("python", *marks)), *planes)
    asked = Asked(Profile("s", (Host("h", decode(data)),)))
    found = asked.finding("worker-skew")
    assert found.saving_ms == pytest.approx(0.6 * 3 / 4)
    # Of the six counted steps two devices are late in one, and wait in five.
    assert found.saving_high_ms == pytest.approx(0.6 * 5 / 6)
