"""Digits by capsules with dynamic routing (Sabour et al. 2017)."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the inputs are tiled for each digit capsule and multiplied by its matrices as small products with a column, where one einsum does",
    "cause": "a huge intermediate",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["predictions_tiled", "Tile"],
    "part": "develop",
}

CAPSULES, DIM_IN, DIGITS, DIM_OUT, BATCH, ROUNDS = 288, 8, 10, 16, 8, 2
L = tf.keras.layers


def squash(x, axis=-1):
    squared = tf.reduce_sum(x**2, axis, keepdims=True)
    return squared / (1.0 + squared) * x * tf.math.rsqrt(squared + 1e-7)


class DigitCapsules(L.Layer):
    def __init__(self, with_einsum, **kwargs):
        super().__init__(**kwargs)
        self.with_einsum = with_einsum

    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(CAPSULES, DIGITS, DIM_OUT, DIM_IN), initializer=tf.keras.initializers.RandomNormal(stddev=0.1))

    def predictions_tiled(self, u):
        u = tf.tile(u[:, :, None, :, None], [1, 1, DIGITS, 1, 1])  # planted
        w = tf.tile(self.w[None], [tf.shape(u)[0], 1, 1, 1, 1])  # planted
        return tf.squeeze(tf.matmul(w, u), -1)  # planted

    def call(self, u):
        if self.with_einsum:
            predictions = tf.einsum("bci,cdoi->bcdo", u, self.w)
        else:
            predictions = self.predictions_tiled(u)
        agreement = tf.zeros([tf.shape(u)[0], CAPSULES, DIGITS])
        frozen = tf.stop_gradient(predictions)
        for i in range(ROUNDS):
            coupling = tf.nn.softmax(agreement)
            last = i == ROUNDS - 1
            v = squash(tf.einsum("bcd,bcdo->bdo", coupling, predictions if last else frozen))
            if not last:
                agreement += tf.einsum("bcdo,bdo->bcd", frozen, v)
        return v


def margin_loss(y, v):
    length = tf.norm(v + 1e-7, axis=-1)
    present, absent = tf.maximum(0.0, 0.9 - length) ** 2, tf.maximum(0.0, length - 0.1) ** 2
    return tf.reduce_sum(y * present + 0.5 * (1 - y) * absent, -1)


def capsule_net(with_einsum):
    inputs = tf.keras.Input((28, 28, 1))
    x = L.Conv2D(48, 9, 2, activation="relu")(inputs)
    x = L.Conv2D(64, 5, padding="valid")(x)
    x = L.Reshape((-1, DIM_IN))(x)
    x = L.Lambda(lambda x: squash(x[:, :CAPSULES]), output_shape=(CAPSULES, DIM_IN))(x)
    return tf.keras.Model(inputs, DigitCapsules(with_einsum)(x))


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    x = rng.random((BATCH * 8, 28, 28, 1), dtype="float32")
    y = np.eye(DIGITS, dtype="float32")[rng.integers(0, DIGITS, len(x))]
    model = capsule_net(with_einsum=clock.fixed)
    model.compile("adam", margin_loss)
    model.fit(x, y, batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
