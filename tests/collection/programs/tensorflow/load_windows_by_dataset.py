"""Electricity load of the next day from the last four: sliding windows with tf.data."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every window is a data set of its own, whose rows are batched again: window and flat_map over single rows",
    "cause": "input, row by row",
    "accept": ["nested-datasets", "largest-part", "input-bound", "batch-after-map", "serial-map", "host-input-limit", "no-cache", "missing-prefetch", "no-interleave"],
    "rules": ["nested-datasets", "input-bound", "batch-after-map", "serial-map", "host-input-limit", "no-cache", "missing-prefetch", "no-interleave"],
    "words": ["Window", "WindowDataset", "FlatMap", "windows", "flat_map"],
    "part": "develop",
}

PAST, AHEAD, BATCH, FEATURES = 96, 24, 24, 6


def read_series():
    rng = np.random.default_rng(0)
    hours = np.arange(24 * 365)
    load = 1.0 + 0.3 * np.sin(2 * np.pi * hours / 24) + 0.2 * np.sin(2 * np.pi * hours / 168)
    extra = rng.normal(size=(len(hours), FEATURES - 1))
    return np.concatenate([(load + 0.05 * rng.normal(size=len(hours)))[:, None], extra], 1).astype("float32")


def split(window):
    return window[..., :PAST, :], window[..., PAST:, 0]


def windows(series):
    ds = tf.data.Dataset.from_tensor_slices(series)
    ds = ds.window(PAST + AHEAD, shift=1, drop_remainder=True)  # planted
    ds = ds.flat_map(lambda w: w.batch(PAST + AHEAD))  # planted
    return ds.map(split).batch(BATCH, drop_remainder=True).repeat().prefetch(2)


def gathered(series):
    rows = tf.constant(series)
    starts = tf.data.Dataset.range(len(series) - PAST - AHEAD).batch(BATCH, drop_remainder=True)
    steps = tf.range(PAST + AHEAD, dtype=tf.int64)
    return starts.map(lambda at: split(tf.gather(rows, at[:, None] + steps))).repeat().prefetch(2)


class Forecaster(tf.keras.Model):
    """Yesterday as it was, and a correction of it."""

    def __init__(self):
        super().__init__()
        self.flat = tf.keras.layers.Flatten()
        self.hidden = tf.keras.layers.Dense(64, activation="relu")
        self.out = tf.keras.layers.Dense(AHEAD)

    def call(self, x):
        return x[:, -AHEAD:, 0] + self.out(self.hidden(self.flat(x)))


def main(clock):
    clock.plan(4, 3)
    series = read_series()
    model = Forecaster()
    model(tf.zeros((1, PAST, FEATURES)))
    optimizer = tf.keras.optimizers.SGD(1e-2)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(x, training=True) - y))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    ds = gathered(series) if clock.fixed else windows(series)
    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
