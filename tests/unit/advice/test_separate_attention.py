"""Attention in separate ops can be fused: it is found by the shapes of what its ops are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.registry import Silence
from tests.unit.advice.asking import Asked
from tests.unit.formats.kineto.layout import PID, profile, x

H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0,
         "numSms": 132, "totalGlobalMem": 85 << 30}]  # fmt: skip
# Batch, heads, positions and their size.
B, H, L, D = 2, 8, 2048, 64
SCORES = [B, H, L, L]
STEP_US = 10_000.0

Op = tuple[str, list[list[int]], float]
SEPARATE: list[Op] = [
    ("aten::bmm", [[B * H, L, D], [B * H, D, L]], 1000.0),
    ("aten::mul", [SCORES, []], 500.0),
    ("aten::_softmax", [SCORES, [], []], 2000.0),
    ("aten::bmm", [[B * H, L, L], [B * H, L, D]], 1000.0),
]
REST: Op = ("aten::mm", [[1024, 1024], [1024, 1024]], 3000.0)


def asked(folder: Path, *ops: Op, shapes: bool = True) -> Asked:
    """Two steps of these ops, one kernel each of so many µs."""
    events: list[dict[str, Any]] = []
    number = 0
    for step in range(2):
        at = STEP_US * step
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, STEP_US))
        at += 10
        for name, dims, took in ops:
            number += 1
            said: dict[str, Any] = {
                "Input_Dims": dims,
                "Input_type": ["c10::BFloat16" if one else "Scalar" for one in dims],
            }
            events += [
                x("cpu_op", name, at, 8.0, PID, PID, **(said if shapes else {})),
                x("cuda_runtime", "cudaLaunchKernel", at + 2, 2.0, PID, PID, correlation=number),
                x("kernel", f"k_{name[6:]}", at + 5, took, 0, 7, device=0, stream=7,
                  correlation=number),
            ]  # fmt: skip
            at += took + 10
    return Asked(profile(folder, events, deviceProperties=H100))


def test_product_softmax_product_over_the_same_scores_is_attention(tmp_path: Path) -> None:
    found = asked(tmp_path, *SEPARATE, REST).finding("separate-attention")
    assert found.measured["attention_ms"] == pytest.approx(4.5)
    # The scores' own ops go, and half of the products.
    assert found.saving_ms == pytest.approx(2.5 + 1.0)
    assert found.saving_high_ms is not None
    assert 3.5 < found.saving_high_ms < 4.5


def test_fused_kernels_have_no_scores(tmp_path: Path) -> None:
    flash: Op = ("aten::_flash_attention_forward", [[B, L, H, D]] * 3, 4000.0)
    classes: Op = ("aten::_softmax", [[B, L, 50_000], [], []], 2000.0)
    answers = asked(tmp_path, flash, REST, classes)
    assert "No softmax runs between" in answers.reason("separate-attention", Silence)


def test_a_softmax_with_a_product_on_one_side_alone_is_none(tmp_path: Path) -> None:
    answers = asked(tmp_path, *SEPARATE[:3], REST)
    assert "No softmax runs between" in answers.reason("separate-attention", Silence)
