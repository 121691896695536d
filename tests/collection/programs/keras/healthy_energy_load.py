"""Load of a power grid for the next day: temporal convolutions with dilation, quantile loss."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

HISTORY, AHEAD, CHANNELS, BATCH = 168, 24, 6, 64
QUANTILES = tf.constant([0.1, 0.5, 0.9])


def pinball(truth, found):
    error = truth[..., None] - found
    return tf.reduce_mean(tf.maximum(QUANTILES * error, (QUANTILES - 1) * error))


def load_net():
    layers = tf.keras.layers
    past = tf.keras.Input((HISTORY, CHANNELS))
    x = layers.Conv1D(48, 1)(past)
    for dilation in (1, 2, 4, 8, 16):
        h = layers.Conv1D(48, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        x = layers.Add()([x, layers.Conv1D(48, 1)(h)])
    x = layers.Lambda(lambda t: t[:, -1])(x)
    x = layers.Dense(AHEAD * 3)(layers.Dense(128, activation="relu")(x))
    return tf.keras.Model(past, layers.Reshape((AHEAD, 3))(x))


def main(clock):
    clock.plan(3, 4)
    load = np.random.default_rng(0).normal(size=(6000, CHANNELS)).astype("float32")
    model = load_net()
    model.compile("adam", pinball)
    data = tf.keras.utils.timeseries_dataset_from_array(load[:-AHEAD], None, HISTORY + AHEAD, batch_size=BATCH)
    data = data.map(lambda x: (x[:, :HISTORY], x[:, HISTORY:, 0]), tf.data.AUTOTUNE).prefetch(2)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
