"""Plant diseases from leaves: a small ConvMixer on cached, prefetched batches."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SIDE, BATCH, WIDTH, DEPTH, DISEASES = 64, 8, 64, 2, 14
L = tf.keras.layers


def conv_mixer():
    image = tf.keras.Input((SIDE, SIDE, 3))
    x = L.BatchNormalization()(L.Conv2D(WIDTH, 4, 4, activation="gelu")(image))
    for _ in range(DEPTH):
        y = L.BatchNormalization()(L.DepthwiseConv2D(5, padding="same", activation="gelu")(x))
        x = L.BatchNormalization()(L.Conv2D(WIDTH, 1, activation="gelu")(L.Add()([x, y])))
    return tf.keras.Model(image, L.Dense(DISEASES)(L.GlobalAveragePooling2D()(x)))


def main(clock):
    clock.plan(4, 3)
    rng = np.random.default_rng(0)
    leaves = rng.integers(0, 255, (128, SIDE, SIDE, 3), dtype="uint8")
    diseases = rng.integers(0, DISEASES, len(leaves))
    data = tf.data.Dataset.from_tensor_slices((leaves, diseases)).shuffle(128).batch(BATCH)
    data = data.map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y), tf.data.AUTOTUNE).repeat().prefetch(tf.data.AUTOTUNE)
    model = conv_mixer()
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(data, steps_per_epoch=40, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
