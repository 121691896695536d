"""Kernel names as cuBLAS, cuDNN, CUTLASS, Triton, Tensile, NCCL and RCCL write them."""

import pytest

from stepscope.tables.device.kernel_classes import kernel_class
from stepscope.tables.device.kernel_names import (
    computes_in_16_bits,
    computes_in_64_bits,
    is_16_bit,
    is_collective,
    is_tensor_core_eligible,
    multiplies_no_matrices,
    uses_tensor_core,
)


@pytest.mark.parametrize(
    "name",
    [
        "volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn",
        "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
        "void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_relu_f16>",
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI16x16x16x1",
        "Cijk_Ailk_Bljk_BBS_BH_MT256x128x32_MI16x16x16x1_SN_1LDSB1",
        "void at::native::vectorized_elementwise_kernel<4, c10::BFloat16>",
        "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32",
    ],
)
def test_low_precision_names(name: str) -> None:
    assert is_16_bit(name)


@pytest.mark.parametrize(
    "name",
    [
        "ampere_sgemm_128x64_tn",
        "ampere_sgemm_s1688",
        "void Eigen::internal::EigenMetaKernel<float>",
        "Cijk_Ailk_Bljk_SB_MT64x64x16",
        "loop_add_multiply_fusion",
    ],
)
def test_full_precision_names(name: str) -> None:
    assert not is_16_bit(name)


def test_the_shape_decides_when_there_is_one() -> None:
    assert is_16_bit("anything", "(half[4,4];half[4])")
    assert is_16_bit("anything", "(bfloat16[4,4])")
    assert not is_16_bit("volta_fp16_gemm", "(float[4,4])")


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllGather_RING",
        "rccl_main_kernel",
        "all-reduce.3",
        "void vllm::cross_device_reduce_1stage<c10::Half, 8>",
    ],
)
def test_collectives(name: str) -> None:
    assert is_collective(name)


def test_a_reduction_is_no_collective() -> None:
    assert not is_collective("void cub::DeviceReduceKernel")
    assert not is_collective("input_reduce_fusion.kd")


@pytest.mark.parametrize(
    "name",
    [
        "volta_s884gemm_fp16",
        "sm90_xmma_gemm_bf16",
        "Cijk_Ailk_Bljk_BBS_MI16x16x16x1",
        "nvjet_tst",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
        "triton_tem_fused_addmm_3",
    ],
)
def test_matrix_units(name: str) -> None:
    assert uses_tensor_core(name)


def test_plain_kernels_use_no_matrix_units() -> None:
    assert not uses_tensor_core("void Eigen::internal::EigenMetaKernel<float>")
    assert not uses_tensor_core("triton_poi_fused_add_mul_0")
    assert not uses_tensor_core("void vllm::scaled_fp8_quant_kernel<c10::Float8_e4m3fn>")


@pytest.mark.parametrize(
    "name",
    [
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
        "alignc4_execute_kernel__5x_cublas",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(Params)",
    ],
)
def test_products_on_plain_cores_use_none_whatever_their_family(name: str) -> None:
    """Kernels of cuBLAS and CUTLASS that multiply by FFMA, on an H200 without TF32."""
    assert not uses_tensor_core(name)
    assert kernel_class(name) == "gemm"


@pytest.mark.parametrize("op", ["model/dense/MatMul", "MatMul", "a/Conv2D_3", "jit(f)/dot_general"])
def test_eligible_ops(op: str) -> None:
    assert is_tensor_core_eligible(op)


def test_elementwise_ops_are_not_eligible() -> None:
    assert not is_tensor_core_eligible("model/dense/Relu")


@pytest.mark.parametrize(
    ("shape", "is_16"),
    [("(int32[2])", True), ("(float[8,8])", False), ("(half[8,8];float[8])", True), ("", True)],
)
def test_operands_without_a_floating_type_leave_the_word_to_the_name(
    shape: str, is_16: bool
) -> None:
    assert is_16_bit("FillPhiloxRandomKernelLaunch<Eigen::half>", shape) is is_16


@pytest.mark.parametrize("name", ["small_reduce_kernel", "overall_reduce", "SmallReduceKernel"])
def test_all_within_a_word_is_no_collective(name: str) -> None:
    assert not is_collective(name)
    assert kernel_class(name) == "reduction"


@pytest.mark.parametrize(
    "name", ["AllReduceKernel", "symmAllReduce", "x_ALL_REDUCE", "all-reduce.1"]
)
def test_all_reduce_is_a_collective_however_it_is_written(name: str) -> None:
    assert is_collective(name)


def test_types_and_instructions_within_a_word_are_none() -> None:
    assert not is_16_bit("triu_halfway")
    assert not uses_tensor_core("summary_kernel")
    assert kernel_class("copy_property") != "attention"
    assert kernel_class("quantile_kernel") != "quantization"


@pytest.mark.parametrize("name", ["cast<__half>", "c10::Half", "half2_kernel", "FloatToHalf"])
def test_half_is_a_type_however_it_is_written(name: str) -> None:
    assert is_16_bit(name)


@pytest.mark.parametrize(
    ("name", "bits_16"),
    [
        ("ampere_sgemm_128x64_tn", False),
        ("void Eigen::internal::EigenMetaKernel<float>", False),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", False),
        ("volta_fp16_s884gemm", True),
        ("gemm_fusion_dot_5", None),
        ("triton_poi_fused_add_0", None),
        ("to_floating_window", None),
    ],
)
def test_a_name_may_say_nothing_of_precision(name: str, bits_16: bool | None) -> None:
    assert computes_in_16_bits(name) is bits_16


@pytest.mark.parametrize(
    ("name", "is_double"),
    [
        ("ampere_dgemm_64x64_nn", True),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", True),
        ("void gemv2T_kernel_val<int, int, double, double, double>", True),
        ("Cijk_Ailk_Bljk_DB_MT64x64x16", True),
        ("sm80_xmma_gemm_f64f64_f64f64_f64_nn_n", True),
        ("ampere_sgemm_128x64_tn", False),
        ("doubled_rows", False),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", False),
        ("hgemm_256x128", False),
    ],
)
def test_double_precision_is_told_by_name(name: str, is_double: bool) -> None:
    assert computes_in_64_bits(name) is is_double


def test_a_vector_is_no_matrix() -> None:
    assert multiplies_no_matrices("void gemvNSP_kernel<__half, __half, float>")
    assert multiplies_no_matrices("void cublasLt::splitKreduce_kernel<32, 16, int>")
    assert not multiplies_no_matrices("ampere_fp16_s16816gemm_fp16_splitK_128x64_nn")
