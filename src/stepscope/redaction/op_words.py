"""Words of framework ops and of the usual kernel libraries, beside those that readers name."""

from __future__ import annotations

from typing import Final

_WORDS: Final = """
abs abseil absl accumulate addcdiv addcmul adjust affine ailk all alpha amax amin ampere analyzer
and anonymous any apache apply approximate arg assert atan autocast avgpool backprop backward
baddbmm band batchnorm bce beside bessel beta bias bicubic bilinear bin bincount bitwise blackwell
bljk block boolean bucketize bulk bwd cache cast cauchy cdist ceil cell celu checknumerics chief
cholesky chunk cijk clip clone cluster col combined complex compose concat conj const contiguous
control conv convolution cooperative copy cos cpu crop cross cta ctc cub cublas cuda cudnn cufft
cum cummax cummin cusolver cusparse dataloader dataset decode deformable dense depth deserialize
det detach detail dgrad diag diagonal dilation dispatch dist distributed div dropout dynamic eigen
einsum elu embedding empty encode enter envs epilogue epoch eq erf erfc erfinv etc eval evaluate
evaluator exit expand expm extract eye fake fft fill finite fit flatten flax flip floordiv fold
forward frac framework from full functor functors fused future fwd gamma gather ge gelu glu gmem
google gpu group groupnorm gt haiku hard hardshrink hardsigmoid hardswish hardtanh hinge hipblas
histc home hopper hsv huber identity ifft im image import inal include index infer initialize
inplace instance int inv invert invoke irfft isfinite isinf isnan item iter iteration job kernel
kl kron kthvalue lambda layernorm ldg ldgsts le leaky legacy lerp level lgamma lib libraries
linspace local localhost log logaddexp logit logspace lookup loss lrn lt lu main mainloop margin
mask matvec maxpool median merge meshgrid miniconda miopen mish mkldnn mode multinomial name
namespace nan narrow nccl ndtri ne nearest next nextafter nhwckrsc nms nn nonzero norm normalize
nt nvidia of onednn ones operator ops opt optax ords our outer packages packed pad parse
partitioned pdist permute persistent pingpong pinverse pip pixel placeholder poisson policy
polygamma pow predict prelu print prod profilerstep prologue ps put py python pytorch qr quantile
quantize rand randint randn randperm range rccl read readers real reciprocal reflection relu
renorm repeat replica replication reservoir resize resnet resource reverse rfft rgb rocblas roll
root rot round rrelu rsub sample scatter scipy searchsorted select selu serialize sh shape shuffle
sigmoid sign signed silu sin sinc site size slice sliced slogdet slope smem smooth softmax
softplus softshrink softsign sort space split splitkreduce sqrt squared squeeze src stack stage
stateless std stft stop stridebatch string stub sub sum svd switch sycl sys take tan tanh task
template tensor tensorflow tensorop tensorstore test tf that the those threshold thrust tile
tilesize tmp tn topk torch torchvision tpu trace train transformers transpose trapz tri tril
triplet triton triu true trunc truncate truncated tt turing typename unbind unfold uniform unique
unpool unravel unrolled unsigned unsorted unstack upsample upsampling usr usual utils vander var
variable vectorized venv view void volatile volta warp warpgroup warpgroupsize wgrad where while
window worker workspace write xlogy xmma xor zero zeros zeta
"""
OP_WORDS: Final = frozenset(_WORDS.split())
