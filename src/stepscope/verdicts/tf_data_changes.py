"""Changes to a bottleneck of tf.data, and the gain of each.

The model is a queue of two workers. The program needs ``compute`` per call besides waiting; the
pipeline needs ``produce`` to make a batch. Behind a prefetch (or any stage with threads of its
own) the two run side by side and the program waits ``max(0, produce - compute)``; without one it
waits ``produce``. A change makes the bottleneck's part of ``produce`` smaller, or puts a prefetch
in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from math import nan

from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.tables.core.thresholds import CALLS_PER_BATCH, MOST_FRAC, TWO_THIRDS_FRAC

_VERSION = re.compile(r"(V\d+)?(Dataset)?(V\d+)?$")
# What a person sees of a bottleneck: fields of ``Stage``.
SAID = (
    "parallelism", "cores", "threads", "elements", "overhead_frac", "python_frac", "read_frac",
    "is_random", "is_repeated", "has_cache", "datasets", "maker", "shape", "size_bytes",
    "kept_frac",
)  # fmt: skip
# Cores assumed where tf.data's limit was not recorded.
_CORES = 2


class StageKind(Enum):
    """Work of an iterator type, as far as advice depends on it."""

    SOURCE = "source"
    PYTHON_SOURCE = "python source"
    DEVICE_FEED = "device feed"
    DATA_SERVICE = "data service"
    REMOTE = "remote source"
    MAP = "map"
    INTERLEAVE = "interleave"
    SEQUENTIAL = "sequential"
    HAND_OVER = "hand-over"
    BUFFER = "buffer"
    OTHER = "other"


_KINDS: dict[StageKind, tuple[str, ...]] = {
    StageKind.SOURCE: (
        "TFRecord", "SSTable", "RecordIO", "ArrayRecord", "Spanner", "TFColumn",
        "SleepwalkRemoteDataset", "TextLine", "FixedLengthRecord", "StitchedTimeline", "DateKey",
        "CapacitorProto", "LMDB", "External", "PearModel", "TensorSlice", "Tensor", "FromTensor",
        "Range", "SyntheticDatasetOp", "CSV", "SqlDataset", "Sql", "MatchingFiles",
    ),
    StageKind.PYTHON_SOURCE: ("Generator",),
    StageKind.DATA_SERVICE: ("DataService",),
    StageKind.REMOTE: (
        "GuzzlerDataGuzzlerRemote", "Reverb", "ReverbEpisode", "SampleGame", "DatasetSampleGame",
        "Courier",
    ),
    StageKind.MAP: ("Map", "ParallelMap", "MapAndBatch", "ParseExample"),
    StageKind.INTERLEAVE: (
        "Interleave", "FlatMap", "ParallelInterleave", "LegacyParallelInterleave",
    ),
    StageKind.SEQUENTIAL: (
        "Filter", "Batch", "PaddedBatch", "ParallelBatch", "Unbatch", "Window", "Scan",
        "GroupByWindow", "GroupByReducer", "TakeWhile", "BucketBySequenceLength", "Rebatch",
        "Unique", "Zip", "Concatenate", "DirectedInterleave",
    ),
    StageKind.HAND_OVER: ("Prefetch",),
    StageKind.BUFFER: ("Shuffle", "ShuffleAndRepeat", "Cache", "MemoryCache"),
}  # fmt: skip
_KIND_OF = {name: kind for kind, members in _KINDS.items() for name in members}


@dataclass(frozen=True, slots=True)
class Stage:
    """Known facts of the bottleneck and its pipeline; times in one unit, per call.

    Attributes:
        long_name: The bottleneck.
        wait, compute: What the program waits, and what it does between two waits.
        own_frac: The bottleneck's share of the wait.
        upstream_frac: The same for all iterators upstream of it.
        parallelism: Calls it may run at once.
        cores: Threads tf.data may use; None where not recorded.
        elements: Calls of the bottleneck per batch.
        overhead_frac: Share of its time outside the ops of its function; None if unknown.
        threads: Threads its functions run on; None where not recorded.
        python_frac: Share of its functions' op time in Python.
        read_frac: The same in ops that read a file.
        is_random: Whether its functions draw random numbers.
        is_repeated: Whether a repeat lies downstream of it: its elements are made again.
        shards: Shards that its elements are divided into downstream of it; 1 without.
        runs_ahead: Whether batches are made on threads of their own, ahead of the program.
        has_cache: Whether a cache lies downstream of it.
        batches: Whether a batch is made from its elements right after it.
        maker: Long name of the flat_map or interleave that makes ``datasets``; "" none.
        datasets: Datasets that are made per batch, by it or by the flat_map or interleave around
            it, or else below it; 0 where none is.
        shape: Shape and type of what one of its elements mostly is; "" where not recorded.
        size_bytes: Size of one of its elements; NaN where not recorded.
        kept_frac: Share of what maps make that a filter at it, or downstream of it, keeps.
    """

    long_name: str
    wait: float
    compute: float
    own_frac: float
    upstream_frac: float
    parallelism: int
    cores: int | None
    elements: float
    overhead_frac: float | None
    threads: int | None
    python_frac: float
    read_frac: float
    is_random: bool
    is_repeated: bool
    shards: int
    runs_ahead: bool
    has_cache: bool
    batches: bool
    datasets: float
    shape: str = ""
    size_bytes: float = nan
    kept_frac: float = 1.0
    maker: str = ""

    @property
    def produce(self) -> float:
        """Time to make a batch."""
        return self.wait + (self.compute if self.runs_ahead else 0.0)

    def gain(self, left_own: float, left_upstream: float = 1.0) -> float:
        """Wait saved when the bottleneck and its upstream keep these shares of their time."""
        saved = self.own_frac * (1 - left_own) + self.upstream_frac * (1 - left_upstream)
        produce = self.produce * (1 - saved)
        wait = max(produce - self.compute, 0.0) if self.runs_ahead else produce
        return min(max(self.wait - wait, 0.0), self.wait)


@dataclass(frozen=True, slots=True)
class Change:
    """One knob that would change something here: what it can gain per call, how to turn it.

    Attributes:
        knob: prefetch, num_parallel_calls, cache, vectorised_map, interleave, early_shard,
            early_filter, threads, native_function, packed_files, whole_batches or offline.
        gain: Predicted decrease of the wait per call; None where it cannot be predicted.
        change: What to write.
        note: Under which assumption.
    """

    knob: str
    gain: float | None
    change: str
    note: str


def stage_kind(long_name: str) -> StageKind:
    """Return the work of the leaf of a long name."""
    if long_name == "Iterator::Prefetch::Generator":
        return StageKind.DEVICE_FEED
    name = _VERSION.sub("", long_name.rpartition("::")[2])
    return _KIND_OF.get(name, StageKind.OTHER)


def changes(stage: Stage) -> tuple[Change, ...]:
    """Every knob that applies with its predicted gain, largest first."""
    kind = stage_kind(stage.long_name)
    if kind in (StageKind.DEVICE_FEED, StageKind.HAND_OVER):
        return ()
    found = [*_of_any(stage), *(_of_map(stage) if kind is StageKind.MAP else _of_others(stage))]
    return tuple(sorted(found, key=lambda one: -(one.gain or 0.0)))


def _of_any(stage: Stage) -> Iterator[Change]:
    """Changes to where and how often elements are made, whatever makes them."""
    if not stage.runs_ahead:
        yield Change(
            "prefetch",
            min(stage.wait, stage.compute),
            "dataset = dataset.prefetch(tf.data.AUTOTUNE)  # as the last stage",
            "The next batch is made while the program computes on the current one.",
        )
    if not stage.has_cache and not stage.is_random:
        leaf = stage.long_name.rpartition("::")[2]
        yield Change(
            "cache",
            stage.gain(0.0, 0.0),
            f"insert .cache() after {leaf}, before shuffling and random augmentation",
            "From the second pass over the data on, if the results fit in memory and are the same "
            "in every pass.",
        )
    if stage.shards > 1:
        yield Change(
            "early_shard",
            stage.gain(1 / stage.shards, 1 / stage.shards),
            "files.shard(num_shards, index) first, then read and map",
            f"Only one of {stage.shards} elements that are made now is kept.",
        )
    if stage.kept_frac < MOST_FRAC:
        yield Change(
            "early_filter",
            stage.gain(stage.kept_frac, stage.kept_frac),
            "dataset.filter(keep).map(function)  # instead of map(function).filter(keep)",
            f"It keeps {share_words(stage.kept_frac)} of what is made now, if what it asks is "
            "known before: a label, a name, a length.",
        )
    if stage.datasets >= CALLS_PER_BATCH:
        is_below = stage.maker.startswith(f"{stage.long_name}::")
        # Its own functions say nothing of what hands it its elements.
        known = None if is_below else stage.overhead_frac
        overhead = TWO_THIRDS_FRAC if known is None else known
        left = 1 - overhead * (1 - 1 / stage.datasets)
        yield Change(
            "whole_batches",
            stage.gain(1.0 if is_below else left, left),
            "starts.batch(n).map(lambda s: tf.gather(data, s[:, None] + tf.range(length)))  "
            "# instead of window(…).flat_map(…).batch(n)",
            f"One call per batch instead of {stage.datasets:.0f} datasets of their own.",
        )


def _of_map(stage: Stage) -> Iterator[Change]:
    """Changes to a function that a map calls."""
    cores = stage.cores or _CORES
    if stage.parallelism < cores:
        note = (
            f"From {stage.parallelism} to {cores} calls at once, if they do not hinder each other."
        )
        if stage.python_frac > 0:
            note += " The function is Python: only time outside its lock (sleep, I/O) is parallel."
        change = "map(function, num_parallel_calls=tf.data.AUTOTUNE)"
        yield Change("num_parallel_calls", stage.gain(stage.parallelism / cores), change, note)
    if stage.batches and stage.elements > 1:
        gain, note = None, "How much of its time is overhead per element is not recorded."
        if stage.overhead_frac is not None:
            gain = stage.gain(1 - stage.overhead_frac * (1 - 1 / stage.elements))
            note = (
                f"One call per batch instead of {stage.elements:.0f}: only the "
                f"{share_words(stage.overhead_frac)} of its time outside the function's ops is "
                "counted as gain."
            )
        change = "dataset.batch(n).map(function_of_a_batch)  # instead of map(...).batch(n)"
        yield Change("vectorised_map", gain, change, note)
    wanted = min(stage.parallelism, cores)
    if stage.threads is not None and stage.threads < wanted:
        yield Change(
            "threads",
            stage.gain(stage.threads / wanted),
            "options.threading.private_threadpool_size = 0  # as many threads as cores",
            f"{wanted} calls could run at once on {cores} cores, on {stage.threads} thread(s).",
        )
    if stage.python_frac > 0:
        yield _native_function(stage, stage.python_frac)
    if stage.read_frac:
        yield Change(
            "packed_files",
            stage.gain(1 - stage.read_frac),
            "pack the elements into a few TFRecord files and read those one after the other",
            "If reading ahead hides what reading files one by one costs.",
        )
    yield Change(
        "offline",
        stage.gain(0.0),
        "do it once, offline, and store the results; or do it on the device",
        "If reading the results costs nothing.",
    )


# Kinds of stages that several copies of the pipeline, over parts of the data, make faster.
_INTERLEAVED = (
    StageKind.SOURCE,
    StageKind.PYTHON_SOURCE,
    StageKind.INTERLEAVE,
    StageKind.SEQUENTIAL,
    StageKind.OTHER,
)


def _of_others(stage: Stage) -> Iterator[Change]:
    """Changes to what reads, generates, joins or orders elements."""
    kind, cores = stage_kind(stage.long_name), stage.cores or _CORES
    if kind in _INTERLEAVED:
        yield Change(
            "interleave",
            stage.gain(1 / cores, 1 / cores),
            "files.interleave(open_and_process, cycle_length=tf.data.AUTOTUNE, "
            "num_parallel_calls=tf.data.AUTOTUNE)",
            f"{cores} inputs at once, if the data is in several files or shards.",
        )
    if kind is StageKind.PYTHON_SOURCE:
        yield _native_function(stage, 1.0)


def _native_function(stage: Stage, python_frac: float) -> Change:
    cores = stage.cores or _CORES
    return Change(
        "native_function",
        stage.gain(1 - python_frac * (1 - 1 / cores)),
        "write the function in TensorFlow ops, so that it runs on all cores",
        f"If it is not slower than Python on one core, and runs on all {cores}.",
    )
