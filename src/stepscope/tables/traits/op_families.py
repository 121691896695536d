"""Families of op types: an op, its gradients and its fused variants are one thing to change."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from stepscope.schema import names
from stepscope.tables.core.op_name import OpName, is_layout_fusion
from stepscope.tables.steps.calls import is_single_op

_PREFIX: Final = re.compile(r"^(?:_+(?:Mkl|OneDnn)?(?:Native)?(?:Fused)?|Fused(?!BatchNorm))")
_SUFFIX: Final = re.compile(
    r"(?:Backprop(?:Input|Filter)?(?:WithBias)?|Grad(?:Input|Filter|WithArgmax)?"
    r"|_backward(?:_(?:input|weight|bias))?|_forward)?"
    r"(?:V\d+|Ex|_\d+)?_?$"
)
_NUMBER: Final = re.compile(r"\.\d+(?:\.clone)?$")
# What PyTorch calls the same by the library that runs it; leading underscores and the end of a
# gradient's name are gone.
_CONVOLUTIONS = (
    "convolution conv1d conv2d conv3d mkldnn_convolution cudnn_convolution miopen_convolution "
    "mps_convolution thnn_conv2d slow_conv2d slow_conv3d conv_depthwise2d convolution_overrideable "
    "cudnn_convolution_transpose miopen_convolution_transpose miopen_depthwise_convolution"
)
_MATMULS = "addmm mm bmm baddbmm addbmm mv addmv linear addmm_activation scaled_mm grouped_mm"
_ATTENTIONS = (
    "flash_attention efficient_attention cudnn_attention scaled_dot_product_flash_attention "
    "scaled_dot_product_efficient_attention scaled_dot_product_cudnn_attention "
    "scaled_dot_product_attention_math scaled_dot_product_flash_attention_for_cpu"
)
_BATCH_NORMS = "native_batch_norm cudnn_batch_norm miopen_batch_norm batch_norm_impl_index"
# TensorFlow's ops on strings: a person moves them together, out of the step.
TEXT: Final = "text"
#: What draws random numbers in JAX's programs: many small ops.
RANDOM: Final = "random"
_ON_TEXT = (
    "AsString DecodeCSV ReduceJoin RegexFullMatch RegexReplace StaticRegexFullMatch "
    "StaticRegexReplace StringFormat StringJoin StringLength StringLower StringNGrams StringSplit "
    "StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong StringToNumber "
    "StringUpper Substr UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode UnicodeTranscode"
)
# TensorFlow's lists of tensors are what loops of its graphs read from and write to (tf.scan,
# tf.map_fn, recurrent layers): they go with the loop.
_OF_LOOPS = (
    "TensorListStack TensorListFromTensor TensorListReserve TensorListGetItem TensorListSetItem "
    "TensorListPushBack TensorListPopBack TensorListLength TensorListConcat TensorListGather"
)
_ALIASES: Final = {
    "BatchMatMul": "MatMul",
    "dot": "dot_general",
    "TopK": "Sort",
    "Sort": "Sort",
    "conv_general": "conv_general_dilated",
    **dict.fromkeys(_CONVOLUTIONS.split(), "convolution"),
    **dict.fromkeys(_MATMULS.split(), "matmul"),
    **dict.fromkeys(_ATTENTIONS.split(), "scaled_dot_product_attention"),
    **dict.fromkeys(_ON_TEXT.split(), TEXT),
    **dict.fromkeys(_BATCH_NORMS.split(), "batch_norm"),
    **dict.fromkeys(_OF_LOOPS.split(), "while"),
    **dict.fromkeys(("fft_r2c", "fft_c2r", "fft_c2c"), "fft"),
}
# Products of matrices: what most models are made of.
_PRODUCTS = (
    "MatMul Einsum matmul dot_general Conv1D Conv2D Conv3D DepthwiseConv2dNative convolution "
    "conv_general_dilated custom-call scaled_dot_product_attention"
)
PRODUCTS: Final = frozenset(_PRODUCTS.split())
# What costs the cube of a size, or a whole transform: as each framework names it.
_DECOMPOSITIONS: Final = """
    Cholesky Eig FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D Lu MatrixInverse MatrixSolve
    MatrixTriangularSolve Qr RFFT RFFT2D SelfAdjointEig Svd cholesky eig eigh fft geqrf
    householder_product linalg_cholesky linalg_cholesky_ex linalg_eig linalg_eigh
    linalg_householder_product linalg_inv linalg_inv_ex linalg_lu linalg_lu_factor
    linalg_lu_factor_ex linalg_lu_solve linalg_pinv linalg_qr linalg_solve linalg_solve_ex
    linalg_solve_triangular linalg_svd linalg_svdvals lu qr svd triangular-solve
    triangular_solve
"""
# Ops that seldom are what a model is for.
_SELDOM: Final = """
    Sort sort top_k approx_top_k Cumsum CumSum Cumprod cumsum cumlogsumexp Unique unique
    Transpose transpose contiguous Cast convert_element_type Where nonzero OneHot one_hot
    Gather gather ResourceGather scatter-add scatter UnsortedSegmentSum Tile AssignVariableOp
    AssignAddVariableOp AssignSubVariableOp While while pfor WriteFile ReadFile EncodePng
    EncodeJpeg Save SaveV2 Print PrintV2 WriteSummary WriteHistogramSummary copy_ _to_copy
    item coalesce to_sparse to_sparse_csr to_dense
"""
UNUSUAL: Final = frozenset(
    (*_DECOMPOSITIONS.split(), *_SELDOM.split(), *names.PYTHON_OPS, RANDOM, TEXT)
)

# What JAX's functions of random numbers call themselves, and their generator.
_DRAWS: Final = re.compile(
    r"(?:^|[/(])(?:_(?:uniform|normal(?:_real)?|bernoulli|gumbel|randint|categorical|shuffle|"
    r"truncated_normal|laplace|exponential|gamma|beta|dirichlet|poisson|permutation|"
    r"random_bits)|threefry\w*|random_bits|rng_bit_generator)(?=[)/]|$)"
)
#: Families of what a compiled program runs in a scope of its own, whatever ops are in it: random
#: numbers, loops, and rows that tf.vectorized_map computes at once, a Jacobian's among them.
SCOPES: Final = (RANDOM, "while", "pfor")


def scope_of(name: str) -> str:
    """The innermost of these scopes that an op's path has; "" outside of them.

    What is drawn in a loop, and the loop that draws it, is random numbers.
    """
    if name.startswith("jit(") and _DRAWS.search(name):
        return RANDOM
    inside = [one for one in name.split("/") if one in SCOPES]
    return inside[-1] if inside else ""


# What a compiler fuses into its neighbours without doubt, TensorFlow's and PyTorch's. XLA has done
# so with JAX's, which bear the names of PyTorch's.
_ELEMENTWISE_OF_TENSORFLOW: Final = (
    "Add AddV2 AddN Sub Mul Div RealDiv DivNoNan Neg Abs Sign Square Sqrt Rsqrt Pow Exp Expm1 Log "
    "Log1p Tanh Sigmoid Relu Relu6 LeakyRelu Elu Selu Softplus Maximum Minimum Select Greater "
    "GreaterEqual Less LessEqual Equal NotEqual LogicalAnd LogicalOr LogicalNot BiasAdd "
    "SquaredDifference Reciprocal Erf Erfc Floor FloorMod Round ClipByValue Cast"
)
_ELEMENTWISE_OF_TORCH: Final = (
    "add sub rsub mul div neg abs sign square sqrt rsqrt pow exp expm1 log log1p tanh sigmoid relu "
    "relu6 gelu silu mish elu selu celu softplus leaky_relu hardtanh hardswish hardsigmoid "
    "threshold clamp clamp_min clamp_max maximum minimum where masked_fill eq ne gt ge lt le "
    "reciprocal erf erfc floor round sin cos lerp addcmul addcdiv dropout native_dropout"
)
_OF_TENSORFLOW: Final = frozenset(_ELEMENTWISE_OF_TENSORFLOW.split())
#: TensorFlow's elementwise ops that any formula may have: their names say little.
PLAIN: Final = _OF_TENSORFLOW - UNUSUAL
_OF_TORCH: Final = frozenset(_ELEMENTWISE_OF_TORCH.split())


def is_elementwise(name: str, family: str) -> bool:
    """Whether an op that no compiler has fused works on each element by itself."""
    of_torch = name.startswith("aten") and family in _OF_TORCH
    return of_torch or family in _OF_TENSORFLOW


def family_of_op(op: OpName) -> str:
    """The family of an op by its type, else by its name."""
    return family_of(op.type if op.type not in ("", "Unknown") else op.name)


@lru_cache(maxsize=4096)
def family_of(op_type: str) -> str:
    """The family of an op's type: "Conv2D" of "Conv2DBackpropFilter", "MatMul" of "_MklMatMul"."""
    plain = _NUMBER.sub("", op_type.removeprefix("aten::").removeprefix("aten/"))
    plain = _PREFIX.sub("", plain) or plain
    plain = _SUFFIX.sub("", plain) or plain
    return "copy" if is_layout_fusion(plain) else _ALIASES.get(plain, plain)


# A program of JAX's in the path of an op.
_PROGRAM = re.compile(r"jit\((\w+)\)/")


def is_eager_in_jax(name: str) -> bool:
    """Whether an op of JAX's was dispatched by itself: it is a program of its own then."""
    program = _PROGRAM.match(name)
    return program is not None and is_single_op(program[1])
