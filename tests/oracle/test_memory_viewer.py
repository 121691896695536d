"""``memory_viewer`` on the shared recordings: against xprof 2.24.2, and against itself.

The peaks were read from xprof's own memory viewer. It leaves out thread-local blocks that no
buffer of the program's values stands for (12 bytes of jit_matmul).
"""

from __future__ import annotations

import pytest

from stepscope.analysis.memory_viewer import Options, memory_viewer
from tests.oracle.recorded import recording

PEAKS = (
    ("jax-tpu-v6e-4", "jit_f(12190760917235803885)", 21_474_836_512),
    ("jax-mi300x/jax08_attention", "jit_matmul(59)", 201_326_592 + 12),
    ("jax-cpu", "jit__normal(4)", 4_194_424),
)
WITH_PLANS = (
    "jax-cpu",
    "jax-mi300x/jax08_attention",
    "jax-mi300x/jax08_gemm",
    "jax-tpu-v6e-4",
    "julia-gtx1080ti/1",
    "julia-gtx1080ti/4",
)


@pytest.mark.parametrize(("name", "program", "peak_bytes"), PEAKS)
def test_the_peak_is_the_incumbents(name: str, program: str, peak_bytes: int) -> None:
    found = memory_viewer(recording(name), Options(program=program))
    assert found.peak_bytes == peak_bytes
    assert found.source == "heap trace"


@pytest.mark.parametrize("name", WITH_PLANS)
def test_what_is_alive_at_the_peak_is_the_peak(name: str) -> None:
    profile = recording(name)
    for program in memory_viewer(profile).programs["program"]:
        first = memory_viewer(profile, Options(program=program))
        for space in first.memory_spaces:
            found = memory_viewer(profile, Options(program=program, memory_space=space))
            assert sum(found.peak_groups["size_bytes"]) == found.peak_bytes
            assert max(found.timeline["used_bytes"]) == found.peak_bytes
            assert found.peak_unpadded_bytes <= found.peak_bytes
