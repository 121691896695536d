"""Face verification with a shared encoder and a contrastive loss."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SIDE, BATCH = 64, 24


def contrastive(same, distance, margin=1.0):
    same = tf.cast(same, distance.dtype)
    apart = tf.maximum(margin - distance, 0.0)
    return tf.reduce_mean(same * distance**2 + (1.0 - same) * apart**2)


class Distance(tf.keras.layers.Layer):
    def call(self, pair):
        a, b = pair
        return tf.sqrt(tf.reduce_sum((a - b) ** 2, 1, keepdims=True) + 1e-9)


def encoder():
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(32, 5, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(128, 3, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(128),
        ]
    )


def main(clock):
    clock.plan(4, 8)
    rng = np.random.default_rng(0)
    left, right = (rng.random((BATCH * 13, SIDE, SIDE, 1)).astype(np.float32) for _ in range(2))
    same = rng.integers(0, 2, (BATCH * 13, 1)).astype(np.float32)
    shared = encoder()
    a, b = tf.keras.Input((SIDE, SIDE, 1)), tf.keras.Input((SIDE, SIDE, 1))
    model = tf.keras.Model([a, b], Distance()([shared(a), shared(b)]))
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss=contrastive)
    data = tf.data.Dataset.from_tensor_slices(((left, right), same)).cache().shuffle(BATCH * 13)
    data = data.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
