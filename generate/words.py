"""The words that redaction leaves standing: those by which our own code knows recordings.

A name that a reader of recordings looks for is a framework's or a library's, never a user's.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

# Where names of recordings are looked for.
_READERS = ("schema", "tables", "formats", "timeline", "advice/evidence", "comparison")
# Sentences are ours, not names in a recording; lists of file names are.
_MOST_SPACES = 3
# Words of framework ops and of the usual kernel libraries, beside those that readers name.
_OP_WORDS: Final = """
aa abort abs abseil absl abstractify acceptable accessor accidental accumulate accumulated
accumulator activations addcdiv addcmul adjoint adjust affine aggregate aggregator ailk airy alg
aliasing aligned alik all allclose allgather allreduce along alpha amax ambiguous amin aminmax
ampere amsgrad analyzer and angle annotate anonymous any aot apache append apply approx approximate
arbitrary arccos arccosh arcsin arcsinh arctan arctanh arg argsort argwhere arraylike assert
assignaddvariableop astype atan atleast attribute autocast aval avgpool axes back backends backprop
backward baddbmm band banded bartlett batched batchnorm bcast bce beam beside bessel best beta
betainc bfc bias bicubic bilinear bin bincount bind bitwise bjlk blackman blackwell bljk block bmp
boolean boundaries bounding box boxes bsc bsr bucket bucketize buffer bulk bwd bytecode cache
cachemask calculate calculator can canonical canonicalize capability capitalize capturing
cardinality cartesian cast cauchy causal cc ccol cdist ceil cell celu center centered cga chalf
chebyshev checknumerics chief cholesky chr chunk chunks cijk circular ckpt clamp clear clip clone
cluster clz coalesce col column combination combined combiner comms complex component components
compose compress concat configure conj conjugate consecutive const constrain constraint contains
contiguous contrast contrastv control conv convolution cooperative copy copysign corrcoef cos counts
cov cpp cpu crop cross crow csc cslt csv cta ctc cts cu cub cublas cuda cudnn cufft cuh cum
cumlogsumexp cummax cummaxmin cummin cusolver cusparse dataloader dataset dawsn dce decay decode
defaults deformable defun deg degrees delete dense dep depth dequantize derive descent descriptor
deserialize det detach detail determinant deterministic device dgrad diag diagflat diagonal diff
difference differentiable digamma dilation disable dispatch dispatcher dist distance distorted
distributed div divmod donation down draw dropout dsplit dstack dtypes dual dummy dyn dynamic edges
edit eff efficientzerotensor eig eigen eigvals eigvalsh einsum elemt elu embed embedding empty
enable enabled encode endswith ensemble ensure enter entr entropy envs epilogue epoch eq erase erf
erfc erfcx erfinv estimator etc euclidean eval evaluate evaluator exact except executable executor
existing exists exit expand expandtabs expint expit explicit expm extract eye fabs fact factor
factorial fake fallback fastest fbgemm fdo fft fftfreq fftn fftnd fftshift filespec fill filled
finalize find fingerprint finite fit fix flashinfer flatten flax flip fliplr flipud floating
floatlist floordiv fmax fmha fmin fold folding forward fprint fq frac fractional framework frequency
fresnel frexp frobenius from full functor functorch functors fused future fwd gains gamma gammainc
gammaincc gammaln gather gcd ge gelu generic ger gif glimpse glu gmem google gpu grams greedy
gridwise group groupnorm gt guarantee haiku hamming hann hard hardshrink hardsigmoid hardswish
hardtanh hasattr hashed heartbeat heaviside hermite hex hfft hfftn hinge hip hipblas histc
histogramdd hits home hopper householder hpp hsplit hspmm hstack hsv huber hue hybrid hypot iand
identity ifft ifftn ifftnd ifftshift igamma igammac ihfft ihfftn ilshift im image import inal
include incomplete index indices inexact infer inference infinitely initial initialization
initialize initialized inplace insert instance instantiate int integral interpolate intlist intra
ints inv inverse invert invoke ior ipynb irfft irfftn irfftnd irshift isalnum isalpha isclose
isdecimal isdigit isfinite isidentifier isin isinf isinstance islower isnan isneginf isnot isnumeric
isotonic isposinf isprintable isreal isspace istft istitle isupper item items iter iteration ixor
jagged job jpeg jxl kaiser kernel kl kmc kmeans kron kthvalue kv labels laguerre lambda lanczos last
layernorm lcm ldexp ldg ldgsts ldl le leaf leaky learnable learned legacy legendre len lengths lerp
level lgamma lib libraries linkage linspace ljust llm lmdb loaded loading local localhost log
logaddexp logarithm logcumsumexp logdet logit logits logspace lookup loss lrn lshift lstmv lstrip
lstsq lt lu main mainloop major make manual margin mask match matching materialize mathremainder
matvec maxpool mdl median merge meshgrid mfcc minibatch minibatches miniconda miopen mirror mish
mkldnn mod mode modf modified moments moving msort mulhi multigammaln multilabel multimem
multinomial multiple mutable mvlgamma name namespace nan nanmean nanmedian nanquantile nansum narrow
nccl ncf nd ndtr ndtri ne nearest neighbor neighbors next nextafter nhwckrsc nms nn nnpack nnt nnz
nocast nonzero norm normalize npy npz nr nt nth ntn nuclear numel nv nvidia obs oct of onednn ones
operator ops opt optax optimization optimize optimized ord ordered ordering ords our outer outputs
overlap overlapping overlaps packages packed pad pairwise parallelism parameterized params parse
partitioned pass patches pdist peek permute permuted persistent physical pin pingpong pinverse pip
pixel pjrt placeholder plan pmax pmin png point pointer points poisson policy polygamma polynomial
pop popitem positive pow powsum ppermute predict pregraph prelinearize prelinearized prelu prepack
prepacked prepare preserving prev prevent primal print prng prod profilerstep projection projective
prologue promote propagate properties proposals proximal prune ps psi psum push put py python
pytorch qk qkv qparams qr qscheme quantile quantize quantized query rad radians rand randint randn
randperm range ranking rccl read readers readvariableop real recip reciprocal reduced reducer
reductions reflection register regression regularized relu remap remapping remotecall remove renorm
renormalize reorder repeat replica replicate replication requantization requantize requires rescale
reserve reservoir reset resize resnet resource restrict retain retains retrieve retval reuse rev
reverse rewrite rfft rfftfreq rfftn rfftnd rfind rgb rindex rint rjust rocblas rocprim roll root
rope rot round routing row rowwise rpartition rrelu rs rshift rsplit rstrip rsub safe sample sampled
saturate saturation scales scatter sched schedule scipy scores scramble scripting sdp search
searchsorted select selecting selu semi seq seqlen serializable serialize setdefault sgn sh shape
shifted shrink shuffle shutdown sigmoid sign signbit signed silu similarity sin sinc site size slice
sliced sliding slinky slogdet slope smem smm smooth so sobol softmax softplus softshrink softsign
sort space sparse spdiags spectrogram spence spherical split splitkreduce splitlines splits spsolve
sqrt squared squeeze src sspaddmm stack stage startswith stateless statistics std stft stitch stop
stridebatch string strip strong stub sub subcmul subdtype sum suppression svd svdvals swapcase
swapdims switch sycl symbolic symm sys take tan tanh task tbc template tensor tensordot tensorflow
tensorinv tensorop tensorrt tensorsolve tensorstore test tf that the those threshold through thrust
tile tilesize tmp tn tnn tnt toml topk torch torchvision tpu trace train traits transcode
transformer transformers translate transpose trapezoid trapz tri tridiagonal trigger tril trilinear
triplet triton triu trivial true trunc truncate truncated tsl tst tsv tt tuple turing typename
unbind uncompress unfold unicode uniform unigram unique unpack unpool unravel unroll unrolled
unshuffle unsigned unsorted unstack unstage unwrap upper upsample upsampling usr usual utils valid
vander var variable vars vecdot vectorized venv view vocab void volatile volta vsplit vstack warn
warp warpgroup warpgroupsize wav weight weighted wgrad where while window worker workspace write
xdivy xlog xlogy xmma xor yaml yml ynn yogi zero zeros zerotensor zeta zfill
"""
_LIST = re.compile(r"[a-z0-9_]+( [a-z0-9_]+)* ?")
_RUN = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words_source(package: Path) -> str:
    """``redaction/words.py``."""
    named = {word for text in _literals(package) for word in _words(text)}
    block = textwrap.fill(
        " ".join(sorted(named.union(_OP_WORDS.split()))),
        98,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (
        '"""Words that no redaction replaces (python -m generate)."""\n\n'
        "from __future__ import annotations\n\nfrom typing import Final\n\n"
        f'_WORDS: Final = """\n{block}\n"""\n'
        "WORDS: Final = frozenset(_WORDS.split())\n"
    )


def _words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        yield from (word.lower() for word in _WORD.findall(run) if len(word) > 1)


def _literals(package: Path) -> Iterator[str]:
    """Texts in the code of what reads recordings, docstrings and sentences aside."""
    for folder in _READERS:
        for path in sorted((package / folder).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            documents = {id(node) for node in _docstrings(tree)}
            for node in ast.walk(tree):
                if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                    continue
                text = node.value
                is_name = text.count(" ") <= _MOST_SPACES or _LIST.fullmatch(text)
                if id(node) not in documents and is_name:
                    yield text


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value
