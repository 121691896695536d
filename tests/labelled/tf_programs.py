"""TensorFlow programs with one planted fault each, recorded one after the other.

Run as ``python -m tests.labelled.tf_programs FOLDER [NAME …]``: writes
``FOLDER/<name>.xplane.pb``. In a process of its own: TensorFlow stays out of the tests' process.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Program → the rule that must come first; None: healthy.
EXPECTED: dict[str, str | None] = {
    "serial_map": "serial-map",
    "missing_prefetch": "missing-prefetch",
    "generator": "python-in-pipeline",
    "py_function": "python-in-pipeline",
    "no_cache": "no-cache",
    "sequential_files": "no-interleave",
    "read_file_per_element": "file-reads",
    "map_before_batch": "batch-after-map",
    "late_filter": "late-filter",
    "late_shard": "late-shard",
    "one_input_thread": "few-input-threads",
    "saturated_input": "host-input-limit",
    "eager_loop": "eager-execution",
    "retracing": "retracing",
    "print_every_step": "print-every-step",
    "checkpoint_spikes": "slow-steps",
    "summary_every_step": "print-every-step",
    "unfused_elementwise": "no-xla",
    "healthy_function": None,
    "healthy_keras": None,
    "healthy_input": None,
}
_STEPS = 10
# A step this many times the median was not slowed by the program.
_STALL = 2.0
_ATTEMPTS = 4


class Program:
    """What is recorded: ``warm`` steps to warm up, then ``steps`` under the profiler.

    ``spiky``: some of its steps are slower than others by design.
    """

    def __init__(
        self,
        step: Callable[[int], Any],
        *,
        warm: int = 2,
        steps: int = _STEPS,
        spiky: bool = False,
    ) -> None:
        self.step = step
        self.warm = warm
        self.steps = steps
        self.spiky = spiky


def _train(tf: Any, features: int = 256, layers: int = 2) -> Callable[..., Any]:
    """A compiled training step of a small dense network on rows of any width."""
    weights: list[Any] = []

    @tf.function(reduce_retracing=True)
    def step(x: Any, rows: Any = None) -> Any:
        x = tf.reshape(tf.cast(x, tf.float32), [-1, features])
        if rows is not None:
            x = tf.repeat(x, rows // tf.shape(x)[0], axis=0)
        with tf.GradientTape() as tape:
            y = x
            for weight in weights:
                y = tf.nn.relu(tf.matmul(y, weight))
            loss = tf.reduce_mean(tf.square(y))
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(1e-3 * slope)
        return loss

    shape = [features, features]
    weights += [tf.Variable(tf.random.normal(shape, stddev=0.05)) for _ in range(layers)]
    trained: Callable[..., Any] = step
    return trained


def _burn(tf: Any, rounds: int) -> Callable[[Any], Any]:
    """Work on one core: sorting cannot be spread over threads."""

    def work(x: Any) -> Any:
        y = tf.range(20_000, dtype=tf.float32) * tf.cast(tf.reshape(x, [-1])[0], tf.float32)
        for _ in range(rounds):
            y = tf.sort(tf.math.mod(y * 7.0 + 1.0, 1.0))
        return y[:256]

    return work


def _stateful(tf: Any, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """With random numbers in it: TensorFlow does not make such a map parallel by itself."""
    return lambda x: work(x) + tf.random.uniform([256])


def _without_help(tf: Any) -> Any:
    """TensorFlow's own rewrites switched off, so that the pipeline is as it is written."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.inject_prefetch = False
    return options


def _fed(tf: Any, data: Any, rows: int = 64, *, warm: int = 2) -> Program:
    """Each step takes a batch and trains on so many rows made of it."""
    batches = iter(data)
    train, count = _train(tf), tf.constant(rows)
    return Program(lambda number: train(next(batches), count), warm=warm)


def serial_map(tf: Any, folder: Path) -> Program:
    """Random augmentation on one thread."""
    data = tf.data.Dataset.range(10**6).map(_stateful(tf, _burn(tf, 3))).batch(8).prefetch(2)
    return _fed(tf, data)


def missing_prefetch(tf: Any, folder: Path) -> Program:
    """Batches are made while nothing is trained."""
    data = tf.data.Dataset.range(10**6).map(_stateful(tf, _burn(tf, 1))).batch(8)
    return _fed(tf, data.with_options(_without_help(tf)), 4096)


def generator(tf: Any, folder: Path) -> Program:
    """A Python generator that works for each element."""

    def elements() -> Any:
        while True:
            yield [float(sum(i * i for i in range(20_000)))] * 256

    signature = tf.TensorSpec([256], tf.float32)
    data = tf.data.Dataset.from_generator(elements, output_signature=signature)
    return _fed(tf, data.batch(8).prefetch(2))


def py_function(tf: Any, folder: Path) -> Program:
    """A parallel map over a Python function, which holds the interpreter's lock."""

    def work(x: Any) -> Any:
        import numpy as np

        return np.full(256, float(sum(i * i for i in range(20_000))), np.float32)

    def apply(x: Any) -> Any:
        y = tf.numpy_function(work, [x], tf.float32)
        y.set_shape([256])
        return y

    data = tf.data.Dataset.range(10**6).map(apply, num_parallel_calls=2).batch(8).prefetch(2)
    return _fed(tf, data)


def no_cache(tf: Any, folder: Path) -> Program:
    """The same few elements are worked out again in every pass."""
    data = tf.data.Dataset.range(16).map(_burn(tf, 4), num_parallel_calls=2)
    return _fed(tf, data.batch(8).repeat().prefetch(2))


def _record_files(tf: Any, folder: Path) -> list[str]:
    paths = []
    for shard in range(4):
        path = folder / f"shard-{shard}.tfrecord"
        if not path.exists():
            noise = os.urandom(1 << 21)
            with tf.io.TFRecordWriter(str(path), "GZIP") as writer:
                for at in range(24):
                    writer.write(noise[at * 1000 : at * 1000 + 1_500_000])
        paths.append(str(path))
    return paths


def sequential_files(tf: Any, folder: Path) -> Program:
    """Compressed files read one after the other."""
    files = tf.data.Dataset.from_tensor_slices(_record_files(tf, folder)).repeat()
    records = files.flat_map(lambda path: tf.data.TFRecordDataset(path, "GZIP"))
    decoded = records.map(
        lambda record: tf.io.decode_raw(tf.strings.substr(record, 0, 256), tf.uint8)
    )
    return _fed(tf, decoded.batch(8).prefetch(2))


def read_file_per_element(tf: Any, folder: Path) -> Program:
    """One small file per element, read when it is needed."""
    small = folder / "small"
    if not small.exists():
        small.mkdir()
        for at in range(24):
            (small / f"{at}.bin").write_bytes(os.urandom(6_000_000))
    names = [str(path) for path in sorted(small.iterdir())]
    files = tf.data.Dataset.from_tensor_slices(names).repeat()
    decoded = files.map(
        lambda path: tf.io.decode_raw(tf.io.read_file(path), tf.uint8)[:256], num_parallel_calls=2
    )
    return _fed(tf, decoded.batch(8).prefetch(2))


def map_before_batch(tf: Any, folder: Path) -> Program:
    """A tiny function called for each of thousands of elements."""
    data = tf.data.Dataset.range(10**7).map(lambda x: x + 1, num_parallel_calls=2)
    return _fed(tf, data.batch(2048).prefetch(2).with_options(_without_help(tf)))


def late_filter(tf: Any, folder: Path) -> Program:
    """Elements are made whole before three of four are thrown away by a number known before."""
    data = tf.data.Dataset.range(10**6).map(_burn(tf, 3), num_parallel_calls=2)
    data = data.enumerate().filter(lambda at, _: at % 4 == 0).map(lambda _, made: made)
    return _fed(tf, data.batch(8).prefetch(2))


def late_shard(tf: Any, folder: Path) -> Program:
    """Every worker does the work of all and then throws it away."""
    data = tf.data.Dataset.range(10**6).map(_burn(tf, 1), num_parallel_calls=2)
    return _fed(tf, data.shard(4, 0).batch(8).prefetch(2))


def one_input_thread(tf: Any, folder: Path) -> Program:
    """A parallel map on a pool of one thread."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    data = tf.data.Dataset.range(10**6).map(_burn(tf, 3), num_parallel_calls=2)
    return _fed(tf, data.batch(8).prefetch(2).with_options(options))


def saturated_input(tf: Any, folder: Path) -> Program:
    """Random augmentation that takes all the cores there are."""
    work = _stateful(tf, _burn(tf, 5))
    data = tf.data.Dataset.range(10**6).map(work, num_parallel_calls=os.cpu_count())
    return _fed(tf, data.batch(8).prefetch(2))


def eager_loop(tf: Any, folder: Path) -> Program:
    """A training loop op by op."""
    weights = [tf.Variable(tf.random.normal([128, 128], stddev=0.05)) for _ in range(8)]
    x = tf.random.normal([32, 128])

    def step(number: int) -> None:
        for _ in range(4):
            with tf.GradientTape() as tape:
                y = x
                for weight in weights:
                    y = tf.nn.relu(tf.matmul(y, weight))
                loss = tf.reduce_mean(tf.square(y))
            for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
                weight.assign_sub(1e-3 * slope)

    return Program(step)


def retracing(tf: Any, folder: Path) -> Program:
    """A Python number as argument: a new trace for each."""
    weight = tf.Variable(tf.random.normal([256, 256], stddev=0.05))
    x = tf.random.normal([256, 256])

    @tf.function
    def scaled(rate: float) -> Any:
        y = x
        for _ in range(8):
            y = tf.nn.relu(tf.matmul(y, weight)) * rate
        return tf.reduce_sum(y)

    return Program(lambda number: scaled(0.001 * number))


def print_every_step(tf: Any, folder: Path) -> Program:
    """A large tensor is printed in each step."""
    train = _train(tf)
    x = tf.random.normal([512, 256])
    target = f"file://{folder / 'printed.txt'}"

    @tf.function
    def step() -> Any:
        loss = train(x)
        tf.print("batch", x, loss, summarize=-1, output_stream=target)
        return loss

    return Program(lambda number: step())


def summary_every_step(tf: Any, folder: Path) -> Program:
    """All activations are written to the event file in each step."""
    train = _train(tf)
    x = tf.random.normal([512, 256])
    writer = tf.summary.create_file_writer(str(folder / "summaries"))

    def step(number: int) -> None:
        train(x)
        with writer.as_default(step=number):
            for at in range(8):
                tf.summary.write(f"weights_{at}", x)
        writer.flush()

    return Program(step)


def checkpoint_spikes(tf: Any, folder: Path) -> Program:
    """A checkpoint in every sixth step."""
    train = _train(tf)
    x = tf.random.normal([512, 256])
    state = tf.train.Checkpoint(
        weights=[tf.Variable(tf.random.normal([2048, 2048])) for _ in range(3)]
    )

    def step(number: int) -> None:
        for _ in range(3):
            train(x)
        if number % 6 == 3:
            state.write(str(folder / "checkpoint"))

    return Program(step, steps=14, spiky=True)


def unfused_elementwise(tf: Any, folder: Path) -> Program:
    """A long chain of elementwise ops, each of which reads and writes all of memory."""
    x = tf.random.normal([1 << 20])

    @tf.function
    def step() -> Any:
        y = x
        for _ in range(12):
            y = tf.tanh(y) * 0.5 + y * 0.25 - 0.125
        return tf.reduce_sum(y)

    return Program(lambda number: step())


def healthy_function(tf: Any, folder: Path) -> Program:
    """A compiled step on data that is there."""
    train = _train(tf, 512, 3)
    x = tf.random.normal([512, 512])
    return Program(lambda number: train(x))


def healthy_input(tf: Any, folder: Path) -> Program:
    """A pipeline that runs ahead of the step, and has little to do: there may be two cores."""
    data = tf.data.Dataset.range(10**6).map(_burn(tf, 1), num_parallel_calls=2)
    return _fed(tf, data.batch(1).prefetch(4), 8192, warm=3)


def healthy_keras(tf: Any, folder: Path) -> Program:
    """Keras' own training step, compiled with XLA off."""
    import numpy as np

    layers = [tf.keras.layers.Dense(512, activation="relu") for _ in range(3)]
    model = tf.keras.Sequential([tf.keras.Input([512]), *layers, tf.keras.layers.Dense(10)])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse", jit_compile=False)
    x, y = np.zeros([512, 512], np.float32), np.zeros([512, 10], np.float32)
    return Program(lambda number: model.train_on_batch(x, y))


PROGRAMS: dict[str, Callable[[Any, Path], Program]] = {name: globals()[name] for name in EXPECTED}


def record(tf: Any, name: str, folder: Path) -> None:
    """Record the steps of a program, marked; again where the machine stalled meanwhile.

    A stall is a fault of its own, which nobody planted. Numbers of steps go on, so that what is
    new in every step stays new.
    """
    program = PROGRAMS[name](tf, folder)
    for number in range(program.warm):
        program.step(number)
    for attempt in range(1, _ATTEMPTS + 1):
        times = []
        log = folder / "log" / f"{name}-{attempt}"
        shutil.rmtree(log, ignore_errors=True)  # of an earlier recording of this program
        tf.profiler.experimental.start(str(log))
        for number in range(attempt * program.steps, (attempt + 1) * program.steps):
            begin = time.perf_counter()
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                program.step(number)
            times.append(time.perf_counter() - begin)
        tf.profiler.experimental.stop()
        if program.spiky or max(times) < _STALL * sorted(times)[len(times) // 2]:
            break
    (written,) = log.rglob("*.xplane.pb")
    written.rename(folder / f"{name}.xplane.pb")


def main() -> None:
    """Record every program, or those named."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tensorflow as tf

    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or PROGRAMS:
        begin = time.perf_counter()
        record(tf, name, folder)
        print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
