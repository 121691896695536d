"""Train a small image classifier whose input pipeline is too slow, and record it.

    python examples/slow_input_cnn.py --logdir runs/slow
    python examples/slow_input_cnn.py --logdir runs/fixed --fixed
    stepscope show overview_page runs/slow

The mistake is a common one: every JPEG is decoded and augmented again in every epoch, one after
the other, and only when the training step asks for the next batch. ``--fixed`` decodes once,
augments in parallel and prepares the next batch while the current one trains. Its map is
stateful (random augmentation), because TensorFlow runs stateless ones in parallel by itself.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

import stepscope

IMAGES = 256
CLASSES = 10
STORED_SIZE = 512  # pixels, as the JPEGs are
TRAINED_SIZE = 32  # pixels, as the network sees them
BATCH = 16
WARM_UP_STEPS = 5


def jpegs() -> tuple[list[bytes], list[int]]:
    """Encoded images of noise and their labels; a stand-in for files on a disk."""
    random = tf.random.Generator.from_seed(1)
    labels = [number % CLASSES for number in range(IMAGES)]
    encoded = []
    for _ in labels:
        coarse = random.uniform((8, 8, 3), maxval=255)
        smooth = tf.image.resize(coarse, (STORED_SIZE, STORED_SIZE), method="bicubic")
        pixels = tf.cast(tf.clip_by_value(smooth, 0, 255), tf.uint8)
        encoded.append(tf.io.encode_jpeg(pixels, quality=90).numpy())
    return encoded, labels


def decode(jpeg: Any, label: Any) -> tuple[Any, Any]:
    """An image as the network wants it, and its label."""
    pixels = tf.io.decode_jpeg(jpeg, channels=3)
    small = tf.image.resize(tf.cast(pixels, tf.float32), (TRAINED_SIZE, TRAINED_SIZE))
    return small / 255.0, label


def augment(image: Any, label: Any) -> tuple[Any, Any]:
    """The image with a random flip and random light."""
    flipped = tf.image.random_flip_left_right(image)
    return tf.image.random_brightness(flipped, 0.2), label


def slow_pipeline() -> Any:
    """Decodes and augments one image at a time, on demand, in every epoch.

    Random augmentation in the same map as decoding also keeps TensorFlow from making it parallel
    by itself, as it does with maps that have no state.
    """
    stored = tf.data.Dataset.from_tensor_slices(jpegs())
    prepared = stored.shuffle(IMAGES).repeat().map(lambda *one: augment(*decode(*one)))
    return prepared.batch(BATCH)


def fixed_pipeline() -> Any:
    """Decodes once, augments in parallel, and prepares batches ahead of the step."""
    parallel = tf.data.AUTOTUNE
    stored = tf.data.Dataset.from_tensor_slices(jpegs())
    decoded = stored.map(decode, num_parallel_calls=parallel).cache()
    shuffled = decoded.shuffle(IMAGES).repeat()
    return shuffled.map(augment, num_parallel_calls=parallel).batch(BATCH).prefetch(parallel)


def make_train_step() -> Any:
    """One step of gradient descent on a small convolutional network, compiled to a graph."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Input((TRAINED_SIZE, TRAINED_SIZE, 3)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(CLASSES),
        ]
    )
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(0.01)

    @tf.function
    def train_step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return train_step


def train(batches: Iterator[Any], train_step: Any, steps: int) -> list[float]:
    """Run steps, each marked for the profiler; their times in ms."""
    times_ms = []
    for number in range(steps):
        began = time.perf_counter()
        with stepscope.Trace("train", step_num=number, _r=1):
            train_step(*next(batches)).numpy()  # .numpy() waits for the result
        times_ms.append((time.perf_counter() - began) * 1e3)
    return times_ms


def main() -> None:
    """Train, record and say how long a step took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logdir", default="runs/slow_input_cnn", help="where the recording goes")
    parser.add_argument("--steps", type=int, default=40, help="steps to record")
    parser.add_argument("--fixed", action="store_true", help="use the repaired pipeline")
    arguments = parser.parse_args()

    batches = iter(fixed_pipeline() if arguments.fixed else slow_pipeline())
    train_step = make_train_step()
    train(batches, train_step, WARM_UP_STEPS)

    with stepscope.Profile(arguments.logdir):
        times_ms = train(batches, train_step, arguments.steps)

    kind = "repaired" if arguments.fixed else "slow"
    print(
        f"{arguments.steps} steps with the {kind} input pipeline: "
        f"median {statistics.median(times_ms):.1f} ms, "
        f"slowest {max(times_ms):.1f} ms per step (batch {BATCH})."
    )
    print(f"Recorded in {arguments.logdir}")


if __name__ == "__main__":
    main()
