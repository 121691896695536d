"""Durations of taxi trips: embeddings of places and hours, a wide and a deep part."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

PLACES, TRIPS, BATCH = 260, 32_000, 512
L = tf.keras.layers


def wide_and_deep():
    start, end, hour = (tf.keras.Input((), dtype="int32", name=name) for name in ("start", "end", "hour"))
    numbers = tf.keras.Input((6,), name="numbers")
    places = L.Embedding(PLACES, 32)
    x = L.Concatenate()([places(start), places(end), L.Embedding(24, 8)(hour), numbers])
    for width in (512, 512, 256):
        x = L.Dense(width, "relu")(x)
    wide = L.Dense(1)(numbers)
    return tf.keras.Model([start, end, hour, numbers], L.Add()([wide, L.Dense(1)(x)]))


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    trips = {
        "start": rng.integers(0, PLACES, TRIPS, dtype="int32"),
        "end": rng.integers(0, PLACES, TRIPS, dtype="int32"),
        "hour": rng.integers(0, 24, TRIPS, dtype="int32"),
        "numbers": rng.standard_normal((TRIPS, 6)).astype("float32"),
    }
    minutes = rng.gamma(2.0, 6.0, TRIPS).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((trips, minutes)).batch(BATCH).cache().prefetch(tf.data.AUTOTUNE)
    model = wide_and_deep()
    model.compile("adam", "mae")
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
