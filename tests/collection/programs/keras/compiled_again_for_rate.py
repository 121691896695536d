"""Cyclical learning rates for a net on tabular data, in a loop of one's own."""
import math
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the model is compiled again with a new optimizer to set each learning rate of the cycle, so that each batch traces its training function again",
    "cause": "compiled again and again",
    "accept": ["largest-part", "retracing", "recompilation", "python-bound"],
    "rules": ["retracing", "recompilation", "python-bound"],
    "words": ["set_rate", "compile", "make_train_function", "initial_call", "_initialize", "trace_function"],
    "part": "develop",
}

ROWS, FIELDS, BATCH = 4096, 30, 512


def rate_at(step, lowest=1e-3, highest=1e-1, cycle=20):
    return lowest + (highest - lowest) * 0.5 * (1 - math.cos(2 * math.pi * step / cycle))


class Cyclical:
    def __init__(self, model, compiles):
        self.model, self.compiles = model, compiles
        self.model.compile(tf.keras.optimizers.SGD(rate_at(0)), "mse")

    def set_rate(self, rate):
        if self.compiles:
            self.model.compile(tf.keras.optimizers.SGD(rate), "mse")  # planted
        else:
            self.model.optimizer.learning_rate.assign(rate)

    def train(self, step, x, y):
        self.set_rate(rate_at(step))
        return self.model.train_on_batch(x, y)  # planted


def main(clock):
    clock.plan(2, 3)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(ROWS, FIELDS)).astype("float32"), rng.normal(size=(ROWS, 1)).astype("float32")
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(1024, activation="relu"), layers.Dense(1024, activation="relu"), layers.Dense(1)])
    model.build((None, FIELDS))
    cyclical = Cyclical(model, compiles=not clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            rows = rng.integers(0, ROWS, BATCH)
            cyclical.train(step, x[rows], y[rows])


if __name__ == "__main__":
    run(main)
