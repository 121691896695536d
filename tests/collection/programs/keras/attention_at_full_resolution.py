"""Denoising diffusion of small pictures: a U-Net with attention, after the Keras example."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "has_attention is True at the highest resolution too, where each of 1024 pixels attends to all; the paper attends at the lowest only",
    "cause": "one op dominates",
    "accept": ["largest-part", "dominant-op", "separate-attention"],
    "rules": ["dominant-op", "separate-attention"],
    "words": ["AttentionBlock", "Softmax", "BatchMatMulV2", "attend"],
    "part": "develop",
}

SIDE, BATCH, WIDTHS, STEPS = 32, 2, (24, 48), 200
L = tf.keras.layers


class AttentionBlock(L.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.query, self.key, self.value, self.out = (L.Dense(units) for _ in range(4))
        self.norm = L.LayerNormalization()

    def attend(self, q, k, v):
        scores = tf.matmul(q, k, transpose_b=True) * q.shape[-1] ** -0.5  # planted
        return tf.matmul(tf.nn.softmax(scores, -1), v)  # planted

    def call(self, x):
        shape = tf.shape(x)
        flat = tf.reshape(self.norm(x), [shape[0], -1, x.shape[-1]])
        mixed = self.attend(self.query(flat), self.key(flat), self.value(flat))
        return x + tf.reshape(self.out(mixed), shape)


class ResidualBlock(L.Layer):
    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second = L.Conv2D(width, 3, padding="same"), L.Conv2D(width, 3, padding="same")
        self.time, self.skip = L.Dense(width), L.Conv2D(width, 1)

    def call(self, inputs):
        x, t = inputs
        h = self.first(tf.nn.swish(x)) + self.time(tf.nn.swish(t))[:, None, None]
        return self.skip(x) + self.second(tf.nn.swish(h))


class Embedding(L.Layer):
    def call(self, t):
        angles = tf.cast(t, tf.float32)[:, None] * tf.exp(-tf.linspace(0.0, 9.0, 16))
        return tf.concat([tf.sin(angles), tf.cos(angles)], -1)


def unet(has_attention):
    image, time = tf.keras.Input((SIDE, SIDE, 3)), tf.keras.Input((), dtype="int32")
    t = L.Dense(64, "swish")(Embedding()(time))
    x, kept = L.Conv2D(WIDTHS[0], 3, padding="same")(image), []
    for width, attends in zip(WIDTHS, has_attention):
        x = ResidualBlock(width)([x, t])
        if attends:
            x = AttentionBlock(width)(x)
        kept.append(x)
        x = L.AveragePooling2D(2)(x)
    for width in reversed(WIDTHS):
        x = L.Concatenate()([L.UpSampling2D()(x), kept.pop()])
        x = ResidualBlock(width)([x, t])
    return tf.keras.Model([image, time], L.Conv2D(3, 3, padding="same")(x))


def main(clock):
    clock.plan(3, 2)
    rng = np.random.default_rng(0)
    images = rng.standard_normal((BATCH * 8, SIDE, SIDE, 3)).astype("float32")
    times, noise = rng.integers(0, STEPS, len(images)), rng.standard_normal(images.shape).astype("float32")
    model = unet(has_attention=(not clock.fixed, True))
    model.compile(tf.keras.optimizers.Adam(2e-4), "mse")
    model.fit([images, times], noise, batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
