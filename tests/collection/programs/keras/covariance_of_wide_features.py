"""VICReg: two views, no negatives; variance, invariance, covariance."""
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the penalty makes the covariance of 2048 features out of 64 rows; the sum of its squares is that of the 64 x 64 products of rows",
    "cause": "algorithm",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["off_diagonal", "covariance", "VICReg", "vic_reg", "MatMul"],
    "part": "develop",
}

DIM, BATCH, SIDE = 2048, 64, 32


class VICReg(keras.layers.Layer):
    def __init__(self, by_rows, **kwargs):
        super().__init__(**kwargs)
        self.by_rows = by_rows

    def off_diagonal(self, z):
        n = tf.cast(tf.shape(z)[0], z.dtype)
        z = z - tf.reduce_mean(z, 0)
        variance = tf.reduce_sum(z * z, 0) / (n - 1)
        if self.by_rows:
            whole = tf.reduce_sum((tf.matmul(z, z, transpose_b=True) / (n - 1)) ** 2)
        else:
            covariance = tf.matmul(z, z, transpose_a=True) / (n - 1)  # planted
            whole = tf.reduce_sum(covariance**2)  # planted
        return (whole - tf.reduce_sum(variance**2)) / DIM, variance

    def call(self, a, b):
        loss = 25.0 * tf.reduce_mean((a - b) ** 2)
        for z in (a, b):
            decorrelation, variance = self.off_diagonal(z)
            loss += decorrelation + 25.0 * tf.reduce_mean(tf.nn.relu(1.0 - tf.sqrt(variance + 1e-4)))
        self.add_loss(loss)
        return a


def build(by_rows):
    backbone = keras.Sequential(
        [
            keras.layers.Conv2D(32, 5, 2, activation="relu"),
            keras.layers.Conv2D(64, 3, 2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dense(DIM),
        ]
    )
    left, right = keras.Input((SIDE, SIDE, 3)), keras.Input((SIDE, SIDE, 3))
    return keras.Model([left, right], VICReg(by_rows)(backbone(left), backbone(right)))


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    images = rng.random((BATCH * 10, SIDE, SIDE, 3), "float32")
    other = np.clip(images + 0.1 * rng.standard_normal(images.shape), 0, 1).astype("float32")
    model = build(by_rows=clock.fixed)
    model.compile(keras.optimizers.SGD(0.01))
    ds = tf.data.Dataset.from_tensor_slices(((images, other),)).batch(BATCH).cache().prefetch(tf.data.AUTOTUNE)
    model.fit(ds, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
