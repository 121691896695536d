import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def dilated(x, width, rate):
    layers = tf.keras.layers
    y = layers.Conv1D(width, 3, padding="causal", dilation_rate=rate, activation="relu")(x)
    y = layers.Conv1D(width, 3, padding="causal", dilation_rate=rate)(y)
    return layers.Activation("relu")(layers.Add()([x, y]))


def main(clock):
    clock.plan(3, 6)
    rng = np.random.default_rng(0)
    layers = tf.keras.layers
    series = np.cumsum(rng.normal(size=(2048, 96, 1)), 1).astype(np.float32)
    inputs = tf.keras.Input((95, 1))
    x = layers.Conv1D(64, 1)(inputs)
    for rate in (1, 2, 4):
        x = dilated(x, 64, rate)
    model = tf.keras.Model(inputs, layers.Dense(1)(x))
    model.compile("adam", "mse")
    ds = tf.data.Dataset.from_tensor_slices((series[:, :-1], series[:, 1:])).batch(64).cache().repeat().prefetch(2)
    model.fit(ds, steps_per_epoch=20, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
