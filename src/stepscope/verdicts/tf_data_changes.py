"""What to change at a bottleneck of tf.data, and what each change can gain.

The model is a queue of two workers. The program needs ``compute`` per call besides waiting; the
pipeline needs ``produce`` to make a batch. Behind a prefetch (or any stage with threads of its
own) the two run side by side and the program waits ``max(0, produce - compute)``; without one it
waits ``produce``. A change makes the bottleneck's part of ``produce`` smaller, or puts a prefetch
in between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from math import nan

_VERSION = re.compile(r"(V\d+)?(Dataset)?(V\d+)?$")
# What a person sees of a bottleneck: fields of ``Stage``.
SAID = (
    "parallelism", "cores", "threads", "elements", "overhead_frac", "python_frac", "read_frac",
    "is_random", "is_repeated", "has_cache", "datasets", "maker", "shape", "size_bytes",
    "from_bytes", "into_bytes", "kept_frac",
)  # fmt: skip
# Cores assumed where the recording does not say how many tf.data may use.
_CORES = 2


class StageKind(Enum):
    """What an iterator type does, as far as advice depends on it."""

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
    """What is known of the bottleneck and its pipeline; times in one unit, per call.

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
        from_bytes: Of those that it is made of, its share of all that the stage asks for.
        into_bytes: What the next stage makes of one.
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
    from_bytes: float = nan
    into_bytes: float = nan
    kept_frac: float = 1.0
    maker: str = ""

    @property
    def runs_python(self) -> bool:
        """Whether its functions are Python, in part at least."""
        return self.python_frac > 0

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
    """One knob: whether it applies here, what it can gain per call, how to turn it.

    Attributes:
        knob: prefetch, num_parallel_calls, cache, vectorised_map, interleave, early_shard,
            early_filter, threads, native_function, packed_files, whole_batches or offline.
        applies: Whether it would change anything.
        gain: Predicted decrease of the wait per call; None where it cannot be predicted.
        change: What to write.
        note: Under which assumption, or why it does not apply.
    """

    knob: str
    applies: bool
    gain: float | None
    change: str
    note: str


def stage_kind(long_name: str) -> StageKind:
    """What the leaf of a long name does."""
    if long_name == "Iterator::Prefetch::Generator":
        return StageKind.DEVICE_FEED
    name = _VERSION.sub("", long_name.rpartition("::")[2])
    return _KIND_OF.get(name, StageKind.OTHER)


def changes(stage: Stage) -> tuple[Change, ...]:
    """Every knob with its predicted gain, largest first; knobs that do not apply last."""
    if stage_kind(stage.long_name) in (StageKind.DEVICE_FEED, StageKind.HAND_OVER):
        return ()
    found = [_prefetch(stage), _parallel(stage), _cache(stage), _vectorise(stage)]
    found += [_interleave(stage), _early_shard(stage), _early_filter(stage), _threads(stage)]
    found += [_native_function(stage), _packed_files(stage), _whole_batches(stage)]
    found += [_offline(stage)]
    return tuple(sorted(found, key=lambda one: (not one.applies, -(one.gain or 0.0))))


def _prefetch(stage: Stage) -> Change:
    change = "dataset = dataset.prefetch(tf.data.AUTOTUNE)  # as the last stage"
    if stage.runs_ahead:
        note = "The pipeline runs ahead of the program already."
        return Change("prefetch", False, 0.0, change, note)
    note = "The next batch is made while the program computes on the current one."
    return Change("prefetch", True, min(stage.wait, stage.compute), change, note)


def _parallel(stage: Stage) -> Change:
    change = "map(function, num_parallel_calls=tf.data.AUTOTUNE)"
    if stage_kind(stage.long_name) is not StageKind.MAP:
        note = "The bottleneck applies no function to elements."
        return Change("num_parallel_calls", False, 0.0, change, note)
    cores = stage.cores or _CORES
    if stage.parallelism >= cores:
        note = f"It runs {stage.parallelism} calls at once on {cores} cores already."
        return Change("num_parallel_calls", False, 0.0, change, note)
    note = f"From {stage.parallelism} to {cores} calls at once, if they do not hinder each other."
    if stage.runs_python:
        note += " The function is Python: only time outside its lock (sleep, I/O) runs in parallel."
    gain = stage.gain(stage.parallelism / cores)
    return Change("num_parallel_calls", True, gain, change, note)


def _cache(stage: Stage) -> Change:
    leaf = stage.long_name.rpartition("::")[2]
    change = f"insert .cache() after {leaf}, before shuffling and random augmentation"
    if stage.has_cache:
        return Change("cache", False, 0.0, change, "Its results are cached already.")
    if stage.is_random:
        note = "It draws random numbers: a cache would repeat them in every pass."
        return Change("cache", False, 0.0, change, note)
    note = (
        "From the second pass over the data on, if the results fit in memory and are the same "
        "in every pass."
    )
    return Change("cache", True, stage.gain(0.0, 0.0), change, note)


def _vectorise(stage: Stage) -> Change:
    change = "dataset.batch(n).map(function_of_a_batch)  # instead of map(...).batch(n)"
    is_map = stage_kind(stage.long_name) is StageKind.MAP
    if not is_map or not stage.batches or stage.elements <= 1:
        note = "The bottleneck is not a map of single elements before a batch."
        return Change("vectorised_map", False, 0.0, change, note)
    if stage.overhead_frac is None:
        note = "How much of its time is overhead per element is not recorded."
        return Change("vectorised_map", True, None, change, note)
    left = 1 - stage.overhead_frac * (1 - 1 / stage.elements)
    note = (
        f"One call per batch instead of {stage.elements:.0f}: only the {stage.overhead_frac:.0%} "
        "of its time outside the function's ops is counted as gain."
    )
    return Change("vectorised_map", True, stage.gain(left), change, note)


_INTERLEAVED = (
    StageKind.SOURCE,
    StageKind.PYTHON_SOURCE,
    StageKind.INTERLEAVE,
    StageKind.SEQUENTIAL,
    StageKind.OTHER,
)


def _interleave(stage: Stage) -> Change:
    change = (
        "files.interleave(open_and_process, cycle_length=tf.data.AUTOTUNE, "
        "num_parallel_calls=tf.data.AUTOTUNE)"
    )
    kind = stage_kind(stage.long_name)
    cores = stage.cores or _CORES
    if kind not in _INTERLEAVED:
        note = "The bottleneck is a function over elements: see num_parallel_calls."
        return Change("interleave", False, 0.0, change, note)
    note = f"{cores} inputs at once, if the data is in several files or shards."
    left = 1 / cores
    return Change("interleave", True, stage.gain(left, left), change, note)


def _early_shard(stage: Stage) -> Change:
    change = "files.shard(num_shards, index) first, then read and map"
    if stage.shards <= 1:
        return Change("early_shard", False, 0.0, change, "No shard comes after the bottleneck.")
    left = 1 / stage.shards
    note = f"Only one of {stage.shards} elements that are made now is kept."
    return Change("early_shard", True, stage.gain(left, left), change, note)


# A filter that keeps more than this hardly matters, wherever it is.
_KEEPS_MOST_FRAC = 0.8


def _early_filter(stage: Stage) -> Change:
    change = "dataset.filter(keep).map(function)  # instead of map(function).filter(keep)"
    if not stage.kept_frac < _KEEPS_MOST_FRAC:
        note = "No filter throws away much of what a map makes."
        return Change("early_filter", False, 0.0, change, note)
    left = stage.kept_frac
    note = (
        f"It keeps {left:.0%} of what is made now, if what it asks is known before: a label, a "
        "name, a length."
    )
    return Change("early_filter", True, stage.gain(left, left), change, note)


def _threads(stage: Stage) -> Change:
    change = "options.threading.private_threadpool_size = 0  # as many threads as cores"
    wanted = min(stage.parallelism, stage.cores or _CORES)
    if stage_kind(stage.long_name) is not StageKind.MAP or stage.threads is None:
        note = "The bottleneck's functions do not run on tf.data's pool of threads."
        return Change("threads", False, 0.0, change, note)
    if stage.threads >= wanted:
        note = f"{stage.threads} threads are enough for {wanted} calls at once."
        return Change("threads", False, 0.0, change, note)
    note = f"{wanted} calls could run at once on {stage.cores} cores, on {stage.threads} thread(s)."
    return Change("threads", True, stage.gain(stage.threads / wanted), change, note)


def _native_function(stage: Stage) -> Change:
    change = "write the function in TensorFlow ops, so that it runs on all cores"
    kind = stage_kind(stage.long_name)
    if kind is StageKind.PYTHON_SOURCE:
        share = 1.0
    elif kind is StageKind.MAP and stage.runs_python:
        share = stage.python_frac
    else:
        return Change("native_function", False, 0.0, change, "The bottleneck runs no Python.")
    cores = stage.cores or _CORES
    note = f"If it is not slower than Python on one core, and runs on all {cores}."
    return Change("native_function", True, stage.gain(1 - share * (1 - 1 / cores)), change, note)


def _packed_files(stage: Stage) -> Change:
    change = "pack the elements into a few TFRecord files and read those one after the other"
    if not stage.read_frac or stage_kind(stage.long_name) is not StageKind.MAP:
        note = "The bottleneck's functions read no files."
        return Change("packed_files", False, 0.0, change, note)
    note = "If reading ahead hides what reading files one by one costs."
    return Change("packed_files", True, stage.gain(1 - stage.read_frac), change, note)


# From this many on per batch, datasets are a way to slice and not the files of the data.
MANY_DATASETS = 16
# Share of the time of a dataset that making and asking it costs where no op in it was recorded.
_DATASET_OVERHEAD_FRAC = 0.7


def _whole_batches(stage: Stage) -> Change:
    change = (
        "starts.batch(n).map(lambda s: tf.gather(data, s[:, None] + tf.range(length)))  "
        "# instead of window(…).flat_map(…).batch(n)"
    )
    if not stage.datasets >= MANY_DATASETS:
        note = "No dataset is made for every element."
        return Change("whole_batches", False, 0.0, change, note)
    overhead = stage.overhead_frac
    if overhead is None:
        overhead = _DATASET_OVERHEAD_FRAC
    is_below = stage.maker.startswith(f"{stage.long_name}::")
    if is_below:  # its own functions say nothing of what hands it its elements
        overhead = _DATASET_OVERHEAD_FRAC
    left = 1 - overhead * (1 - 1 / stage.datasets)
    note = f"One call per batch instead of {stage.datasets:.0f} datasets of their own."
    gain = stage.gain(1.0 if is_below else left, left)
    return Change("whole_batches", True, gain, change, note)


def _offline(stage: Stage) -> Change:
    change = "do it once, offline, and store the results; or do it on the device"
    if stage_kind(stage.long_name) is not StageKind.MAP:
        note = "The bottleneck applies no function to elements."
        return Change("offline", False, 0.0, change, note)
    return Change("offline", True, stage.gain(0.0), change, "If reading the results costs nothing.")
