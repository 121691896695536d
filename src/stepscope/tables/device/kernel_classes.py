"""What kind of work a kernel does, by its name and, failing that, by the op it served.

The rules are data and open: the first whose pattern is found in the name wins, so special ones
come before general ones. To teach Stepscope a new library, add a rule with an example.
Precision and matrix units, which cut across the classes, are in ``kernel_names``.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Final

from stepscope.records import dataclass
from stepscope.tables.device.kernel_names import ALL

OTHER: Final = "other"


@dataclass(frozen=True)
class KernelRule:
    """Names in which ``pattern`` is found (case ignored) are of ``kernel_class``.

    Attributes:
        example: A kernel name of this rule, as its library writes it; tests hold it to the class.
    """

    kernel_class: str
    pattern: str
    example: str

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when first asked for: recordings of hosts alone have no kernel."""
        return re.compile(self.pattern, re.IGNORECASE)


RULES: Final = (
    # Communication (NCCL, RCCL, the custom all-reduces of vLLM, SGLang and TensorRT-LLM).
    KernelRule("collective", r"[hnr]ccl|msccl", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
    KernelRule(
        "collective",
        rf"cross_device_reduce|(one|two)_?shot_?all|{ALL}_?reduce(?!d)|{ALL}_?gather|"
        r"reduce_?scatter|nvshmem|deep_ep|moe_a2a",
        "void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>",
    ),
    # Optimizer steps before everything elementwise, whose functors they are made of.
    KernelRule(
        "optimizer",
        r"multi_tensor_apply|fused_?adam|adam(w|_|f|op|kernel|\b)|adagrad|apply(adam|momentum|"
        r"gradientdescent|rmsprop)|sgd_|lamb_|fused_sgd",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>",
    ),
    KernelRule(
        "random",
        r"philox|distribution_elementwise|curand|rocrand|randomuniform|random_uniform|rng|"
        r"generate_seed|threefry|bernoulli|fused_dropout",
        "void tensorflow::functor::FillPhiloxRandomKernelLaunch<tensorflow::random::Philox>",
    ),
    # Attention (FlashAttention 1-3, cuDNN, CUTLASS, CK, AITER, Triton, FlashInfer, vLLM).
    KernelRule(
        "attention",
        r"flash_?attn|flash::|flash_(fwd|bwd|fprop|bprop)|fmha|sdpa|attn_(fwd|bwd)|"
        r"bwd_kernel_(dk_dv|dq)|(paged|unified|decode|prefill|masked_multihead|batch)_?attention|"
        r"(paged|unified|grouped)_att|attention_(\dd|kernel|inner)|_attention\b|"
        r"batchprefill|batchdecode|mla_(decode|prefill)|_mla_|merge_attn_states",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
    ),
    KernelRule(
        "attention",
        r"reshape_and_cache|concat_and_cache|kv_?cache|rotary|(?-i:(?<![A-Za-z])rope|Rope|ROPE)",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
    ),
    # Convolution (cuDNN, MIOpen, CK, CUTLASS): before gemm, since it is computed as one.
    KernelRule(
        "convolution",
        r"[fdw]grad(?!ient)|[fd]prop|implicit_?conv|winograd|winogra|conv(?!er)|scudnn|im\dd2col|im2col|"
        r"col2im|igemm|xdlops_(fwd|bwd)|compute(b|k)?offsets|fft2d_(r2c|c2r)|direct_group",
        "volta_scudnn_128x128_stridedB_splitK_small_nn_v1",
    ),
    # Normalisation and softmax.
    KernelRule(
        "softmax",
        r"soft_?max",
        "void (anonymous namespace)::softmax_warp_forward<c10::Half, c10::Half, float, 10>",
    ),
    KernelRule(
        "normalization",
        r"(batch|layer|group|instance|rms|l2)_?norm|bn_(fw|bw)|bnorm|norm_(fwd|bwd)|"
        r"rowwisemoments|gammabeta|groupnorm|weight_norm|computeinternalgradients",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
    ),
    # Matrix products (cuBLAS, nvjet, CUTLASS, Tensile, CK, Triton, DeepGEMM, MAGMA).
    KernelRule(
        "gemm",
        r"(?<!fb)gemm|gemv|cijk_|nvjet|matmul|xdl_?cshuffle|_mm_kernel|\bmm_|_mma_|cutlass\d*x?_sm|"
        r"splitk_?reduce|streamk|dot_general|triton_(tem|mm)|wgmma|(?<![a-z])dot_kernel|fused_moe|"
        r"(?<![a-z])bmm_|cublaslt",
        "Cijk_Ailk_Bljk_BBS_BH_MT256x128x32_MI16x16x16x1_SN_1LDSB1",
    ),
    KernelRule(
        "routing",
        r"moe::|routing|bitmatrix|moe_(align|sum|sort)|expert",
        "void moe::dev::routing::routingIndicesHistogramKernel<float>",
    ),
    KernelRule("rnn", r"lstm|(?<![a-z])gru(?![a-z])|persist_rnn|rnn_", "RNN_blockPersist_fp_LSTM"),
    KernelRule("pooling", r"pool(?!ed_emb)", "void cudnn::pooling_fw_4d_kernel<float, float, 0>"),
    # Indexing: embedding look-ups, gathers and scatters, sorting.
    KernelRule(
        "embedding",
        r"embedding|embs?_|indexing_backward|linearize_index",
        "void split_embedding_codegen_forward_unweighted_kernel<float, float>",
    ),
    KernelRule(
        "sort",
        r"radix_?sort|mergesort|bitonic|topk|top_k|segmented_?sort|onesweep|(?<![a-z])sort",
        "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int>>",
    ),
    KernelRule(
        "gather_scatter",
        r"gather|scatter|index_?(select|add|put|elementwise|copy|kernel|fill)|"
        r"(?<![a-z])index_|permute_indices|one_?hot|masked_(select|fill)|unique_by_key",
        "void at::native::_scatter_gather_elementwise_kernel<128, 4>",
    ),
    KernelRule(
        "copy",
        r"mem_?cpy|mem_?set|rocclr_(copy|fill)|copydeviceto|catarray|concat|direct_copy|"
        r"copy_kernel|copy_fusion|fillbuffer|fillfunctor|wrapped_copy|_copy_async|slice_fusion|"
        r"dynamic_update_slice|triton_poi_fused_cat",
        "__amd_rocclr_copyBuffer.kd",
    ),
    # What Inductor fuses only reads through a transposition, unless there is nothing else in it.
    KernelRule(
        "layout",
        r"^triton_poi_fused_(?:_?(?:clone|copy|_to_copy|transpose|permute|view|reshape|unsqueeze|"
        r"squeeze|t))+_?\d*$",
        "triton_poi_fused_clone_transpose_3",
    ),
    KernelRule(
        "layout",
        r"^(?!triton_\w+_fused_).*(?:transpose|nchwto|nhwcto|to_?nhwc|to_?nchw|swapdimension|"
        r"shuffle|permute|pad_|tile_kernel|subtensoropwith(cast|scalar))",
        "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, true>",
    ),
    KernelRule(
        "scan",
        r"devicescan|scankernel|prefix_?sum|exclusive_?sum|cumsum|cumprod",
        "void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15, int>>",
    ),
    KernelRule(
        "loss",
        r"cross_?entropy|nll_?(loss|criterion)|ctc_?loss|mse_|_loss|xent",
        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float>",
    ),
    KernelRule(
        "reduction",
        r"reduce|reduction|argmax|argmin|triton_(red|per)_|multiblock",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
    ),
    KernelRule(
        "quantization",
        r"quant(?!il|um)|(?<![a-z])cast_(to|from)_fp8|scaled_fp8",
        "void vllm::dynamic_per_token_scaled_quant_kernel",
    ),
    # Elementwise last: every framework's generic loop.
    KernelRule(
        "elementwise",
        r"elementwise|eigenmetakernel|pointwise|triton_poi_|loop_\w*fusion|wrapped_|fusion|"
        r"activation|silu|gelu|relu|act_and_mul|dropout|functor|broadcast|biasnhwc|addbias|"
        r"bias_?add|scalepackedtensor|op_?tensor|convert|where_|arange|range_|fill|unaryop|"
        r"binaryop|_vec_|add_tensor|addtensor",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
    ),
)

# For kernels whose name says nothing: the last part of the framework op's name.
OP_RULES: Final = (
    KernelRule("gemm", r"matmul|einsum|xladot|dot_general|linear|addmm|bmm", "model/dense/MatMul"),
    KernelRule("convolution", r"conv(?!er)", "model/Conv2DBackpropFilter"),
    KernelRule("softmax", r"softmax", "Softmax"),
    KernelRule("normalization", r"norm", "FusedBatchNormGradV3"),
    KernelRule("optimizer", r"apply(adam|momentum|gradient|rms)", "ResourceApplyAdam"),
    KernelRule("random", r"random|rng|threefry", "random_uniform"),
    KernelRule("gather_scatter", r"gather|scatter", "ResourceGather"),
    KernelRule("sort", r"sort|top_?k", "TopKV2"),
    KernelRule("layout", r"transpose|reshape|pad", "Transpose"),
    KernelRule("copy", r"copy|concat|slice|split|pack|memcpy", "ConcatV2"),
    KernelRule("pooling", r"pool", "MaxPoolGrad"),
    KernelRule("reduction", r"reduce|(^|/)(sum|mean|max|min|prod|all|any|arg\w+)$", "Mean"),
    KernelRule(
        "elementwise",
        r"(^|/)(add\w*|sub|mul|real_?div|div|neg|exp|log|sqrt|rsqrt|tanh|sigmoid|relu\w*|cast|"
        r"select\w*|maximum|minimum|square\w*|biasadd\w*|assign\w*|greater\w*|less\w*|equal)$",
        "a/AddV2",
    ),
)

_NUMBER = re.compile(r"_\d+$")

CLASSES: Final = tuple(dict.fromkeys([*(rule.kernel_class for rule in RULES), OTHER]))


def kernel_class(name: str, op_name: str = "") -> str:
    """The class of a kernel, ``OTHER`` when neither its name nor its op tells."""
    return _class_by_name(name) or _class_by_op(op_name) or OTHER


@lru_cache(maxsize=100_000)
def _class_by_name(name: str) -> str:
    return _first(RULES, name)


@lru_cache(maxsize=100_000)
def _class_by_op(op_name: str) -> str:
    return _first(OP_RULES, _NUMBER.sub("", _leaf(op_name)))


def _first(rules: tuple[KernelRule, ...], text: str) -> str:
    """The class of the first rule that matches, "" when none does."""
    return next((rule.kernel_class for rule in rules if text and rule.regex.search(text)), "")


def _leaf(op_name: str) -> str:
    return op_name.rpartition("/")[2]
