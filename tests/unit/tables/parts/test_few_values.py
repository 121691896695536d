"""Parts of which few values are taken, where no line of the program was recorded, or a GPU ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.few_values import FewValues, few_values
from stepscope.tables.parts.parts import parts
from tests.unit.formats.kineto.layout import profile, x

GPU, STREAM = 0, 7


def step(number: int, *, on_gpu: bool, other_us: float) -> list[dict[str, Any]]:
    """1 ms: scores of all, of which one in 50 is gathered, and another product beside them."""
    at = 1000.0 * number
    base = 10 * number

    def op(name: str, begin: float, length: float, **said: Any) -> dict[str, Any]:
        return x("cpu_op", name, at + begin, length, **said)

    def node(name: str, begin: float, length: float, number: int, given: list[int]) -> Any:
        said = {"Sequence_number": base + number, "Fwd_thread_id": 1, "Input_Dims": [given]}
        return op(f"{name}Backward0", begin, length, **said)

    found = [
        x("user_annotation", f"ProfilerStep#{number}", at, 990),
        op("aten::mm", 10, 200, Sequence_number=base + 1, Input_Dims=[[16, 8], [8, 100]]),
        op("aten::gather", 220, 10, Sequence_number=base + 2, Input_Dims=[[16, 100], [16, 2]]),
        op("aten::mm", 240, other_us, Sequence_number=base + 3, Input_Dims=[[9, 8], [8, 5]]),
        node("Mm", 600, 20, 3, [9, 5]),
        node("Gather", 630, 20, 2, [16, 2]),
        op("aten::fill_", 632, 5, Input_Dims=[[16, 100], []]),
        node("Mm", 660, 200, 1, [16, 100]),
        op("aten::mm", 665, 190, Input_Dims=[[8, 16], [16, 100]]),
    ]
    if on_gpu:
        for place, (begin, length) in enumerate(((12, 200), (242, other_us), (667, 190))):
            said = {"correlation": base + place, "external_id": 0}
            found += [
                x("cuda_runtime", "cudaLaunchKernel", at + begin, 2, **said),
                x(
                    "kernel",
                    "gemm",
                    at + begin + 5,
                    length,
                    GPU,
                    STREAM,
                    device=0,
                    stream=7,
                    **said,
                ),
            ]
    return found


def found(folder: Path, *, on_gpu: bool = False, other_us: float = 40) -> FewValues | None:
    events = [one for at in range(1, 5) for one in step(at, on_gpu=on_gpu, other_us=other_us)]
    (host,) = profile(folder, events).hosts
    assert isinstance(host, Host)
    made = account(host)
    assert made is not None
    (part,) = (one for one in parts(made) if one.kind == "op" and one.name == "matmul")
    assert part.first.on_device is on_gpu
    return few_values(host, made, part)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_most_of_a_part_is_scores_of_which_few_are_taken(tmp_path: Path, on_gpu: bool) -> None:
    told = found(tmp_path, on_gpu=on_gpu)
    assert told is not None
    assert (told.one_in, told.taken_by, told.at) == (50, "gather", "")
    # Of 200 and 190 µs, and 40 of the other product.
    assert told.share == pytest.approx(390 / 430, abs=0.04)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_another_product_that_is_the_longest_is_not_of_those(tmp_path: Path, on_gpu: bool) -> None:
    assert found(tmp_path, on_gpu=on_gpu, other_us=340) is None
