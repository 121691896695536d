"""Advice on loops of any size: healthy ones raise no alarm, a fault is found at its size."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels import examples
from tests.labelled.synthetic import GIB, GOOD, RING, WAIT, layers
from tests.profiles.loops import Collective, Loop, copy_to_device
from tests.unit.advice.asking import ask


@st.composite
def healthy_loops(draw: st.DrawFn) -> Loop:
    """A loop with busy devices: launches and input are quick, memory is used, talk is hidden."""
    us = draw(st.floats(80, 3_000))
    count = draw(st.integers(4, 8))
    devices = draw(st.sampled_from([1, 3]))
    step = us * 1.25 * count
    talk = draw(st.floats(0.02, 0.4)) * step
    return replace(
        GOOD,
        kernels=layers(us=us, count=count),
        steps=draw(st.integers(6, 8)),
        devices=devices,
        launch_us=draw(st.floats(1, 8)),
        input_us=draw(st.floats(0, 0.015)) * step,
        wait=draw(st.sampled_from(["", WAIT])),
        after_us=draw(st.floats(0, 0.01)) * step,
        heap=(draw(st.integers(6, 13)) * GIB, 16 * GIB, draw(st.floats(0, 0.4))),
        collective=Collective(talk, overlap_us=talk * 0.99, name=RING) if devices > 1 else None,
        clock_us=draw(st.floats(0, 1e7)),
    )


@settings(max_examples=examples(30))
@given(healthy_loops())
def test_a_healthy_loop_of_any_size_raises_no_alarm(loop: Loop) -> None:
    alarms = [one for one in ask(loop).advice() if one.severity != "info"]
    assert alarms == []


# Of the devices' work; idle devices are worth a word from a tenth of the step on.
SIZES = st.floats(0.12, 0.6)


@settings(max_examples=12)
@given(loop=healthy_loops(), size=SIZES)
@pytest.mark.parametrize("fault", ["input-bound", "host-waits", "host-copies", "idle-device"])
def test_a_fault_of_any_size_comes_first_and_is_sized(fault: str, loop: Loop, size: float) -> None:
    sound = replace(loop, devices=1, collective=None, input_us=0.0, after_us=0.0, wait=WAIT)
    step = sum(kernel.us for kernel in sound.kernels)
    cost = step * size
    copy = copy_to_device(cost, 1 << 22, blocking=True)
    faulty = {
        "input-bound": replace(sound, input_us=cost),
        "host-waits": replace(sound, after_us=cost),
        "host-copies": replace(sound, kernels=[copy, *sound.kernels]),
        # Python that does not wait must outlast the devices' work to be seen.
        "idle-device": replace(sound, wait="", python_us=step + cost),
    }[fault]
    launches = len(sound.kernels) * sound.launch_us if fault == "idle-device" else 0.0
    # Where most of a step goes comes first, whatever small fault it has besides.
    said = [one for one in ask(faulty).advice() if one.rule != "largest-part"]
    assert said[0].rule in (fault, "python-bound", "missing-prefetch"), said[0]
    # What keeps the host comes before that devices idle, and takes a little less.
    sized = next((one for one in said if one.rule == fault), said[0])
    assert sized.saving_ms is not None
    # What idle devices save is what their cause saves; how long they idle is their own.
    size_ms = sized.measured["idle_ms"] if sized.rule == "idle-device" else sized.saving_ms
    # Up to the launch of the first kernel, which is in the same gap.
    assert size_ms == pytest.approx((cost + launches) / 1000, rel=0.02, abs=0.01)


@settings(max_examples=12)
@given(loop=healthy_loops(), size=SIZES, late=st.integers(0, 3))
def test_a_straggler_of_any_size_is_named_and_sized(loop: Loop, size: float, late: int) -> None:
    pod = replace(
        loop, devices=4, collective=Collective(20, name=RING), input_us=0.0, after_us=0.0, wait=""
    )
    step = sum(kernel.us for kernel in pod.kernels)
    found = ask(replace(pod, slower={late: 1 + size})).finding("straggler")
    assert found.measured["worker"] == f"GPU:{late} of host-0"
    assert found.saving_ms == pytest.approx(step * size / 1000, rel=0.02)
