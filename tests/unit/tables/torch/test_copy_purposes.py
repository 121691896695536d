"""What PyTorch's copies on a device are for."""

from pathlib import Path

from stepscope.tables.torch.copy_purposes import copy_purposes
from tests.unit.formats.kineto.layout import profile, x

_SAID = {"Input_Dims": [[64, 64]], "Input_type": ["float"]}


def _copy(
    number: int, at: float, around: tuple[str, ...], length: float
) -> list[dict[str, object]]:
    """A copy within these ops, the outermost first, and its kernel."""
    ops = (*around, "aten::copy_")
    return [
        *(x("cpu_op", op, at + one, 40.0 - 2 * one, **_SAID) for one, op in enumerate(ops)),
        x("cuda_runtime", "cudaLaunchKernel", at + 12, 2.0, correlation=number),
        x("kernel", "elementwise", at + 50, length, 0, 7, device=0, stream=7, correlation=number),
    ]


def test_a_copy_is_for_the_op_around_its_casts_and_layouts(tmp_path: Path) -> None:
    engine = "autograd::engine::evaluate_function: ToCopyBackward0"
    cast = ("aten::to", "aten::_to_copy")
    events = [
        *_copy(1, 100.0, ("aten::linear", *cast), 10.0),
        *_copy(2, 200.0, (engine, "ToCopyBackward0", *cast), 20.0),
        *_copy(3, 300.0, ("aten::group_norm", "aten::contiguous", "aten::clone"), 30.0),
        *_copy(4, 400.0, ("aten::reshape", "aten::clone"), 40.0),
        *_copy(5, 500.0, cast, 5.0),
    ]
    found = copy_purposes(profile(tmp_path, events).hosts[0])
    assert {what: time / 1e6 for what, time in found.items()} == {
        (True, "aten/linear"): 10.0,
        (True, "ToCopyBackward0"): 20.0,
        (False, "aten/group_norm"): 30.0,
        (False, "aten/reshape"): 40.0,
        (True, "aten/to"): 5.0,
    }


def test_copies_from_the_host_are_no_work_of_the_device(tmp_path: Path) -> None:
    events = [
        x("cpu_op", "aten::to", 100.0, 40.0),
        x("cpu_op", "aten::_to_copy", 101.0, 38.0),
        x("cpu_op", "aten::copy_", 102.0, 36.0, **_SAID),
        x("cuda_runtime", "cudaMemcpyAsync", 104.0, 20.0, correlation=1),
        x(
            "gpu_memcpy",
            "Memcpy HtoD (Pageable -> Device)",
            110.0,
            30.0,
            0,
            7,
            device=0,
            stream=7,
            correlation=1,
            bytes=4096,
        ),
    ]
    assert copy_purposes(profile(tmp_path, events).hosts[0]) == {}
