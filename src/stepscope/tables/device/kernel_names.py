"""What a kernel's name gives away: precision, matrix units, collective, copy.

Vendors do not publish these schemes; the patterns follow what cuBLAS, cuDNN, CUTLASS, Triton,
XLA, rocBLAS/Tensile (``Cijk_…``), NCCL and RCCL kernels are called. An open rule: add a pattern
here with a test that names a real kernel. They are compiled when the first kernel is asked about.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# A word begins after no letter, or with a capital: "small_reduce" is not "all_reduce".
ALL: Final = r"(?-i:(?<![A-Za-z])all|All|(?<![A-Za-z])ALL)"
# Asked of every name: alternatives that begin with a plain letter are matched five times as fast.
_COLLECTIVE_IN_LOWER_CASE: Final = (
    "hccl|nccl|rccl|reduce[-_]?scatter|collective[-_]?permute|cross_device_reduce|"
    "collective-broadcast"
)
_OF_ALL: Final = r"[-_]?(?i:reduce(?!d)|gather|to[-_]?all)"
_SHOT: Final = "_?(?i:shot)"
_COLLECTIVE: Final = (
    rf"all(?<![A-Za-z]all){_OF_ALL}|All{_OF_ALL}|ALL(?<![A-Za-z]ALL){_OF_ALL}|"
    rf"one(?<![A-Za-z]one){_SHOT}|One{_SHOT}|two(?<![A-Za-z]two){_SHOT}|Two{_SHOT}"
)
# Floating-point formats of 16 bits or fewer. Volta's s884 tensor-core kernels only take fp16;
# Tensile spells its types as three letters after the transposes: BBS = bf16, HHS/HSS = fp16.
_BITS_16: Final = (
    r"(?<![A-Za-z])half(?![a-z])|Half(?![a-z])|[Bb][Ff](loat)?16|fp16|(?<![a-z])f16|_f16|"
    r"h884|s884|h1688|h16816|s16816|s161616|hmma|hgemm|(?<![a-z])hsh_|(?<![a-z])hss_|16832|[Ee]4m3|[Ee]5m2|[Ee]2m1|fp8|(?<![a-z0-9])f8|nvfp4|mxfp4|DF16|"
    # Tensile's first type after the transposes; cuBLAS nvjet: t = bf16, h = fp16, q = fp8.
    r"Cijk_A\w{3}_B\w{3}_(H|B(?!ias)|F8|B8)|nvjet_(sm\d+_)?[thq]"
)
_BITS_32_TYPES: Final = r"(?i)tf32|_f32f32|sgemm"
# What else says that a kernel computes in 32 bits or more (Tensile: S, D, C or Z after transposes).
_BITS_32: Final = (
    r"(?i)(?<![a-z])(float|double|complex)(?![a-z]|_?(16|8))|(?<![a-z])f(p)?(32|64)|f32f32|f64f64|[sdcz]gemm|"
    r"scudnn|dcudnn|(?-i:Cijk_A\w{3}_B\w{3}_[SDCZ])"
)
# Products in double precision, as libraries call them: which no reduced format serves unasked.
_BITS_64: Final = (
    r"(?i)(?<![a-z])double(?![a-z])|[dz]gemm|f64f64|(?<![a-z])f(p)?64|d884|dcudnn|(?<![a-z])dfma|"
    r"(?-i:Cijk_A\w{3}_B\w{3}_[DZ])"
)
_SHAPE_FLOAT: Final = r"(?i)half|float|double|complex|bf16|f16|f32|f64|f8e"
_SHAPE_16: Final = r"(?i)half|bfloat16|bf16|f16|float16|f8e|float8"
_TENSOR_CORE: Final = (
    r"(?i)16816|c1688|conv1x1|conv2d_c1_k1|dgrad_1x1_stride_2x2|direct_group|first_layer_wgrad_kernel|"
    r"h1688|h884|hmma|i16832|i8816|s884|s1688|xmma_|wgmma|gmma|tensorop|sm(80|86|89|90|100|120)_xmma|"
    r"cutlass_\w*tensorop|cutlass3x_sm\d+|sm90_|sm100_|tcgen05|(?-i:(?<![A-Za-z])umma|Umma|UMMA)|MI\d+x\d+x\d+|mfma|_wmma|"
    r"flash_(fwd|bwd)|FlashAttn(Fwd|Bwd)|fmha|nvjet|bf16gemm|gemm_fusion|xdl|igemm_\w+_gtcx|"
    r"s161616|mfma16|"
    # What exists on matrix units only: products of 8 and 4 bits, and Triton's tl.dot.
    r"(bmm|gemm)_\w*E[245]m[123]|_matmul_ogs|triton_(tem|mm)_"
)
# Products on the cores for single numbers, whatever family of kernels they are of.
_PLAIN_CORES: Final = r"(?i)(?<![a-z])(ffma|dfma|simt)(?![a-z])"


@lru_cache(maxsize=100_000)
def is_collective(name: str) -> bool:
    """Whether a kernel or HLO op communicates between devices."""
    return bool(re.search(_COLLECTIVE_IN_LOWER_CASE, name.lower()) or re.search(_COLLECTIVE, name))


@lru_cache(maxsize=100_000)
def is_16_bit(name: str, shape: str = "") -> bool:
    """Whether a kernel computes in 16 bits or fewer, from its operand shapes or its name.

    Operands without a floating type (the size of a tensor to fill, a mask) say nothing.
    """
    if re.search(_SHAPE_FLOAT, shape):
        return bool(re.search(_SHAPE_16, shape))
    return bool(re.search(_BITS_16, name)) and not re.search(_BITS_32_TYPES, name)


@lru_cache(maxsize=100_000)
def computes_in_16_bits(name: str, shape: str = "") -> bool | None:
    """The same, but None where neither says it: ``loop_fusion_3`` may compute in anything."""
    if is_16_bit(name, shape):
        return True
    return False if re.search(_SHAPE_FLOAT, shape) or re.search(_BITS_32, name) else None


@lru_cache(maxsize=100_000)
def uses_tensor_core(name: str) -> bool:
    """Whether a kernel's name says it uses tensor cores (NVIDIA) or matrix cores (AMD)."""
    return bool(re.search(_TENSOR_CORE, name)) and not re.search(_PLAIN_CORES, name)


# A matrix by a vector, two vectors, and the sums of a product that several blocks share: no matrix
# unit takes any of them.
_NO_MATRICES: Final = r"(?i)gemv|(?<![a-z])dot_kernel|split_?k_?reduce"


@lru_cache(maxsize=100_000)
def multiplies_no_matrices(name: str) -> bool:
    """Whether a kernel of a matrix library multiplies no two matrices: no matrix unit serves it."""
    return bool(re.search(_NO_MATRICES, name))


@lru_cache(maxsize=100_000)
def computes_in_64_bits(name: str) -> bool:
    """Whether a kernel's name says that it computes in double precision."""
    return bool(re.search(_BITS_64, name))


_ELIGIBLE_ENDS = (
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "Conv3D",
    "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput",
    "MatMul",
    "FusedMatMul",
    "CudnnRNN",
    "XlaDot",
    "XlaDotV2",
    "dot_general",
    "conv_general_dilated",
)
_ELIGIBLE_PART = re.compile("BatchMatMul|CudnnRNN(?:V|Forward|Backprop)")
_ORDINAL = re.compile(r"_\d+$")


@lru_cache(maxsize=100_000)
def is_tensor_core_eligible(op_name: str) -> bool:
    """Whether an op of this name could run on tensor cores.

    The incumbent's list, plus what it misses (reference §12.5): a top-level "MatMul" and JAX's
    ``dot_general`` and ``conv_general_dilated``.
    """
    leaf = _ORDINAL.sub("", op_name.rpartition("/")[2])
    return leaf.endswith(_ELIGIBLE_ENDS) or _ELIGIBLE_PART.search(leaf) is not None
