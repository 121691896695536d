"""What to look at first in a model's products, where the names of what runs tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.replacements import ATTENTION, of_attention
from stepscope.tables.traits.op_families import PRODUCTS

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, PartRow, StepAccount

_OF_GRAPHS: Final = re.compile(
    r"graph_?conv|diffusion_?conv|\bgcn|gcn\b|_gcn|gnn\b|message_pass|adjacen|laplacian|chebconv",
    re.IGNORECASE,
)
_SPARSE: Final = (
    "Of a graph's matrix (adjacency, Laplacian) nearly all entries are zeros: multiply it as a "
    "sparse one ([tensorflow: tf.sparse.sparse_dense_matmul | jax: jax.experimental.sparse.BCOO | "
    "pytorch: torch.sparse.mm]), or gather along the edges and sum by node."
)
_OF_SPARSE: Final = re.compile(r"sparse", re.IGNORECASE)
_BY_EDGE: Final = re.compile(r"segment_sum|scatter[-_]add|SegmentSum|index_add", re.IGNORECASE)
_ORDER: Final = (
    "What a product with a graph's matrix costs is its entries times the width of what it "
    "multiplies: multiply by the weights before it where they make rows narrower, and after it "
    "where they make them wider; (A X) W is A (X W). Do not multiply the matrix by itself either: "
    "(A A) X is A (A X)."
)
# What chooses the next word, at the end of a model that attends to those before.
_CHOOSES: Final = re.compile(
    r"(?:^|/)(?:ArgMax|arg_?max|Multinomial|multinomial|TopKV2|topk|categorical)(?:\b|_)"
)
_ATTENDS: Final = re.compile(r"softmax|attention", re.IGNORECASE)
# A model runs an op of its attention once a layer before it chooses the next position. Where one
# runs more often than any model has layers, what chooses does something else: it finds the end of
# an encoder's text, or picks an expert.
_MOST_LAYERS: Final = 200
# Rows times the same rows turned: each position of a sequence with each other one.
_SCORES: Final = re.compile(r"(\d{1,12})×(\d{1,12})×(\d{1,12}), \1×\3×\2(?!\d)")
_GRADIENT: Final = re.compile(r"gradient|[Bb]ackward|transpose\(jvp")
_CACHED: Final = (
    "If each call adds one position to a sequence (it ends in a choice): keep the keys and values "
    "of the earlier ones (a cache), and compute the new position alone."
)
_SHARED: Final = (
    "If inputs begin alike (a prompt, a passage with several questions or options): run what they "
    "share once, and reuse its keys and values for each of them."
)
# An encoder, by the name of its layer, within the loop that chooses.
_ENCODES: Final = re.compile(r"\bwhile/.{0,400}?(?:^|/)(\w{0,60}encod\w{0,60})", re.IGNORECASE)
_ENCODES_FRAC: Final = 0.15
_ENCODED_AGAIN: Final = (
    "{} runs in every iteration of the loop that chooses one position after the other: where its "
    "input (a source text, a picture, a prompt) stays the same, run it once, before the loop, and "
    "hand its output to the decoder."
)
# Attention takes more than a classifier's softmax, which a step ends in.
_ATTENTION: Final = re.compile(
    r"attention|(?<!log_)softmax|q[a-z]{0,9},[.a-z]{0,9}k[a-z]{0,9}->[.a-z]{0,9}qk", re.IGNORECASE
)
_ATTENDS_FRAC: Final = 0.02
_PADDED: Final = (
    "The step has attention: if these rows are positions of sequences, padding is computed like "
    "the rest. Pad each batch to its own longest, not all to one length, and batch sequences of "
    "similar length."
)
# What makes rows of one length of texts that have several.
_PADS: Final = re.compile(r"RaggedTensorToTensor")
_TEXTS_PADDED: Final = (
    "Each step pads sequences of several lengths to one ({}), and all that follows computes the "
    "padding like the rest. Pad to the longest of the batch, or to one of a few lengths (without "
    "output_sequence_length, or max_length), and put sequences of similar length together."
)
# A log-softmax of few classes costs nothing: with this share of the step it is over a vocabulary.
_OVER_CLASSES: Final = re.compile(
    r"log_?softmax|softmax_?cross_?entropy|cross_entropy_loss", re.IGNORECASE
)
_WIDE_FRAC: Final = 0.08
_COUNTED: Final = (
    "A log-softmax over many classes (a vocabulary) goes with it: take the rows that count before "
    "the layer that makes them, and run it and the loss on these alone. Of a text with masked "
    "words those are the masked positions, of a prompt the last one; padding never counts."
)


def over_classes(part: PartRow, account: StepAccount) -> str:
    """What to do about a softmax over a vocabulary, in a step that has one; "" in others."""
    spent = sum(
        one.step_frac
        for one in account.owners.records()
        if one.kind == "op" and _OVER_CLASSES.search(one.name)
    )
    of_classes = part.name in PRODUCTS or _OVER_CLASSES.search(f"{part.name} {part.op}")
    return _COUNTED if spent >= _WIDE_FRAC and of_classes else ""


def _attends(account: StepAccount) -> bool:
    """Whether a good share of the step is attention, whatever its products are called."""
    spent = sum(
        one.step_frac
        for one in account.owners.records()
        if one.kind == "op" and _is_of_attention(one.name)
    )
    return spent >= _ATTENDS_FRAC


def _is_of_attention(op: str) -> bool:
    if _OVER_CLASSES.search(op):
        return False
    return of_attention(op) or _ATTENTION.search(op) is not None


def product_hints(part: PartRow, account: StepAccount) -> Iterator[str]:
    """What to look at first, where names tell."""
    is_attention = of_attention(part.op) or _SCORES.search(part.shapes) is not None
    if pads := _pads(account):
        yield _TEXTS_PADDED.format(pads)
    if is_attention:
        yield ATTENTION
    yield from graph_hints(part, account)
    attends = is_attention or _attends(account)
    if part.name in _MATRICES and not attends and (_in_a_row(account) or _at_two_lines(part)):
        yield _IN_A_ROW
    # Seen in the step, where padding is only likely.
    if wide := over_classes(part, account):
        yield wide
    if not pads and _decodes(account):
        if layer := _encoder(account):
            yield _ENCODED_AGAIN.format(layer)
        yield _CACHED
    elif not pads and not is_attention and attends:
        yield _PADDED
    if attends and not _has_gradients(account):
        yield _SHARED


# Families of ops that multiply matrices, of which each has this share of the step.
_MATRICES: Final = ("MatMul", "BatchMatMulV2", "Einsum")
_EACH_FRAC: Final = 0.1
_IN_A_ROW: Final = (
    "Of products one after the other the order decides what they cost: A (B x) goes by the width "
    "of x, and (A B) x by that of the matrices. Multiply what is narrow first."
)


# "at layers.py:65 basis 57%, layers.py:64 basis 42%", as ``tables.parts.sites`` writes it.
_TWO_LINES: Final = re.compile(r" at \S+ (\w{1,99}) \d+%, \S+ \1 \d+%")


def _at_two_lines(part: PartRow) -> bool:
    """Whether several lines of one function multiply: one of them may be given the other's."""
    return _TWO_LINES.search(part.made_of) is not None


def _in_a_row(account: StepAccount) -> bool:
    """Whether a step has products of several kinds, one of which may be given the other's."""
    spent = dict.fromkeys(_MATRICES, 0.0)
    for one in account.owners.records():
        if one.kind == "op" and one.family in spent:
            spent[one.family] += one.step_frac
    return sum(share >= _EACH_FRAC for share in spent.values()) > 1


def graph_hints(part: PartRow, account: StepAccount) -> Iterator[str]:
    """What to look at where a product is a graph's, by how the step goes along its edges."""
    if not _OF_GRAPHS.search(f"{part.name} {part.op} {part.function} {part.made_of}"):
        return
    ops = [one.name for one in account.owners.records() if one.kind == "op"]
    said = (part.between, part.made_of, *ops)
    if any(map(_OF_SPARSE.search, said)):
        yield _ORDER
    elif not any(map(_BY_EDGE.search, said)):
        yield _ORDER
        yield _SPARSE


def _pads(account: StepAccount) -> str:
    """The op by which a step pads sequences; "" of one that does not, or does not say."""
    ops = (one.name for one in account.owners.records() if one.kind == "op")
    return next((name for name in ops if _PADS.search(name)), "")


def _encoder(account: StepAccount) -> str:
    """The encoder's layer with most time in a loop, if encoders have much of it; "" else."""
    spent: dict[str, float] = {}
    for one in account.owners.records():
        if one.kind == "op" and (found := _ENCODES.search(one.name)):
            spent[found[1]] = spent.get(found[1], 0.0) + one.step_frac
    enough = sum(spent.values()) >= _ENCODES_FRAC
    return max(spent, key=lambda name: spent[name]) if enough else ""


def _has_gradients(account: StepAccount) -> bool:
    ops = (one.name for one in account.owners.records() if one.kind == "op")
    return any(map(_GRADIENT.search, ops))


def _decodes(account: StepAccount) -> bool:
    """Whether a step without gradients attends, and chooses one of many after that."""
    if _has_gradients(account):
        return False
    ops = [one for one in account.owners.records() if one.kind == "op"]
    chosen, attended = (_most_runs(ops, pattern) for pattern in (_CHOOSES, _ATTENDS))
    return 0 < attended <= _MOST_LAYERS * chosen


def _most_runs(ops: list[OwnerRow], pattern: re.Pattern[str]) -> float:
    """How often the op that runs most of those with such names does; 0 where there is none."""
    runs: dict[str, float] = {}
    for one in ops:
        if pattern.search(one.name):
            runs[one.name] = runs.get(one.name, 0.0) + max(one.stretches, 1.0)
    return max(runs.values(), default=0.0)
