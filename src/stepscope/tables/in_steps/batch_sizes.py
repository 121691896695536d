"""How many examples a step takes, as far as the input pipeline or the shapes of ops say it."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from stepscope.columns import distinct, rows_of, stats_by_name
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.devices import devices
from stepscope.tables.core.presence import entries_shaped, entries_starting
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.steps.attribution import steps

# Ops whose first operand, or product, has the examples of a batch in its first extent: PyTorch's
# by the name of their events, TensorFlow's by the last part of the op's, which is Keras' as well.
_OF_BATCH = re.compile(
    r"aten(?:::|/)(?:conv\dd|_?convolution|(?:native_|cudnn_)?batch_norm|cross_entropy_loss|"
    r"nll_loss\w*|mse_loss|binary_cross_entropy\w*|l1_loss|max_pool2d\w*|adaptive_avg_pool2d)\b|"
    r"(?!gradient|.*/gradient)(?:.*/)?(?:SparseSoftmaxCrossEntropyWithLogits|Conv\dD|convolution|"
    r"MaxPool\w*|AvgPool\w*|FusedBatchNorm\w*|dropout/(?:GreaterEqual|SelectV2))(?:_\d+)?$"
)
# Losses take whatever has one: examples, but words, pixels and nodes of a graph as well.
_LOSS = re.compile(
    r"aten(?:::|/)(?:cross_entropy|nll|mse|binary_cross|l1)|"
    r"(?!gradient|.*/gradient)(?:.*/)?SparseSoftmaxCrossEntropyWithLogits(?:_\d+)?$"
)
# Layers before a loss, and where their shapes have the extent of what they are given.
_LAYERS = (
    (re.compile(r"aten(?:::|/)linear\b"), re.compile(r"\s*\[+\s*(\d{1,9})\b")),
    (
        re.compile(r"aten(?:::|/)embedding\b"),
        re.compile(r"\s*\[\s*\[[^]]*\]\s*,\s*\[\s*(\d{1,9})\b"),
    ),
    *(
        (
            re.compile(rf"(?!gradient|.*/gradient)(?:.*/)?{layer}(?:_\d+)?$"),
            re.compile(r"\s*\[+\s*(\d{1,9})\b"),
        )
        for layer in ("[Mm]at[Mm]ul", r"\w*(?:Gather|embedding_lookup)\w*", r"(?:Batch|Ein|ein)\w+")
    ),
)
_FIRST_EXTENT = re.compile(r"\s*\[+\s*(\d{1,9})\b")
# One size is the batch's when this many of the ops have it, and a whole number of batches a step's
# when the count is so near to it.
_MOST = 0.8
_NEAR = 0.15


@dataclass(frozen=True, slots=True)
class BatchSize:
    """Examples per step.

    Attributes:
        examples: How many.
        source: What says so: "tf.data" or "shapes of ops".
    """

    examples: int
    source: str


@derived
def batch_sizes(host: Host) -> tuple[int, ...]:
    """The distinct batch sizes that tf.data's batching stages note; empty where none is noted."""
    rows, sizes = _noted(host)
    del rows
    return tuple(size for size in distinct(sizes).tolist() if size > 0)


@derived
def examples_per_step(profile: Profile) -> BatchSize | None:
    """Over all hosts, each of which has its own part; None where one does not say it."""
    found = [_pipeline_batch(host) or _shapes_batch(host) for host in profile.hosts]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    return BatchSize(sum(one.examples for one in known), known[0].source)


def _noted(host: Host) -> tuple[I64, I64]:
    """Events of stages that note their batch size, and the sizes."""
    if names.BATCH_SIZE not in host.space.stat_metadata.name:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    found = stats_by_name(host.space, (names.BATCH_SIZE,))[names.BATCH_SIZE]
    return found.rows, found.ints


def _pipeline_batch(host: Host) -> BatchSize | None:
    """The one size that tf.data batches by, times the batches that a step takes."""
    sizes, found = batch_sizes(host), steps(host)
    if len(sizes) != 1 or found is None or not found.kept.any():
        return None
    rows, _sizes = _noted(host)
    at = host.space.events.start_ps[rows]
    begin, end = int(found.start_ps[found.kept][0]), int(found.end_ps[found.kept][-1])
    whole = int(((found.start_ps >= begin) & (found.end_ps <= end)).sum())
    each = int(((at >= begin) & (at < end)).sum()) / max(whole, 1)
    # Batches are made ahead of the steps, so a few more or less fall into the recording.
    batches = max(round(each), 1)
    if each > 1 + _NEAR and abs(each - batches) > _NEAR * batches:
        return None
    return BatchSize(sizes[0] * batches, "tf.data")


def _shapes_batch(host: Host) -> BatchSize | None:
    """The first extent that most ops on batches have in common.

    Where only losses tell, the layers before them must say the same: a language model's loss takes
    the words of all examples. Each of several devices of TensorFlow has its own part of a batch,
    and a recording need not have all of them.
    """
    if sum(one.has_events for one in devices(host)) > 1 and not _is_torch(host):
        return None
    counts = _extents(host, _OF_BATCH, _FIRST_EXTENT)
    if not counts:
        return None
    size, often = counts.most_common(1)[0]
    if not size or often < _MOST * counts.total() or _has_several_losses(host):
        return None
    if counts == _extents(host, _LOSS, _FIRST_EXTENT):
        for layer, extent in _LAYERS:
            others = _extents(host, layer, extent)
            if others and others.most_common(1)[0][0] != size:
                return None
    return BatchSize(size, "shapes of ops")


def _has_several_losses(host: Host) -> bool:
    """Whether PyTorch's steps have several losses: of micro-batches, or of one batch."""
    found, events = steps(host), host.space.events
    if found is None or not found.kept.any():
        return False
    is_loss = entries_shaped(host, lambda name: _LOSS.match(name) is not None)
    rows = rows_of(events.metadata, is_loss)
    place = np.searchsorted(found.start_ps, events.start_ps[rows], side="right") - 1
    inside = (place >= 0) & (events.start_ps[rows] < found.end_ps[place]) & found.kept[place]
    # One loss is several calls of different names, each inside another.
    calls = Counter(events.metadata[rows[inside]].tolist())
    return bool(calls) and min(calls.values()) > (1 + _NEAR) * found.kept.sum()


def _is_torch(host: Host) -> bool:
    return bool(entries_starting(host, "aten").any())


def _extents(host: Host, op: re.Pattern[str], extent: re.Pattern[str]) -> Counter[int]:
    """How often each extent occurs in the shapes of the ops of some names."""
    stats = event_stats(host)
    shapes, ops = stats.texts(names.SHAPE), stats.texts(names.TF_OP)
    named, called = (
        np.asarray([op.match(text) is not None for text in texts] or [False])
        for texts in (host.space.event_metadata.name, [*ops.texts, ""])
    )
    # TensorFlow's allocations have the name of the op beside the shape that it makes.
    own = named[host.space.events.metadata[shapes.rows]] | called[ops.at(shapes.rows)]
    counts: Counter[int] = Counter()
    for code, count in zip(*np.unique(shapes.codes[own], return_counts=True), strict=True):
        first = extent.match(shapes.texts[int(code)])
        if first is not None:
            counts[int(first.group(1))] += int(count)
    return counts
