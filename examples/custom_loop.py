"""A custom training loop that is retraced in every step, and prints in every step.

    python examples/custom_loop.py

Three stages: the learning rate is a Python number, so that each of its values is another trace;
it is a tensor, and the loop still prints every step's activations; it prints nothing.
"""

from __future__ import annotations

import os
from typing import Any

import stages
import tensorflow as tf

ROWS, FEATURES, LAYERS = 1024, 512, 4


def make_train() -> Any:
    """A compiled step of gradient descent; it returns the activations."""
    shape = (FEATURES, FEATURES)
    weights = [tf.Variable(tf.random.normal(shape, stddev=0.05)) for _ in range(LAYERS)]
    batch = tf.random.normal((ROWS, FEATURES))

    @tf.function
    def train(rate: Any) -> Any:
        with tf.GradientTape() as tape:
            values = batch
            for weight in weights:
                values = tf.nn.relu(tf.matmul(values, weight))
            loss = tf.reduce_mean(tf.square(values))
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(rate * slope)
        return values

    return train


def schedule(number: int) -> float:
    """A learning rate that falls from step to step."""
    return 0.01 / (1 + number)


def show(values: Any) -> None:
    """Print some activations, each of them."""
    tf.print("values", values[:64], summarize=-1, output_stream=f"file://{os.devnull}")


def retracing() -> stages.Step:
    """The rate is a Python number."""
    train = make_train()
    return lambda number: show(train(schedule(number)))


def traced_once(*, printing: bool) -> stages.Step:
    """The rate is a tensor."""
    train = make_train()
    if printing:
        return lambda number: show(train(tf.constant(schedule(number))))
    return lambda number: train(tf.constant(schedule(number))).numpy()


if __name__ == "__main__":
    stages.main(
        __doc__,
        (
            stages.Stage("rate as a Python number", "", retracing),
            stages.Stage("rate as a tensor", "retracing", lambda: traced_once(printing=True)),
            stages.Stage("prints nothing", "print-every-step", lambda: traced_once(printing=False)),
        ),
    )
