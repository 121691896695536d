"""Rules about many devices: communication, stragglers, unequal work."""

from dataclasses import replace

import pytest

from stepscope.formats.xspace import decode
from stepscope.registry import Unknown
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GOOD, POD, RING, layers
from tests.profiles.loops import Kernel
from tests.profiles.model import gpu, host, line, space, stream
from tests.unit.advice.asking import Asked, ask


def test_of_two_workers_neither_has_peers_and_the_last_to_arrive_is_named() -> None:
    pair = replace(POD, devices=2)
    found = ask(replace(pair, slower={1: 1.4})).finding("straggler")
    assert found.saving_ms == pytest.approx(0.4 * 1.5)
    assert found.measured["worker"] == "/device:GPU:1 of host-0"
    assert found.measured["cause"] == "Device compute"


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
