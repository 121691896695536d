"""Arrhythmia from twelve leads: a 1-D residual net."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers as L

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

LEADS, SAMPLES, LABELS, BATCH = 12, 512, 9, 24


def stage(x, width):
    short = L.Conv1D(width, 1, 2)(x)
    y = L.Conv1D(width, 7, 2, padding="same", activation="relu")(x)
    y = L.Conv1D(width, 7, padding="same")(y)
    return L.ReLU()(L.Add()([short, y]))


def ecg_net():
    leads = keras.Input((SAMPLES, LEADS))
    x = L.Conv1D(48, 11, 2, padding="same", activation="relu")(leads)
    for width in (64, 96, 128):
        x = stage(x, width)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(leads, L.Dense(LABELS)(x))


class Records:
    def __init__(self, count):
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((count, SAMPLES, LEADS)).astype("float32")
        self.y = (rng.random((count, LABELS)) < 0.15).astype("float32")

    def dataset(self):
        ds = tf.data.Dataset.from_tensor_slices((self.x, self.y))
        return ds.batch(BATCH, drop_remainder=True).cache().prefetch(tf.data.AUTOTUNE)


def main(clock):
    clock.plan(3, 5)
    model = ecg_net()
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(0.02, momentum=0.9), loss=loss)
    model.fit(Records(BATCH * 9).dataset(), epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
