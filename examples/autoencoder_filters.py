"""An autoencoder with more filters than its images need: one layer takes most of the step.

    python examples/autoencoder_filters.py

Advice names the layer and says what halving it would give; the stages halve its filters twice.
Whether the images it makes are still good enough, no profile can tell.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import stages
import tensorflow as tf

BATCH, SIDE = 4, 28


def convolution(name: str, size: int, inputs: int, filters: int) -> Any:
    """A convolution with weights of its own; its ops carry its name."""
    weight = tf.Variable(tf.random.normal((size, size, inputs, filters), stddev=0.05))

    def apply(values: Any) -> Any:
        with tf.name_scope(name):
            return tf.nn.relu(tf.nn.conv2d(values, weight, 1, "SAME"))

    apply.weight = weight  # type: ignore[attr-defined]  # a function with its variable
    return apply


def autoencoder(wide: int) -> stages.Step:
    """Training steps of an autoencoder whose widest layer has this many filters."""
    narrow = convolution("narrow", 3, 1, 32)
    widest = convolution("widest", 3, 32, wide)
    image = convolution("image", 1, wide, 8)
    weights = [layer.weight for layer in (narrow, widest, image)]
    images = tf.random.uniform((BATCH, SIDE, SIDE, 1))

    @tf.function
    def train() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(image(widest(narrow(images))) - images))
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * slope)
        return loss

    return lambda number: train().numpy()


if __name__ == "__main__":
    stages.main(
        __doc__,
        (
            stages.Stage("256 filters", "", partial(autoencoder, 256)),
            stages.Stage("128 filters", "largest-part", partial(autoencoder, 128)),
            stages.Stage("64 filters", "largest-part", partial(autoencoder, 64)),
        ),
    )
