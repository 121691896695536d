"""Instruments in spectrograms: convolutions over time and pitch, with separable blocks."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

FRAMES, PITCHES, KINDS, BATCH = 64, 84, 11, 8
L = tf.keras.layers


def block(x, width):
    y = L.SeparableConv2D(width, 3, padding="same", use_bias=False)(x)
    y = L.ReLU()(L.BatchNormalization()(y))
    return L.MaxPooling2D()(y)


def instruments():
    spectrogram = tf.keras.Input((FRAMES, PITCHES, 1))
    x = L.Conv2D(24, 3, padding="same", activation="relu")(spectrogram)
    x = L.MaxPooling2D()(x)
    for width in (48, 96):
        x = block(x, width)
    x = L.Conv2D(128, (3, 10), activation="relu")(x)
    return tf.keras.Model(spectrogram, L.Dense(KINDS, activation="sigmoid")(L.GlobalAveragePooling2D()(x)))


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    x = rng.random((BATCH * 10, FRAMES, PITCHES, 1), dtype="float32")
    y = rng.integers(0, 2, (len(x), KINDS)).astype("float32")
    model = instruments()
    model.compile(tf.keras.optimizers.Adam(1e-3), "binary_crossentropy")
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
