"""What a rule says a change saves is what the loop gains when it is played with the change made.

Loops with one plain fault of any size are in tests/property/test_advice.py. The expected saving
must come within a fifth of the gain where the fault is fixed altogether, and the largest saving
must not be exceeded.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.analysis.overview_page import overview_page
from tests.labelled.synthetic import BF16, GOOD, GOOD_TPU, POD, RING, WAIT, layers
from tests.profiles.loops import Collective, Kernel, Loop, copy_to_host
from tests.unit.advice.asking import ask, profile_of

TURN = Kernel("void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>", 60)
TINY = [Kernel(BF16, 3, f"layer_{n}/MatMul:MatMul") for n in range(300)]
FUSED = [Kernel(BF16, 90, f"layer_{n}/MatMul:MatMul") for n in range(10)]
BARE = replace(GOOD, devices=2, collective=Collective(400, name=RING))
WAITING = replace(GOOD, wait=WAIT)

# name: rule, the loops with the fault, the same loops without it
CASES: dict[str, tuple[str, list[Loop], list[Loop]]] = {
    "wait of a busy host": (
        "host-waits",
        [replace(WAITING, after_us=5_000)],
        [replace(GOOD, after_us=5_000)],
    ),
    "wait on a TPU": (
        "host-waits",
        [replace(GOOD_TPU, after_us=600)],
        [replace(GOOD_TPU, after_us=0)],
    ),
    "tiny kernels": (
        "tiny-kernels",
        [replace(GOOD, kernels=TINY, launch_us=6)],
        [replace(GOOD, kernels=FUSED, launch_us=6)],
    ),
    "slow launches": (
        "slow-launches",
        [replace(GOOD, kernels=TINY, launch_us=60)],
        [replace(GOOD, kernels=TINY, launch_us=10)],
    ),
    "results fetched": (
        "host-copies",
        [replace(GOOD, kernels=[*layers(), copy_to_host(400, 1 << 22)])],
        [GOOD],
    ),
    "layouts": (
        "layout-transposes",
        [replace(GOOD, kernels=layers("fprop_f16", op="Conv2D", between=(TURN,)))],
        # Once, at the input, the layout still changes.
        [replace(GOOD, kernels=[TURN, *layers("fprop_f16", op="Conv2D")])],
    ),
    "gradients sent at the end": (
        "exposed-collectives",
        [BARE, BARE],
        [replace(BARE, collective=Collective(400, overlap_us=380, name=RING))] * 2,
    ),
    "slow network": (
        "collective-bound",
        [replace(BARE, collective=Collective(2_500, name=RING))] * 2,
        [replace(BARE, collective=Collective(1_250, name=RING))] * 2,
    ),
    "late host": (
        "straggler",
        [replace(POD, wait=WAIT), replace(POD, wait=WAIT, input_us=500)],
        [replace(POD, wait=WAIT)] * 2,
    ),
    "more work on one device": (
        "unbalanced-devices",
        [replace(POD, more={0: layers(us=100, count=4)})],
        [replace(POD, kernels=layers(us=200 * (1 + 1 / 12)))],
    ),
}


def step_ms(loops: list[Loop]) -> float:
    return float(overview_page(profile_of(*loops)).steps.time_ms.mean)


@pytest.mark.parametrize("name", CASES)
def test_the_predicted_saving_is_what_the_change_gains(name: str) -> None:
    rule, faulty, fixed = CASES[name]
    found = ask(*faulty).finding(rule)
    gained = step_ms(faulty) - step_ms(fixed)
    assert found.saving_ms is not None
    assert found.saving_high_ms is None or found.saving_high_ms >= gained * 0.98
    assert found.saving_ms == pytest.approx(gained, rel=0.2)
