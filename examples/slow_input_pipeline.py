"""A pipeline that decodes and augments images one by one while the model waits for them.

    python examples/slow_input_pipeline.py

Three stages, as in many a report of someone's first profile: a serial map without prefetch; the
same behind a prefetch; and with the map on all cores. The model trains on one core, as if the
other were not there to help it: that is what a device beside the host is like.
"""

from __future__ import annotations

from typing import Any

import stages
import tensorflow as tf

IMAGES, BATCH, SIDE = 64, 8, 256


def jpegs() -> list[bytes]:
    """Encoded images of smooth noise; a stand-in for files on a disk."""
    random = tf.random.Generator.from_seed(1)
    encoded = []
    for _ in range(IMAGES):
        pixels = tf.image.resize(random.uniform((8, 8, 3), maxval=255), (SIDE, SIDE))
        encoded.append(tf.io.encode_jpeg(tf.cast(pixels, tf.uint8)).numpy())
    return encoded


def prepare_image(jpeg: Any) -> Any:
    """Decode, change at random, make small. What is random keeps the map from being parallel."""
    image = tf.cast(tf.io.decode_jpeg(jpeg, channels=3), tf.float32)
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_contrast(image, 0.5, 1.0)
    return tf.image.resize(image, (32, 32)) / 255.0


def make_step(dataset: Any) -> stages.Step:
    """A step that takes a batch and trains a small network on it."""
    batches = iter(dataset)
    weights = [tf.Variable(tf.random.normal(shape, stddev=0.05)) for shape in _SHAPES]

    @tf.function
    def train(images: Any) -> Any:
        with tf.GradientTape() as tape:
            values = images
            for weight in weights:
                values = tf.nn.relu(tf.nn.conv2d(values, weight, 1, "SAME"))
            loss = tf.reduce_mean(tf.square(values))
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * slope)
        return loss

    return lambda number: train(next(batches)).numpy()


_SHAPES = ((3, 3, 3, 48), (3, 3, 48, 48), (3, 3, 48, 16))


def images() -> Any:
    """The stored images, over and over."""
    return tf.data.Dataset.from_tensor_slices(jpegs()).repeat()


def as_written(dataset: Any) -> Any:
    """Without the fusion and the prefetch that TensorFlow of today adds by itself."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)


def serial() -> stages.Step:
    """One image after the other, when the step asks for a batch."""
    return make_step(as_written(images().map(prepare_image).batch(BATCH)))


def prefetched() -> stages.Step:
    """The next batch is made while this one trains."""
    prepared = images().map(prepare_image).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return make_step(as_written(prepared))


def parallel() -> stages.Step:
    """Images on all cores, ahead of the step."""
    prepared = images().map(prepare_image, num_parallel_calls=tf.data.AUTOTUNE)
    return make_step(as_written(prepared.batch(BATCH).prefetch(tf.data.AUTOTUNE)))


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    stages.main(
        __doc__,
        (
            stages.Stage("serial map, no prefetch", "", serial),
            stages.Stage("with prefetch", "missing-prefetch", prefetched),
            stages.Stage("parallel map", "serial-map", parallel),
        ),
    )
