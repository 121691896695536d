"""Key points as heat maps: a small stack of convolutions, fit on cached batches."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

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

SIZE, JOINTS, BATCH = 64, 14, 32


def gaussian_maps(points, size, sigma=1.5):
    grid = np.arange(size)
    dy = grid[None, None, :, None] - points[:, :, None, None, 0]
    dx = grid[None, None, None, :] - points[:, :, None, None, 1]
    return np.exp(-(dy**2 + dx**2) / (2 * sigma**2)).transpose(0, 2, 3, 1).astype("float32")


def build():
    inputs = keras.Input((SIZE, SIZE, 3))
    x = layers.Conv2D(32, 5, 2, "same", activation="relu")(inputs)
    x = layers.Conv2D(64, 3, 2, "same", activation="relu")(x)
    skip = x
    x = layers.Conv2D(96, 3, 2, "same", activation="relu")(x)
    x = layers.Conv2D(96, 3, padding="same", activation="relu")(x)
    x = layers.Concatenate()([layers.UpSampling2D()(x), skip])
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    return keras.Model(inputs, layers.Conv2D(JOINTS, 1)(x))


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    n = BATCH * 12
    images = rng.random((n, SIZE, SIZE, 3), "float32")
    maps = gaussian_maps(rng.uniform(0, SIZE // 4, (n, JOINTS, 2)), SIZE // 4)
    ds = tf.data.Dataset.from_tensor_slices((images, maps)).batch(BATCH, drop_remainder=True).cache()
    model = build()
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    model.fit(ds.prefetch(tf.data.AUTOTUNE), epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
