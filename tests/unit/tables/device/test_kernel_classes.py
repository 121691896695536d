"""Kernel classes: every rule reaches the kernels it was written for."""

import pytest

from stepscope.tables.device.kernel_classes import (
    CLASSES,
    OP_RULES,
    OTHER,
    RULES,
    KernelRule,
    kernel_class,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.example[:40])
def test_the_example_of_each_rule_is_of_its_class(rule: KernelRule) -> None:
    assert kernel_class(rule.example) == rule.kernel_class


@pytest.mark.parametrize("rule", OP_RULES, ids=lambda rule: rule.example)
def test_a_silent_kernel_is_judged_by_its_op(rule: KernelRule) -> None:
    assert kernel_class("k0") == OTHER
    assert kernel_class("k0", rule.example) == rule.kernel_class
    assert kernel_class("k0", f"model/layer/{rule.example}_17") == rule.kernel_class


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", "gemm"),
        (
            "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloop>>",
            "attention",
        ),
        ("cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32_bf16_bf16", "gemm"),
        ("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc", "convolution"),
        ("cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16", "attention"),
        ("fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal", "attention"),
        ("_ZN2ck16tensor_operation6device37kernel_batched_gemm_xdlops_bwd_weight", "convolution"),
        ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", "convolution"),
        ("miopenSp3AsmConv_v30_3_1_gfx9_fp16_dot2_edc_f2x3_stride1", "convolution"),
        ("MIOpenBatchNormFwdTrainSpatial", "normalization"),
        ("Im3d2Col.kd", "convolution"),
        ("gemm_fusion_dot_general_1", "gemm"),
        ("loop_convert_fusion.kd", "elementwise"),
        ("input_reduce_fusion", "reduction"),
        ("wrapped_transpose", "layout"),
        ("triton_red_fused_add_mean_mul_pow_rsqrt_0", "reduction"),
        ("triton_poi_fused__unsafe_view_mul_silu_2", "elementwise"),
        ("void fbgemm_gpu::permute_2D_data_kernel<false, int, long>", "layout"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "collective"),
        ("CopyDeviceToDevice", "copy"),
        (
            "void Eigen::internal::EigenMetaKernel<Eigen::TensorConversionOp<Eigen::half>>",
            "elementwise",
        ),
    ],
)
def test_names_of_many_libraries(name: str, wanted: str) -> None:
    assert kernel_class(name) == wanted


def test_every_class_is_listed_once() -> None:
    assert len(CLASSES) == len(set(CLASSES))
    assert {rule.kernel_class for rule in OP_RULES} <= set(CLASSES)
