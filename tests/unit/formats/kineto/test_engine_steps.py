"""Steps of engines that serve: their own marks, not the layers that repeat within one."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.analysis.overview_page import overview_page
from tests.unit.formats.kineto.layout import lines, profile, x, xspace

VLLM = "execute_context_0(0)_generation_32(32)"
SGLANG = "step[DECODE bs=32]"


@pytest.mark.parametrize("mark", [VLLM, SGLANG])
def test_a_step_lasts_to_the_next_mark(mark: str, tmp_path: Path) -> None:
    events = []
    for step in range(3):
        begin = 1000.0 * step
        events += [
            x("user_annotation", mark, begin, 400.0),
            x("user_annotation", mark, begin + 10, 380.0),  # engines mark a step twice
            x("gpu_user_annotation", mark, begin + 500, 300.0, 0, 7),
        ]
        for layer in range(12):
            number = 100 * step + layer + 1
            events += [
                x("cuda_runtime", "cudaGraphLaunch", begin + 20 + layer, 0.5, correlation=number),
                x(
                    "kernel",
                    "attention",
                    begin + 500 + 20 * layer,
                    15.0,
                    0,
                    7,
                    device=0,
                    stream=7,
                    correlation=number,
                ),
            ]
    found = lines(xspace(tmp_path, events))[("/host:CPU", "python")]
    steps = [one for one in found if one["name"] == "serve"]
    spans = [(one["begin"], one["length"]) for one in steps]
    assert spans == [(0, 1000), (1000, 1000), (2000, 400)]
    assert [one["step_num"] for one in steps] == [0, 1, 2]
    assert {one["_marked_by"] for one in steps} == {"engine"}
    page = overview_page(profile(tmp_path, events))
    assert page.steps.source == "markers"
    assert page.steps.count + page.steps.dropped == 3


def test_the_profilers_own_steps_come_first(tmp_path: Path) -> None:
    events = [
        x("user_annotation", "ProfilerStep#7", 0, 500.0),
        x("user_annotation", VLLM, 10, 100.0),
    ]
    found = lines(xspace(tmp_path, events))[("/host:CPU", "python")]
    assert [one["step_num"] for one in found if "step_num" in one] == [7]
