"""Prices of used cars: a wide part and a deep one over embedded columns."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

CARS, MAKES, COLUMNS, BATCH = 16_384, 80, 6, 512
L = tf.keras.layers


def price_net():
    makes, numbers = tf.keras.Input((COLUMNS,), dtype="int32"), tf.keras.Input((12,))
    # One table for all columns, each with rows of its own.
    embedded = L.Flatten()(L.Embedding(COLUMNS * MAKES, 12)(makes))
    wide = L.Flatten()(L.Embedding(COLUMNS * MAKES, 1)(makes))
    x = L.Concatenate()([embedded, numbers])
    for width in (512, 512, 128):
        x = L.Dense(width, activation="swish")(x)
    return tf.keras.Model([makes, numbers], L.Dense(1)(L.Concatenate()([x, wide])))


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    makes = rng.integers(0, MAKES, (CARS, COLUMNS), "int32") + MAKES * np.arange(COLUMNS, dtype="int32")
    numbers, prices = rng.normal(size=(CARS, 12)).astype("float32"), rng.normal(size=(CARS, 1)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices(((makes, numbers), prices)).batch(BATCH).cache().shuffle(32).prefetch(2)
    model = price_net()
    model.compile("rmsprop", "mae")
    model.fit(data, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
