"""What kernels are called: names of real kernels, and hostile ones."""

from __future__ import annotations

import time

import pytest

from stepscope.tables.device.short_names import short_name, short_names, told_apart


def _eigen(operation: str, to: str = "Eigen::half") -> str:
    return (
        "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<"
        f"Eigen::TensorMap<Eigen::Tensor<{to}, 1, 1, int>, 16, Eigen::MakePointer>, {operation} "
        "const> const, Eigen::GpuDevice>, int>(Eigen::TensorEvaluator<x>, int)"
    )


def _map(kind: str) -> str:
    return (
        f"Eigen::TensorMap<Eigen::Tensor<{kind} const, 1, 1, int>, 16, Eigen::MakePointer> const>"
    )


_PRODUCT = (
    "Eigen::TensorCwiseBinaryOp<Eigen::internal::scalar_product_op<Eigen::half, Eigen::half>, "
    + _map("Eigen::half")
)
_COMPARE = (
    "Eigen::TensorCwiseUnaryOp<Eigen::internal::scalar_right<bool, Eigen::half, "
    "Eigen::internal::greater_equal<Eigen::half>, false>, " + _map("Eigen::half")
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (_eigen(_PRODUCT), "product<half>"),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, "
            "128, 1>(float*, at::native::(anonymous namespace)::Metadata<unsigned int>, int)",
            "CatArrayBatchedCopy<float>",
        ),
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
            "(anonymous namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::"
            "BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>(int)",
            "BinaryOpListAlpha<float>",
        ),
        ("scale_rows_of_matrix(float*, int, int)", "scale_rows_of_matrix"),
        (_eigen(_COMPARE, "bool"), "greater_equal<half>"),
        (
            _eigen("Eigen::TensorConversionOp<Eigen::half, " + _map("float")),
            "convert<float→half>",
        ),
        (
            _eigen(
                "Eigen::TensorBroadcastingOp<Eigen::array<int, 1ul> const, " + _map("Eigen::half")
            ),
            "broadcast<half>",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
            "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
            "add<float>",
        ),
        (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
            "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>(int)",
            "direct_copy",
        ),
        (
            "void tensorflow::functor::FillPhiloxRandomKernelLaunch<tensorflow::random::"
            "UniformDistribution<tensorflow::random::PhiloxRandom, Eigen::half> >(int)",
            "FillPhiloxRandomKernelLaunch<UniformDistribution>",
        ),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8>(x)",
            "cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8",
        ),
        (
            "Cijk_Ailk_Bljk_BBS_BH_MT256x112x64_MI16x16x16x1_SN_1LDSB0_APM1_ABV0",
            "Cijk_Ailk_Bljk_BBS_BH_MT256x112x64",
        ),
        ("gemm_fusion_dot_general_1.kd", "gemm_fusion_dot_general_1"),
    ],
)
def test_a_kernel_is_called_by_what_it_computes(name: str, short: str) -> None:
    assert short_name(name) == short
    assert short_names([name, "IteratorGetNext"]) == {name: short}


@pytest.mark.parametrize(
    "name",
    [
        "jit(step)/transpose(jvp())/transpose",
        "IteratorGetNext",
        "broadcast_add_fusion.2",
        "train step (with a remark in brackets) and more",
        "a<b",
        "",
    ],
)
def test_names_that_are_not_cplusplus_stay_as_they_are(name: str) -> None:
    assert short_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "void a::b<" + "<" * 5000 + "x::" * 5000,
        "a<>::" * 20_000 + "b<c>",
        "void EigenMetaKernel<scalar_left<" + "x" * 50_000 + ">",
        "void reduce_kernel<ReduceOp<" + "x " * 50_000,
        "void elementwise_kernel<" + "x_kernel_" * 10_000 + ">",
    ],
)
def test_hostile_names_are_short_in_time(name: str) -> None:
    begin = time.perf_counter()
    assert len(short_name(name)) <= 64
    assert time.perf_counter() - begin < 0.5


@pytest.mark.parametrize(
    "name",
    [
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "validate_everything(epoch=3, fold=2)",
    ],
)
def test_what_a_program_calls_its_parts_stays_as_it_is(name: str) -> None:
    assert short_name(name) == name


def test_kernels_of_one_short_name_have_numbers_that_follow_from_their_names() -> None:
    adds = [f"void at::native::add<{size}>(int)" for size in ("int, 4", "int, 2", "int, 8")]
    others = ["MatMul", "void at::native::relu<float>(int)"]
    found = told_apart([*adds, *others, *adds])
    assert found == {
        "void at::native::add<int, 2>(int)": "add<int>",
        "void at::native::add<int, 4>(int)": "add<int> (2)",
        "void at::native::add<int, 8>(int)": "add<int> (3)",
        "void at::native::relu<float>(int)": "relu<float>",
    }
    assert told_apart([*reversed(adds), *others]) == found


def test_a_number_is_not_given_twice() -> None:
    adds = [f"void at::native::add<int, {size}>()" for size in (2, 4)]
    titles = told_apart(["add<int>", *adds, "add<int> (2)"])
    assert sorted([*titles.values(), "add<int>", "add<int> (2)"]) == [
        "add<int>",
        "add<int> (2)",
        "add<int> (3)",
        "add<int> (4)",
    ]
