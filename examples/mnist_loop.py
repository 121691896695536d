"""A digits loop that reads its data in each step and trains op by op; then it does neither.

    python examples/mnist_loop.py

Four stages: the data is read and decoded in each step; it is read once; the step is a
tf.function; the function is compiled with XLA. (The fourth stage of the story on a GPU, reduced
precision, would only cost time on a CPU.)
"""

from __future__ import annotations

import bz2
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import stages
import tensorflow as tf

FILES, BATCH = 8, 256
PIXELS = 28 * 28


def digits_files() -> list[Path]:
    """Files of made-up digits, compressed; each holds the images and labels of some batches."""
    random = np.random.default_rng(1)
    folder = Path(tempfile.mkdtemp())
    paths = [folder / f"digits-{number}.bz2" for number in range(FILES)]
    for path in paths:
        images = random.integers(0, 255, (2 * BATCH, PIXELS), dtype=np.uint8)
        labels = random.integers(0, 10, (2 * BATCH, 1), dtype=np.uint8)
        path.write_bytes(bz2.compress(np.concatenate([labels, images], axis=1).tobytes()))
    return paths


def read_digits(path: Path) -> tuple[Any, Any]:
    """Images and labels of the first batch of a file."""
    stored = np.frombuffer(bz2.decompress(path.read_bytes()), np.uint8)
    rows = stored.reshape(-1, 1 + PIXELS)[:BATCH]
    images = rows[:, 1:].reshape(-1, 28, 28).astype(np.float32) / 255.0
    return tf.constant(images), tf.constant(rows[:, 0].astype(np.int32))


def make_train() -> Callable[[Any, Any], Any]:
    """A step of gradient descent on a small convolutional network, op by op."""
    kernels = [tf.Variable(tf.random.normal(s, stddev=0.1)) for s in ((3, 3, 1, 8), (3, 3, 8, 8))]
    dense = tf.Variable(tf.random.normal((14 * 14 * 8, 10), stddev=0.05))
    weights = [*kernels, dense]

    def train(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            values = tf.nn.relu(tf.nn.conv2d(images[..., None], kernels[0], 2, "SAME"))
            values = tf.nn.relu(tf.nn.conv2d(values, kernels[1], 1, "SAME"))
            logits = tf.matmul(tf.reshape(values, (-1, 14 * 14 * 8)), dense)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            penalty = tf.add_n([tf.reduce_sum(tf.square(weight)) for weight in weights])
            loss = tf.reduce_mean(losses) + 1e-4 * penalty
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * tf.clip_by_norm(slope, 1.0))
        return loss

    return train


def reading() -> stages.Step:
    """A file is read in each step."""
    paths, train = digits_files(), make_train()
    return lambda number: train(*read_digits(paths[number % FILES])).numpy()


def loop(train: Callable[[Any, Any], Any]) -> stages.Step:
    """The files are read once."""
    batches = [read_digits(path) for path in digits_files()]
    return lambda number: train(*batches[number % FILES]).numpy()


if __name__ == "__main__":
    stages.main(
        __doc__,
        (
            stages.Stage("reads in each step", "", reading),
            stages.Stage("reads once", "python-bound", lambda: loop(make_train())),
            stages.Stage("tf.function", "eager-execution", lambda: loop(tf.function(make_train()))),
            stages.Stage(
                "XLA", "no-xla", lambda: loop(tf.function(make_train(), jit_compile=True))
            ),
        ),
    )
