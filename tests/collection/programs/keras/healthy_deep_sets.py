"""Jets by their particles: deep sets."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
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

PARTICLES, FEATURES, CLASSES, BATCH = 64, 8, 5, 96


def deep_sets():
    particles = tf.keras.Input((PARTICLES, FEATURES))
    x = particles
    for width in (160, 160, 224):
        x = layers.Dense(width, activation="relu")(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dense(256, activation="relu")(x)
    return tf.keras.Model(particles, layers.Dense(CLASSES)(x))


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    jets = rng.standard_normal((BATCH * 9, PARTICLES, FEATURES)).astype("float32")
    kinds = rng.integers(0, CLASSES, len(jets))
    ds = tf.data.Dataset.from_tensor_slices((jets, kinds)).batch(BATCH, drop_remainder=True).cache()
    model = deep_sets()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.SGD(0.01), loss, metrics=["accuracy"])
    model.fit(ds.prefetch(tf.data.AUTOTUNE), epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
