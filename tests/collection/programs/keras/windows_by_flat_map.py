"""Forecast of a sensor's series by a causal convolution; windows as the time series tutorial has them."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "window and flat_map make a dataset of their own for each window of a batch",
    "cause": "wrong granularity",
    "accept": ["nested-datasets", "input-bound", "host-input-limit"],
    "rules": ["nested-datasets"],
    "words": ["FlatMap"],
    "part": "develop",
}

WINDOW, BATCH = 32, 40


def windowed_dataset(series, window_size, batch_size, shuffle_buffer):
    ds = tf.data.Dataset.from_tensor_slices(series)
    ds = ds.window(window_size + 1, shift=1, drop_remainder=True)  # planted
    ds = ds.flat_map(lambda w: w.batch(window_size + 1))  # planted
    ds = ds.shuffle(shuffle_buffer)
    ds = ds.map(lambda w: (w[:-1], w[-1, :1]))
    return ds.batch(batch_size).prefetch(1)


def gathered_dataset(series, window_size, batch_size, shuffle_buffer):
    series = tf.constant(series)
    starts = tf.data.Dataset.range(len(series) - window_size).shuffle(shuffle_buffer).batch(batch_size)

    def gather(s):
        w = tf.gather(series, s[:, None] + tf.range(window_size + 1, dtype=tf.int64))
        return w[:, :-1], w[:, -1, :1]

    return starts.map(gather).prefetch(1)


def main(clock):
    clock.plan(8, 3)
    t = np.arange(100_000, dtype="float32")
    noise = np.random.default_rng(0).normal(size=len(t)) * 0.1
    series = np.stack([np.sin(t / 24), np.cos(t / 168), noise], axis=1).astype("float32")
    make = gathered_dataset if clock.fixed else windowed_dataset
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((WINDOW, 3)),
            tf.keras.layers.Conv1D(8, 5, padding="causal", activation="relu"),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(8, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile(loss=tf.keras.losses.Huber(), optimizer=tf.keras.optimizers.SGD(1e-3, momentum=0.9), metrics=["mae"])
    model.fit(make(series, WINDOW, BATCH, 500), steps_per_epoch=40, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
