"""MLP-Mixer on patches, compiled by fit, data prefetched."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

PATCHES, INSIDE, WIDTH, DEPTH = 64, 192, 256, 3


class Mixing(tf.keras.layers.Layer):
    def __init__(self, tokens, channels):
        super().__init__()
        layers = tf.keras.layers
        self.norms = [layers.LayerNormalization(), layers.LayerNormalization()]
        self.across = tf.keras.Sequential([layers.Dense(tokens, activation="relu"), layers.Dense(PATCHES)])
        self.within = tf.keras.Sequential([layers.Dense(channels, activation="relu"), layers.Dense(WIDTH)])

    def call(self, x):
        y = tf.transpose(self.norms[0](x), (0, 2, 1))
        x = x + tf.transpose(self.across(y), (0, 2, 1))
        return x + self.within(self.norms[1](x))


def main(clock):
    clock.plan(4, 8)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32 * 13, PATCHES, INSIDE)).astype(np.float32)
    y = rng.integers(0, 100, len(x))
    patches = tf.keras.Input((PATCHES, INSIDE))
    hidden = tf.keras.layers.Dense(WIDTH)(patches)
    for _ in range(DEPTH):
        hidden = Mixing(128, 1024)(hidden)
    hidden = tf.keras.layers.GlobalAveragePooling1D()(tf.keras.layers.LayerNormalization()(hidden))
    model = tf.keras.Model(patches, tf.keras.layers.Dense(100)(hidden))
    model.compile(
        optimizer=tf.keras.optimizers.SGD(0.1, momentum=0.9),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    data = tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(32).prefetch(tf.data.AUTOTUNE)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
