"""What a function is for by its name, and what to ask of such a function first.

A profile tells where time goes, not what a function computes. The person who wrote it named it
after that, and functions of a kind are slow for the same few reasons. All that is asked here is
therefore about a case: "where it …".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class _Kind:
    """Functions of a kind.

    Attributes:
        words: The names of such functions have any of them.
        ask: What to do about them.
        of_ops: Whether it may be said of ops that the function runs, too.
    """

    words: frozenset[str]
    ask: str
    of_ops: bool = True


def _kind(words: str, ask: str, of_ops: bool = True) -> _Kind:
    return _Kind(frozenset(words.split()), ask, of_ops)


# In the order in which they are looked for: what is sure to be of one kind stands first.
_KINDS: Final = (
    _kind(
        "replay prioritized prioritised priorities reservoir negatives sample sampler draw",
        "Where it draws a few of many, nothing may be done to all of them for each draw: no power, "
        "sum, sort or search over the whole memory, no choice with p=…. Keep sums of weights from "
        "draw to draw (a sum tree, of which a draw and an update touch one path), draw indices, or "
        "draw for many batches at once.",
        of_ops=False,
    ),
    _kind(
        "tokenize tokenise tokenizer tokeniser bpe wordpiece detokenize",
        "Text that comes again is tokenised again: tokenise once, before training, and store the "
        "ids. What has to stay in the loop goes to a fast tokenizer as a whole batch.",
        of_ops=False,
    ),
    _kind(
        "filterbank filters window basis grid meshgrid anchors mel positional sinusoidal template "
        "coordinates lut table alibi rotary mask",
        "Where what it makes does not depend on the data (a table, a filter, a grid, a mask), make "
        "it once, before the loop, and keep it.",
    ),
    _kind(
        "augment augmentation augmentations jitter photometric rotate warp crop resize resample "
        "blur flip distort elastic mixup cutmix excerpt spectrogram",
        "Of images and signals: cut out or shrink first, so that all else works on fewer numbers; "
        "leave conversion to float and normalising to the end; work on whole batches; keep what "
        "is the same in each epoch.",
    ),
    _kind(
        "collate collator pad padding",
        "Pad to the longest of the batch, not of all, and batch what is of similar length. Fill "
        "one array that is made once (np.zeros, then its rows) in place of lists of numbers.",
        of_ops=False,
    ),
    _kind(
        "metric metrics accuracy auc bleu rouge wer cer ndcg recall precision evaluate evaluation "
        "validate validation calibration",
        "Where it only reports, do it every n-th step or once an epoch, and without gradients. "
        "Keep sums of each batch, not all predictions, and do not compute again what the step "
        "has.",
    ),
    _kind(
        "log logger logging report summary summaries histogram histograms monitor telemetry audit",
        "Where it is for a log, do it every n-th step, of a few numbers, and write on another "
        "thread.",
    ),
    _kind(
        "checkpoint checkpoints save snapshot persist",
        "Save less often, only what has changed, and copy what is to be saved so that another "
        "thread can write it.",
        of_ops=False,
    ),
    _kind(
        "load read reader fetch open parse parser decode decoder decompress deserialize "
        "deserialise unpickle json csv lookup",
        "Where it reads, opens or parses the same again (a file, an archive, an index, a record), "
        "do that once and keep it: arrays in place of text, one open file for each worker, "
        "np.load(…, mmap_mode='r').",
        of_ops=False,
    ),
    _kind(
        "neighbors neighbours neighbor neighbour knn nearest pairwise edges adjacency iou nms "
        "match matching assign assignment",
        "Where it compares all with all, look among few: a grid, a k-d tree "
        "(scipy.spatial.cKDTree), candidates by a bound. What does not move from step to step "
        "needs comparing once.",
    ),
    _kind(
        "gae returns advantage advantages discount discounted cumulative ewm ema scan recurrence "
        "decay smooth smoothing lowpass",
        "A sum that runs over time with a fixed decay is one call, not a loop: a product with a "
        "triangular matrix of the decay's powers, scipy.signal.lfilter, or an associative scan.",
    ),
    _kind(
        "jacobian hessian curvature laplacian divergence",
        "A whole Jacobian or Hessian costs a pass for each row. Where its product with a vector, "
        "or its trace, is all that is used, one jvp or vjp gives that ([jax: jax.jvp | "
        "pytorch: torch.func.jvp | tensorflow: tf.autodiff.ForwardAccumulator]).",
    ),
    _kind(
        "hash digest checksum fingerprint",
        "Where it hashes data to find it again, its position or name finds it without.",
        of_ops=False,
    ),
    _kind(
        "check verify sanitize sanitise assert finite isfinite",
        "Check data once, where it is written, and in the loop a sample of it, or every n-th step.",
    ),
)

# "PrioritizedReplay.sample_batch" is prioritized, replay, sample, batch.
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# "log_likelihood" and "LogNormal" are of numbers' logarithms.
_LOGARITHM: Final = re.compile(
    r"[Ll]og_?(?=(?i:likelihoods?|prob(?:s|abilit(?:y|ies))?|[pc]df|p|pmf|det(?:erminant)?|dens(?:ity"
    r"|ities)|joint|evidence|posterior|prior|marginal|softmax|sum_?exp|ratios?|odds|partition|normal|"
    r"scale|std|var(?:iance)?|rate|sigma|istic|its?)(?![a-z]))"
)
# A stranger's name may be long.
_LONGEST: Final = 200


def of_name(function: str, *, is_ops: bool = False) -> tuple[str, ...]:
    """What to ask first of a function by its name; () of names that do not tell.

    Args:
        function: Its qualified name; what it is nested in counts only where it says nothing.
        is_ops: Whether ops that it runs have the time, not Python in it.
    """
    owner, _, own = function[-_LONGEST:].rpartition(".")
    for name in (own, owner):
        words = {word.lower() for word in _WORDS.findall(_LOGARITHM.sub("", name))}
        for kind in _KINDS:
            if not words.isdisjoint(kind.words) and (kind.of_ops or not is_ops):
                return (kind.ask,)
    return ()
