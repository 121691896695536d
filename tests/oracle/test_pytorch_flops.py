"""FLOPs, bytes and times of ops by shape against TraceLens' published tables of the same files.

The figures are those of ``unified_perf_summary.csv`` at AMD-AGI/TraceLens @ 171dd747 (MIT). Three
kinds of rows differ, each for a reason: causal attention does S (S + 1) / 2 scores, not S² / 2;
TraceLens counts an operation per element where nothing is multiplied, PyTorch's own counter and
ours none; and it adds the bias of a convolution to the convolution, where PyTorch adds it in a
kernel of another op.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

import stepscope

FILES: Final = Path(__file__).parents[3] / "shared" / "data" / "kineto"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the shared files are not here")

BERT: Final = "gaunernst_bert-small-uncased__1016001"
TIMESFORMER: Final = "facebook_timesformer-base-finetuned-k400__1016002"
QWEN: Final = "Qwen_Qwen1.5-0.5B-Chat__1016005"
# By device and file: op | shapes | calls | kernel time in µs | GFLOP | MiB moved (-: see above).
KNOWN: Final[dict[tuple[str, str], str]] = {
    ("h100", BERT): """
        addmm | 512, 141×512, 512×512 | 17 | 98.718 | 0.0739968 | 0.776367
        addmm | 30522, 141×512, 512×30522 | 1 | 41.28 | 4.41119205 | 38.211021
        addmm | 512, 141×2048, 2048×512 | 4 | 33.089 | 0.295770624 | 2.689453
        addmm | 2048, 141×512, 512×2048 | 4 | 24.511 | 0.2959872 | 2.692383
        add | 1×141×512, 1×141×512 | 9 | 14.753 | - | 0.413086
    """,
    ("h100", TIMESFORMER): """
        bmm | 96×3137×64, 96×64×3137 | 12 | 22819.528 | 120.923369472 | 1875.422058
        bmm | 96×3137×3137, 96×3137×64 | 12 | 20388.114 | 120.923369472 | 1875.422058
        mul | 8×12×3137×3137 | 12 | 15495.244 | - | 3603.797249
        copy_ | 1×128×3×224×224, 1×128×3×224×224 | 1 | 3461.358 | - | 73.500000
        addmm | 3072, 25089×768, 768×3072 | 12 | 1977.749 | 118.461828096 | 188.263184
        addmm | 768, 25089×3072, 3072×768 | 12 | 1904.562 | 118.40402304 | 188.258789
        copy_ | 8×12×64×3137, 8×12×64×3137 | 12 | 1846.007 | - | 73.523438
        addmm | 2304, 25096×768, 768×2304 | 12 | 1511.801 | 88.871159808 | 150.426270
        addmm | 2304, 25088×768, 768×2304 | 12 | 1478.552 | 88.842829824 | 150.379395
        copy_ | 8×12×3137×64, 8×12×3137×64 | 24 | 1418.552 | - | 73.523438
        copy_ | 3136×12×8×64, 3136×12×8×64 | 24 | 1400.503 | - | 73.500000
        bmm | 37632×8×8, 37632×8×64 | 12 | 1300.504 | 0.308281344 | 78.093750
        addmm | 768, 25088×768, 768×768 | 24 | 1124.541 | 29.614276608 | 74.626465
        add | 1×25089×768, 1×25089×768 | 24 | 891.774 | - | 110.254395
        copy_ | 3136×8×12×64, 3136×8×12×64 | 12 | 686.844 | - | 73.500000
        copy_ | 8×3137×12×64, 8×3137×12×64 | 12 | 678.14 | - | 73.523438
    """,
    ("h100", QWEN): """
        mm | 8944×1024, 1024×2816 | 48 | 4055.252 | 51.581550592 | 71.007812
        addmm | 1024, 8944×1024, 1024×1024 | 72 | 2329.076 | 18.766086144 | 36.939453
        copy_ | 16×16×559×64, 16×16×559×64 | 72 | 2108.188 | - | 34.937500
        mm | 8944×2816, 2816×1024 | 24 | 1835.287 | 51.581550592 | 71.007812
        add | 16×16×559×64, 16×16×559×64 | 48 | 1671.096 | - | 52.406250
        mul | 16×559×1024, 16×559×1 | 49 | 1608.922 | - | 69.909119
        mul | 1024, 16×559×1024 | 49 | 1233.979 | - | 34.939453
        mul | 16×559×2816, 16×559×2816 | 24 | 1227.131 | - | 144.117188
        add | 16×559×1024, 16×559×1024 | 48 | 854.619 | - | 52.406250
        mm | 8944×1024, 1024×1024 | 24 | 778.142 | 18.756927488 | 36.937500
        copy_ | 16×559×16×64, 16×559×16×64 | 24 | 658.08 | - | 34.937500
        add | 16×559×1 | 49 | 81.8 | - | 0.068245
        bmm | 1×32×1, 1×1×559 | 1 | 3.52 | 3.5776e-05 | 0.070492
    """,
    ("mi300", BERT): """
        addmm | 512, 141×512, 512×512 | 17 | 85.736 | 0.0739968 | 0.776367
        addmm | 2048, 141×512, 512×2048 | 4 | 33.794 | 0.2959872 | 2.692383
        addmm | 512, 141×2048, 2048×512 | 4 | 29.063 | 0.295770624 | 2.689453
        addmm | 30522, 141×512, 512×30522 | 1 | 25.537 | 4.41119205 | 38.211021
        add | 1×141×512, 1×141×512 | 9 | 19.315 | - | 0.413086
    """,
    ("mi300", TIMESFORMER): """
        bmm | 96×3137×64, 96×64×3137 | 12 | 14545.618 | 120.923369472 | 1875.422058
        bmm | 37632×8×64, 37632×64×8 | 12 | 13710.098 | 0.308281344 | 78.093750
        mul | 8×12×3137×3137 | 12 | 10958.534 | - | 3603.797249
        bmm | 96×3137×3137, 96×3137×64 | 12 | 9716.842 | 120.923369472 | 1875.422058
        bmm | 37632×8×8, 37632×8×64 | 12 | 3356.223 | 0.308281344 | 78.093750
        addmm | 3072, 25089×768, 768×3072 | 12 | 3057.256 | 118.461828096 | 188.263184
        addmm | 768, 25089×3072, 3072×768 | 12 | 2600.846 | 118.40402304 | 188.258789
        addmm | 2304, 25096×768, 768×2304 | 12 | 2310.256 | 88.871159808 | 150.426270
        addmm | 2304, 25088×768, 768×2304 | 12 | 2241.019 | 88.842829824 | 150.379395
        copy_ | 8×12×64×3137, 8×12×64×3137 | 12 | 1910.699 | - | 73.523438
        addmm | 768, 25088×768, 768×768 | 24 | 1705.616 | 29.614276608 | 74.626465
        copy_ | 1×128×3×224×224, 1×128×3×224×224 | 1 | 1089.783 | - | 73.500000
        addmm | 768, 25096×768, 768×768 | 12 | 890.515 | 29.623719936 | 74.649902
        copy_ | 3136×12×8×64, 3136×12×8×64 | 24 | 712.734 | - | 73.500000
        copy_ | 8×12×3137×64, 8×12×3137×64 | 24 | 689.843 | - | 73.523438
        add | 1×25089×768, 1×25089×768 | 24 | 684.549 | - | 110.254395
    """,
    ("mi300", QWEN): """
        mm | 8944×1024, 1024×2816 | 48 | 5308.273 | 51.581550592 | 71.007812
        addmm | 1024, 8944×1024, 1024×1024 | 72 | 2954.763 | 18.766086144 | 36.939453
        mm | 8944×2816, 2816×1024 | 24 | 2374.794 | 51.581550592 | 71.007812
        mul | 16×559×1024, 16×559×1 | 49 | 1154.166 | - | 69.909119
        copy_ | 16×16×559×64, 16×16×559×64 | 72 | 1088.185 | - | 34.937500
        add | 16×16×559×64, 16×16×559×64 | 48 | 982.888 | - | 52.406250
        mm | 8944×1024, 1024×1024 | 24 | 980.548 | 18.756927488 | 36.937500
        mul | 16×559×2816, 16×559×2816 | 24 | 909.101 | - | 144.117188
        mul | 1024, 16×559×1024 | 49 | 797.217 | - | 34.939453
        add | 16×559×1024, 16×559×1024 | 48 | 689.412 | - | 52.406250
        copy_ | 16×559×16×64, 16×559×16×64 | 24 | 359.404 | - | 34.937500
        add | 16×559×1 | 49 | 223.304 | - | 0.068245
        bmm | 1×32×1, 1×1×559 | 1 | 27.342 | 3.5776e-05 | 0.070492
    """,
}


@pytest.mark.parametrize(("device", "name"), KNOWN)
def test_ops_cost_what_tracelens_publishes(device: str, name: str) -> None:
    found = _rows(device, name)
    for line in KNOWN[device, name].strip().splitlines():
        op, shapes, calls, time_us, gflop, mebibytes = map(str.strip, line.split("|"))
        row = found[f"aten::{op}", shapes]
        assert row["calls"] == int(calls)
        assert row["device_time_us"] == pytest.approx(float(time_us), abs=0.01 * int(calls))
        if gflop != "-":
            assert row["gflop"] == pytest.approx(float(gflop), rel=1e-12)
        assert row["moved_bytes"] / 2**20 == pytest.approx(float(mebibytes), abs=1e-6)


@pytest.mark.parametrize("device", ["h100", "mi300"])
def test_causal_attention_keeps_the_diagonal_that_tracelens_halves(device: str) -> None:
    length = 559
    shapes = ", ".join([f"16×{length}×16×64"] * 3)
    found = _rows(device, QWEN)["aten::_flash_attention_forward", shapes]
    assert found["gflop"] * length / (length + 1) == pytest.approx(10.239377408, rel=1e-12)
    assert found["moved_bytes"] / 2**20 == pytest.approx(69.875, rel=1e-9)


def _rows(device: str, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    path = FILES / "h100-vs-mi300" / device / f"{name}.json.gz"
    rows = stepscope.open(path).model_flops().ops.rows()
    return {(row["op"], row["shapes"]): row for row in rows}


# Of convolution_backward in the ResNet on MI300X: calls, µs of kernels (TraceLens' column), GFLOP,
# and µs of the memsets that the same calls launch (from the file), which TraceLens leaves out.
GRADIENTS: Final = """
    10×64×56×56, 10×64×56×56, 64×64×3×3 | 12 | 1164.010 | 4.62422016 | 0
    10×512×7×7, 10×512×7×7, 512×512×3×3 | 9 | 917.218 | 4.62422016 | 41.791
    10×128×28×28, 10×128×28×28, 128×128×3×3 | 9 | 905.973 | 4.62422016 | 25.591
    10×256×14×14, 10×256×14×14, 256×256×3×3 | 9 | 788.335 | 4.62422016 | 32.911
    10×512×7×7, 10×256×14×14, 512×256×3×3 | 3 | 287.966 | 2.31211008 | 12.877
    10×128×28×28, 10×64×56×56, 128×64×3×3 | 3 | 274.285 | 2.31211008 | 0
    10×256×14×14, 10×128×28×28, 256×128×3×3 | 3 | 251.807 | 2.31211008 | 10.957
    10×256×14×14, 10×128×28×28, 256×128×1×1 | 3 | 225.247 | 0.25690112 | 0
    10×128×28×28, 10×64×56×56, 128×64×1×1 | 3 | 184.451 | 0.25690112 | 0
    10×512×7×7, 10×256×14×14, 512×256×1×1 | 3 | 134.971 | 0.25690112 | 0
"""


def test_gradients_of_convolutions_differ_by_their_memsets_alone() -> None:
    path = FILES / "other" / "mi300-resnet-training.json.gz"
    rows = stepscope.open(path).model_flops().ops.rows()
    found = {one["shapes"]: one for one in rows if one["op"] == "aten::convolution_backward"}
    for line in GRADIENTS.strip().splitlines():
        shapes, calls, kernels_us, gflop, memsets_us = (part.strip() for part in line.split("|"))
        row = found.pop(shapes)
        assert row["calls"] == int(calls)
        within = 0.01 * int(calls)
        wanted = float(kernels_us) + float(memsets_us)
        assert row["device_time_us"] == pytest.approx(wanted, abs=within)
        assert row["gflop"] == pytest.approx(float(gflop), rel=1e-9)
    # The image needs no gradient: TraceLens counts it in spite of ``output_mask``, half is done.
    ((shapes, row),) = found.items()
    assert shapes == "10×64×112×112, 10×3×224×224, 64×3×7×7"
    assert row["device_time_us"] == pytest.approx(178.582, abs=0.03)
    assert row["gflop"] == pytest.approx(4.72055808 / 2, rel=1e-9)
