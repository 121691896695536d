"""Tensors that XLA keeps in the host's memory are known by their memory space."""

from dataclasses import replace

import pytest

from stepscope.advice.evidence.copies import host_memory_ops
from tests.labelled.synthetic import GOOD_TPU, tpu_ops
from tests.profiles.loops import Kernel
from tests.unit.advice.asking import ask


def copy(name: str, us: float, layout: str) -> Kernel:
    """The end of a copy between two memories, the source's layout as given."""
    return Kernel(
        f"%{name} = f32[5,8]{{1,0}} copy-done((f32[5,8]{{1,0}}, f32[5,8]{{{layout}}}, u32[]) %c)",
        us,
        stats={"hlo_category": "copy-done"},
    )


def test_the_share_is_of_copies_and_the_longest_are_named() -> None:
    kernels = [
        copy("copy-done.1", 600, "1,0:S(5)"),
        copy("copy-done.2", 1_200, "1,0:S(5)"),
        copy("copy-done.3", 200, "1,0"),
        *tpu_ops(),
    ]
    share, ops = host_memory_ops(ask(replace(GOOD_TPU, kernels=kernels)).result("hlo_stats"))
    assert share == pytest.approx(0.9)
    assert ops == ("copy-done.2", "copy-done.1")
