"""Patch transformer for small images, its head with the policy that the GPU guide recommends."""
import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "mixed_float16 on a CPU, which has no fast arithmetic for it",
    "cause": "a number type that the machine is slow at",
    "accept": ["largest-part", "dominant-op", "roofline-gap"],
    "rules": ["dominant-op", "roofline-gap", "largest-part"],
    "words": ["mixed_float16", "float16", "Cast", "set_global_policy"],
    "part": "develop",
}

SIDE, PATCH, WIDTH, HEADS, DEPTH, CLASSES = 32, 4, 96, 4, 2, 10


class Patches(tf.keras.layers.Layer):
    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.project = tf.keras.layers.Conv2D(width, PATCH, PATCH)
        self.position = tf.keras.layers.Embedding((SIDE // PATCH) ** 2, width)

    def call(self, x):
        x = self.project(x)
        x = tf.reshape(x, (-1, (SIDE // PATCH) ** 2, WIDTH))
        return x + self.position(tf.range((SIDE // PATCH) ** 2))


def head(x, precision):
    """Wide, and in half so that it fits the card that it was written for."""
    policy = tf.keras.mixed_precision.Policy(precision)
    x = tf.keras.layers.Dense(2048, activation="relu", dtype=policy)(x)  # planted
    return tf.keras.layers.Dense(CLASSES, dtype=policy)(x)  # planted


def encoder(x, drop=0.1):
    layers = tf.keras.layers
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, dropout=drop)(y, y)
    x = layers.Add()([x, y])
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.Dense(2 * WIDTH, activation="gelu")(y)
    y = layers.Dense(WIDTH)(layers.Dropout(drop)(y))
    return layers.Add()([x, y])


def build(precision):
    image = tf.keras.Input((SIDE, SIDE, 3))
    x = Patches(WIDTH)(image)
    for _ in range(DEPTH):
        x = encoder(x)
    x = tf.keras.layers.GlobalAveragePooling1D()(tf.keras.layers.LayerNormalization(epsilon=1e-6)(x))
    # The softmax stays in float32, as the guide says.
    x = head(x, precision)
    return tf.keras.Model(image, tf.keras.layers.Activation("softmax", dtype="float32")(x))


def main(clock):
    clock.plan(3, 3)
    tf.random.set_seed(int(os.environ.get("SEED", 42)))
    rng = np.random.default_rng(0)
    x = rng.random((32 * 10, SIDE, SIDE, 3)).astype(np.float32)
    y = rng.integers(0, CLASSES, 32 * 10)
    model = build("float32" if clock.fixed else "mixed_float16")
    model.compile(
        optimizer=tf.keras.optimizers.Adam(1e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    data = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(320).batch(32).prefetch(2)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
