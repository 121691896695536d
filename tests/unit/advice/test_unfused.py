"""no-xla: elementwise ops that run by themselves, and what they cost."""

from __future__ import annotations

import pytest

from stepscope.registry import Silence
from tests.profiles import space
from tests.profiles.model import host, line
from tests.unit.advice.asking import Asked
from tests.unit.advice.test_host_side import asked, loop_of


def elementwise(count: int, *, product_us: float, scope: str = "m") -> Asked:
    """Two steps of 1 ms with ``count`` elementwise ops of 50 µs and one product."""
    steps, pool = [], []
    for step in range(2):
        begin = step * 1000.0
        steps.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        pool += [(f"{scope}/mul_{at}:Mul", begin + at * 50.0, 50.0) for at in range(count)]
        pool.append(("m/product:MatMul", begin + count * 50.0, product_us))
    return asked(space(host(line("python", *steps), line("tf_pool", *pool))))


def test_unfused_elementwise_ops_cost_half_of_their_time() -> None:
    found = elementwise(8, product_us=200).finding("no-xla")
    # 400 of 600 µs of ops; half of the 400 is expected to go, all of it at most.
    assert found.saving_ms == pytest.approx(0.2)
    assert found.saving_high_ms == pytest.approx(0.4)


def test_ops_of_pytorch_are_not_xlas_to_fuse() -> None:
    work = [(f"aten/{one}:{one}", 60 + 110.0 * at, 100.0) for at, one in enumerate(_SHORT)]
    assert "PyTorch" in loop_of(*work).reason("no-xla", Silence)


_SHORT = ("exp", "neg", "sub", "log", "abs")


def test_what_an_optimizer_does_elementwise_is_not_the_models_to_fuse() -> None:
    elementwise(8, product_us=200, scope="adam").reason("no-xla", Silence)
