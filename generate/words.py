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
abs abseil absl abstractify accessor accumulate addcdiv addcmul adjust affine ailk alik all
allgather allreduce alpha amax amin ampere analyzer and anonymous any aot apache apply approximate
arg arraylike assert assignaddvariableop astype atan attribute autocast aval avgpool axes backends
backprop backward baddbmm band batched batchnorm bce beside bessel beta bfc bias bicubic bilinear
bin bincount bind bitwise bjlk blackwell bljk block boolean bucketize buffer bulk bwd bytecode
cache calculator canonicalize capability capturing cast cauchy causal cc cdist ceil cell celu cga
checknumerics chief cholesky chunk cijk ckpt clamp clip clone cluster col column combined comms
complex compose concat conj const contiguous control conv convolution cooperative copy cos cpp cpu
crop cross csv cta ctc cu cub cublas cuda cudnn cufft cuh cum cummax cummin cusolver cusparse
dataloader dataset decay decode deformable dense depth descriptor deserialize det detach detail
device dgrad diag diagonal dilation dispatch dispatcher dist distributed div donation dropout
dtypes dynamic edges eigen einsum elu embed embedding empty enable encode ensure enter entropy
envs epilogue epoch eq erf erfc erfinv etc eval evaluate evaluator executable executor exists exit
expand explicit expm extract eye fake fft fill finalize finite fit flashinfer flatten flax flip
floordiv fmha fold folding forward frac framework from full functor functors fused future fwd
gamma gather ge gelu generic glu gmem google gpu gridwise group groupnorm gt haiku hard hardshrink
hardsigmoid hardswish hardtanh hasattr hinge hip hipblas histc home hopper hpp hsv huber identity
ifft im image import inal include index indices inexact infer inference initialize inplace
instance instantiate int integral inv invert invoke ipynb irfft isfinite isinf isinstance isnan
item iter iteration job kernel kl kron kthvalue kv labels lambda layernorm ldg ldgsts le leaky
legacy lerp level lgamma lib libraries linkage linspace llm loaded loading local localhost log
logaddexp logit logits logspace lookup loss lrn lt lu main mainloop major make manual margin mask
matvec maxpool median merge meshgrid miniconda miopen mish mkldnn mode moments multimem
multinomial name namespace nan narrow nccl ndtri ne nearest next nextafter nhwckrsc nms nn nnt
nocast nonzero norm normalize npy npz nt ntn nv nvidia of onednn ones operator ops opt optax ords
our outer outputs packages packed pad params parse partitioned pass pdist permute persistent
pingpong pinverse pip pixel pjrt placeholder pointer poisson policy polygamma polynomial pow
predict pregraph prelu prepare preserving print prng prod profilerstep prologue promote properties
ps put py python pytorch qk qr quantile quantize query rand randint randn randperm range rccl read
readers readvariableop real recip reciprocal reductions reflection relu remotecall renorm
renormalize reorder repeat replica replication reservoir resize resnet resource restrict retval
reuse reverse rfft rgb rocblas rocprim roll root rope rot round routing row rrelu rs rsub sample
scatter sched schedule scipy scores searchsorted select selu seq serialize sh shape shuffle
sigmoid sign signed silu sin sinc site size slice sliced sliding slinky slogdet slope smem smooth
so softmax softplus softshrink softsign sort space sparse split splitkreduce sqrt squared squeeze
src stack stage stateless std stft stop stridebatch string stub sub subdtype sum svd switch sycl
symm sys take tan tanh task template tensor tensorflow tensorop tensorrt tensorstore test tf that
the those threshold through thrust tile tilesize tmp tn tnn tnt toml topk torch torchvision tpu
trace train traits transformer transformers transpose trapz tri tril triplet triton triu trivial
true trunc truncate truncated tsl tst tsv tt tuple turing typename unbind unfold uniform unique
unpool unravel unroll unrolled unsigned unsorted unstack upsample upsampling usr usual utils valid
vander var variable vectorized venv view void volatile volta warp warpgroup warpgroupsize weight
wgrad where while window worker workspace write xlogy xmma xor yaml yml ynn zero zeros zeta
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
