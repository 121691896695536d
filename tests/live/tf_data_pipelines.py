"""Real tf.data pipelines with one stage made slow on purpose, recorded one after the other.

Run as ``python -m tests.live.tf_data_pipelines FOLDER``: writes ``FOLDER/<name>.xplane.pb`` for
each of ``SCENARIOS``. Runs in a process of its own: TensorFlow stays out of the tests' process.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The worst stage of each pipeline: the end of its long name. None: the pipeline is healthy.
SCENARIOS: dict[str, str | None] = {
    "map_then_batch": "::MapAndBatch",
    "map_alone": "::Map",
    "parallel_map_then_batch": "::MapAndBatch",
    "parallel_map_then_shuffle": "::Shuffle::ParallelMapV2",
    "first_of_two_maps": "::ParallelMapV2::Map",
    "second_of_two_maps": "::FiniteTake::Map",
    "map_of_batches": "::Map",
    "generator": "::Generator",
    "filter": "::Filter",
    "scan": "::Scan",
    "take_while": "::TakeWhile",
    "inside_flat_map": "::FlatMap::Map",
    "inside_interleave": "::Interleave::Map",
    "inside_parallel_interleave": "::ParallelInterleaveV4::Map",
    "one_branch_of_zip": "::Zip::Map",
    "batch_of_large_elements": "::BatchV2",
    "compressed_records": "::TFRecord",
    "without_prefetch": "::Map",
    "healthy": None,
}
_SLEEP_S = 0.004
_COMPUTE_S = 0.003
_CALLS = 8


def build(name: str, folder: Path) -> Any:
    """The dataset of a scenario."""
    import tensorflow as tf

    numbers = tf.data.Dataset.range(10_000)
    slow = _slow(tf)
    makers: dict[str, Callable[[], Any]] = {
        "map_then_batch": lambda: numbers.map(slow).batch(3).prefetch(1),
        "map_alone": lambda: numbers.map(slow).prefetch(1),
        "parallel_map_then_batch": lambda: numbers.map(slow, 2).batch(3).prefetch(1),
        "parallel_map_then_shuffle": lambda: numbers.map(slow, 2).shuffle(4).batch(4).prefetch(1),
        "first_of_two_maps": lambda: (
            numbers.map(slow).map(_cheap(tf)).shuffle(2).batch(3).prefetch(1)
        ),
        "second_of_two_maps": lambda: (
            (numbers.map(_cheap(tf)).filter(lambda x: x >= 0).map(slow).take(999).batch(3))
            .unbatch()
            .batch(3)
            .prefetch(1)
        ),
        "map_of_batches": lambda: numbers.batch(8).map(_slow(tf, batched=True)).prefetch(1),
        "generator": lambda: (
            tf.data.Dataset.from_generator(
                _slow_generator, output_signature=tf.TensorSpec([], tf.int64)
            )
            .batch(3)
            .prefetch(1)
        ),
        "filter": lambda: numbers.filter(lambda x: slow(x) % 2 == 0).batch(2).prefetch(1),
        "scan": lambda: (
            numbers.scan(tf.constant(0, tf.int64), lambda s, x: (s + slow(x), x)).batch(3)
        ).prefetch(1),
        "take_while": lambda: numbers.take_while(lambda x: slow(x) >= 0).batch(3).prefetch(1),
        "inside_flat_map": lambda: numbers.flat_map(_slow_part(tf)).batch(3).prefetch(1),
        "inside_interleave": lambda: (
            numbers.interleave(_slow_part(tf), cycle_length=2).batch(3).prefetch(1)
        ),
        "inside_parallel_interleave": lambda: (
            numbers.interleave(_slow_part(tf), cycle_length=2, num_parallel_calls=2)
            .batch(6)
            .prefetch(1)
        ),
        "one_branch_of_zip": lambda: (
            tf.data.Dataset.zip((numbers, numbers.map(slow))).batch(3).prefetch(1)
        ),
        "batch_of_large_elements": lambda: (
            tf.data.Dataset.from_tensors(tf.zeros([1 << 22])).repeat().batch(8).prefetch(1)
        ),
        "compressed_records": lambda: (
            tf.data.TFRecordDataset(str(_records(tf, folder)), compression_type="GZIP")
            .repeat()
            .batch(2)
            .prefetch(1)
        ),
        "without_prefetch": lambda: numbers.map(slow).with_options(_plain(tf)),
        "healthy": lambda: numbers.map(_cheap(tf), num_parallel_calls=2).batch(8).prefetch(8),
    }
    return makers[name]()


def _slow(tf: Any, batched: bool = False) -> Callable[[Any], Any]:
    def wait(value: Any) -> Any:
        time.sleep(_SLEEP_S * (3 if batched else 1))
        return value

    def apply(x: Any) -> Any:
        y = tf.numpy_function(wait, [x], tf.int64)
        y.set_shape(x.shape)
        return y

    return apply


def _cheap(tf: Any) -> Callable[[Any], Any]:
    return lambda x: x + tf.constant(1, tf.int64)


def _slow_generator() -> Any:
    for number in range(10_000):
        time.sleep(_SLEEP_S)
        yield number


def _slow_part(tf: Any) -> Callable[[Any], Any]:
    return lambda _: tf.data.Dataset.range(50).map(_slow(tf))


def _plain(tf: Any) -> Any:
    """No optimisation: TensorFlow would put a prefetch at the end."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.inject_prefetch = False
    return options


def _records(tf: Any, folder: Path) -> Path:
    path = folder / "data.tfrecord.gz"
    if not path.exists():
        noise = os.urandom(1 << 21)
        with tf.io.TFRecordWriter(str(path), "GZIP") as writer:
            for _ in range(4):
                writer.write(noise)
    return path


def record(name: str, folder: Path) -> None:
    """Take a few batches of a scenario under the profiler, computing a little on each."""
    import tensorflow as tf

    batches = iter(build(name, folder))
    next(batches)
    compute = _COMPUTE_S * (8 if SCENARIOS[name] is None else 1)
    tf.profiler.experimental.start(str(folder / "log" / name))
    for step in range(_CALLS):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            next(batches)
            time.sleep(compute)
    tf.profiler.experimental.stop()
    (written,) = (folder / "log" / name).rglob("*.xplane.pb")
    written.rename(folder / f"{name}.xplane.pb")


def main() -> None:
    """Record every scenario."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    folder = Path(sys.argv[1])
    for name in SCENARIOS:
        record(name, folder)


if __name__ == "__main__":
    main()
