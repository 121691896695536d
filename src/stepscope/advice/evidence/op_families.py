"""What kind of work an op is: a family of layers, or work outside any layer.

Types come as frameworks write them ("_MklNativeConv2DBackpropFilterWithBias",
"conv_general_dilated", "convolution_backward"); forward and backward ops are one family, since a
change of the layer changes both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Family:
    """Ops that one kind of change makes cheaper.

    Attributes:
        name: In the plural, for a sentence.
        pattern: Found in the type of the op.
        actions: What makes them cheaper.
        is_news: Whether it is worth a word that most of the time is theirs. Of optimizer updates
            another rule speaks, and products of matrices are what most models are made of.
        is_layer: Whether it is what layers of a model are made of, so that smaller ones help.
    """

    name: str
    pattern: re.Pattern[str]
    actions: tuple[str, ...]
    is_news: bool = True
    is_layer: bool = False


def _family(name: str, pattern: str, *actions: str, is_news: bool = True) -> Family:
    return Family(name, re.compile(pattern, re.IGNORECASE), actions, is_news)


def _layer(name: str, pattern: str, *actions: str, is_news: bool = True) -> Family:
    return replace(_family(name, pattern, *actions, is_news=is_news), is_layer=True)


FUSE: Final = (
    "A fused implementation: "
    "[tensorflow: tf.function(jit_compile=True) | jax: jax.jit | pytorch: torch.compile]."
)
FAMILIES: Final = (
    _family(
        "optimizer updates",
        r"Apply(Adam|Momentum|Gradient|RMS|Ada|Ftrl|Lion)|(?<![a-z])fused_(adam|sgd)|(?<![a-z])foreach_|(?<![a-z])adamw?_?$",
        "One update for all variables: [tensorflow: tf.keras.optimizers.Adam(jit_compile=True) | "
        "jax: one jax.jit around optax's update | "
        "pytorch: torch.optim.AdamW(parameters, fused=True)].",
        is_news=False,
    ),
    _layer(
        "convolutions",
        r"conv(?!er)|winograd",
        "Fewer filters, a lower resolution, or separable or grouped convolutions where most of the "
        "time is.",
        "Smaller kernels (two of 3 × 3 for one of 5 × 5), a larger stride earlier.",
    ),
    _layer(
        "attention",
        r"attention|flash|(?<![a-z])mha|sdpa",
        "A fused attention: [tensorflow: keras.layers.MultiHeadAttention(flash_attention=True) | "
        "jax: jax.nn.dot_product_attention | "
        "pytorch: torch.nn.functional.scaled_dot_product_attention].",
        "Shorter or packed sequences; fewer heads for keys and values.",
    ),
    _layer(
        "recurrent layers",
        r"lstm|(?<![a-z])gru(?![a-z])|rnn",
        "Longer batches of shorter sequences, and the library's own kernel: no recurrent dropout, "
        "the default activations.",
    ),
    _layer(
        "matrix products",
        r"matmul|dot_general|einsum|addmm|(?<![a-z])b?mm(?![a-z])|baddbmm|gemm|xladot|(?<![a-z])linear(?![a-z0-9])|"
        r"(?<![a-z])dot(?![a-z])",
        "Fewer units or heads, a lower rank; dimensions that are multiples of 64.",
        is_news=False,
    ),
    _layer(
        "normalisation",
        r"(batch|layer|group|instance|rms|l2)_?norm",
        FUSE,
        "No bias before a batch normalisation, which takes it out again; fold it into the layer "
        "before it for inference.",
    ),
    _layer("pooling", r"pool", "A stride in the convolution before it instead."),
    _family("softmax and loss", r"soft_?max|cross_?entropy|nll_loss|logsumexp", FUSE),
    _family(
        "embeddings and gathers",
        r"gather|embedding|index_select|scatter|segment_?sum|(?<![a-z])index(?![a-z])",
        "Smaller or shared tables; look up unique ids once per batch.",
    ),
    _family(
        "random numbers",
        r"random|philox|threefry|bernoulli|dropout|(?<![a-z])(normal|uniform)_?$",
        "Draw fewer of them, or once for several steps.",
    ),
)

# Work outside the model's compute; other rules explain its time.
_NO_LAYER: Final = (
    ("input", re.compile(r"^Iterator(::|:)|(^|[:/ ])Dataset$|Iterator(GetNext|BaseGetNext)")),
    (
        "Python called from the graph",
        re.compile(r"PyFunc|python_\w{0,40}callback|(pure|io)_callback"),
    ),
    (
        "summaries and printing",
        re.compile(
            r"(^|/)write_summary|Write\w{0,40}Summary|PrintV2|StringFormat|debug_(print|callback)"
        ),
    ),
    ("checkpoints", re.compile(r"SaveV2|RestoreV2|MergeV2Checkpoints")),
    ("waiting", re.compile(r"_local_scalar_dense|(^|[/ ])item$|block_until_ready|Await")),
)
_DECORATED: Final = re.compile(r"^_(MklNative|Mkl|Fused|XlaRun|COPY_)?")


def family_of(op_type: str) -> Family | None:
    """The family of an op of this type; None for elementwise ops, copies and what is unknown."""
    plain = _DECORATED.sub("", op_type)
    return next((one for one in FAMILIES if one.pattern.search(plain)), None)


def no_layer(operation: str, op_type: str) -> str:
    """What an op is that belongs to no layer of a model; "" where it may."""
    text = f"{operation} {op_type}"
    return next((what for what, pattern in _NO_LAYER if pattern.search(text)), "")
