"""No secret passes, whatever its shape and script; what a recording is worth stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.redaction import LEVELS, Level
from stepscope.redaction.texts import RedactedTexts
from stepscope.surfaces.http.app import STATIC_FOLDER
from tests.unit.redaction.canaries import leaks, recordings, secrets, surfaces


@pytest.mark.parametrize("level", ["names", "all"])
def test_none_of_ten_thousand_secrets_passes(level: Level) -> None:
    texts = RedactedTexts(level, b"k" * 32)
    around = ("{}", "MatMul_3/{}:Add", "void gemm<{}>(float)", "{} step 12", "layer.{}.weight")
    passed = [
        (shape, secret, made)
        for number, (shape, secret) in enumerate(secrets(10_000, 7))
        for made in [texts.name(around[number % len(around)].format(secret))]
        if secret.lower() in made.lower()
    ]
    assert passed == []


@pytest.mark.parametrize("level", LEVELS)
def test_no_output_has_a_planted_secret(level: Level, tmp_path: Path) -> None:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built")
    for name, data, made, by_level in recordings():
        path = tmp_path / name
        path.write_bytes(data)
        wanted = {number: made[number][1] for number in by_level[level]}
        left = {name: leaks(outcome, wanted) for name, outcome in surfaces(path, level).items()}
        assert {name: numbers for name, numbers in left.items() if numbers} == {}


@pytest.mark.parametrize(
    "name",
    [
        "sm90_xmma_gemm_f16f16_f16f32_tn_n",
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nt",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "MemcpyH2D", "Memcpy DtoH (Device -> Pageable)", "cudaMemcpyAsync", "cuMemcpyHtoDAsync",
        "MatMul_3:MatMul", "ProfilerStep#100", "%fusion.3 = f32[8,128]{1,0} fusion(f32[8,128] %p)",
        "Conv2DBackpropInput", "aten::batch_norm", "jit(step)/dot_general", "bf16[1024,4096,4096]",
    ],
)  # fmt: skip
def test_names_of_frameworks_and_libraries_stay(name: str) -> None:
    assert RedactedTexts("names", b"k" * 32).name(name) == name
