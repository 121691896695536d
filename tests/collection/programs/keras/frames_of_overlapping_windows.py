"""Gestures in a stream of depth pictures: a window of eight frames for each moment."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "windows overlap by seven of eight frames, and TimeDistributed runs the convolutions on each frame again in every window that it is part of",
    "cause": "work done again",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["time_distributed", "TimeDistributed", "frames_of_windows"],
    "part": "develop",
}

SIDE, WINDOW, MOMENTS, GESTURES, WIDTH = 32, 8, 6, 9, 32
L = tf.keras.layers


def eye():
    layers = [L.Conv2D(16, 3, 2, padding="same", activation="relu"), L.Conv2D(WIDTH, 3, 2, padding="same", activation="relu"), L.GlobalAveragePooling2D()]
    return tf.keras.Sequential(layers, name="eye")


def windows_of(x):
    return tf.stack([x[:, i : i + WINDOW] for i in range(MOMENTS)], 1)


def frames_of_windows(stream, see):
    """(batch, moments, window, features), by the convolutions of every frame of every window."""
    windows = L.Lambda(windows_of, output_shape=(MOMENTS, WINDOW, SIDE, SIDE, 1))(stream)
    return L.TimeDistributed(L.TimeDistributed(see))(windows)  # planted


def model_of(see_once):
    stream, see = tf.keras.Input((MOMENTS + WINDOW - 1, SIDE, SIDE, 1)), eye()
    if see_once:
        windows = L.Lambda(windows_of, output_shape=(MOMENTS, WINDOW, WIDTH))(L.TimeDistributed(see)(stream))
    else:
        windows = frames_of_windows(stream, see)
    x = L.TimeDistributed(L.Flatten())(windows)
    return tf.keras.Model(stream, L.Dense(GESTURES)(L.Dense(64, "relu")(x)))


def main(clock):
    clock.plan(3, 2)
    rng = np.random.default_rng(0)
    streams = rng.random((24, MOMENTS + WINDOW - 1, SIDE, SIDE, 1), dtype="float32")
    gestures = rng.integers(0, GESTURES, (24, MOMENTS))
    model = model_of(see_once=clock.fixed)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(streams, gestures, batch_size=1, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
