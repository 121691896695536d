"""Birds by their song: a residual net of one-dimensional convolutions."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SAMPLES, BATCH, BIRDS = 2048, 16, 14
L = tf.keras.layers


def residual(x, width, stride):
    y = L.Conv1D(width, 9, stride, padding="same", activation="relu")(x)
    y = L.Conv1D(width, 9, padding="same")(y)
    x = L.Conv1D(width, 1, stride, padding="same")(x)
    return L.Activation("relu")(L.LayerNormalization()(L.Add()([x, y])))


def bird_net():
    song = tf.keras.Input((SAMPLES, 1))
    x = L.Conv1D(16, 31, 8, padding="same", activation="relu")(song)
    for width in (32, 64, 96):
        x = residual(x, width, 2)
    return tf.keras.Model(song, L.Dense(BIRDS, activation="softmax")(L.GlobalAveragePooling1D()(x)))


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    songs, birds = rng.normal(size=(256, SAMPLES, 1)).astype("float32"), rng.integers(0, BIRDS, 256)
    model = bird_net()
    model.compile(tf.keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(songs, birds, batch_size=BATCH, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
