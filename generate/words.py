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
