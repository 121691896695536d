"""Names of one op as different processes, frameworks and compilers spell it."""

import pytest

from stepscope.comparison.names import (
    kernel_stem,
    leaf_stem,
    module_of,
    natural_key,
    op_class,
    stem,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model/dense_1/MatMul", "model/dense/MatMul"),
        ("model/dense/MatMul_12", "model/dense/MatMul"),
        ("fusion.12", "fusion"),
        ("fusion.12.clone", "fusion"),
        ("fusion.3.remat2", "fusion"),
        ("__inference_train_step_1408", "train_step"),
        ("StatefulPartitionedCall/sequential_1/conv2d_1/Relu", "sequential/conv2d/Relu"),
        ("jit(step)/jit(main)/dot_general", "jit(step)/dot_general"),
        ("cluster_3_1/xla_run", "cluster/xla_run"),
        ("lambda at 0x7f3a90bc", "lambda at 0x"),
        # Numbers that belong to the name stay.
        ("conv2d/Conv2D", "conv2d/Conv2D"),
        ("MmBackward0", "MmBackward0"),
        ("aten::addmm", "aten::addmm"),
        ("12", "12"),
        ("", ""),
    ],
)
def test_stems(name: str, expected: str) -> None:
    assert stem(name) == expected


def test_the_leaf_is_what_a_renamed_module_leaves() -> None:
    assert leaf_stem("encoder/block_3/attention/MatMul_2") == "MatMul"


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("model/dense/MatMul", "model/dense"),
        ("gradient_tape/model/dense/MatMul", "model/dense"),
        ("jit(step)/jit(main)/transpose(jvp(Dense_0))/dot_general", "Dense_0"),
        ("jit(step)/jvp(Net)/while/body/Dense_1/add", "Net/Dense_1"),
        ("MatMul", ""),
    ],
)
def test_modules(name: str, module: str) -> None:
    assert module_of(name) == module


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, Add<float> >(int, float*)",
            "at::native::vectorized_elementwise_kernel",
        ),
        ("void (anonymous namespace)::softmax_warp_forward<c10::Half, 10>", "softmax_warp_forward"),
        ("input_transpose_fusion.kd", "input_transpose_fusion"),
        ("loop_fusion_12", "loop_fusion"),
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
    ],
)
def test_kernels(name: str, expected: str) -> None:
    assert kernel_stem(name) == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("model/dense/MatMul", "MatMul"), ("jit(f)/dot_general", "dot_general")),
        (("model/dense/MatMul", "_FusedMatMul"), ("aten::addmm", "")),
        (("model/Conv2D", "Conv2D"), ("jit(f)/conv_general_dilated", "conv_general_dilated")),
        (("model/Maximum", "Maximum"), ("jit(f)/max", "max")),
        (("model/Max", "Max"), ("jit(f)/reduce_max", "reduce_max")),
    ],
)
def test_ops_of_two_frameworks_have_one_class(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    assert op_class(*first) == op_class(*second) != "other"


def test_numbers_sort_as_numbers() -> None:
    names = ["a_10", "a_9", "a", "b_1", "a_9_2"]
    assert sorted(names, key=natural_key) == ["a", "a_9", "a_9_2", "a_10", "b_1"]
