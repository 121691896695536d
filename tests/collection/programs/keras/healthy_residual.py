import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def residual(x, width, stride):
    layers = tf.keras.layers
    short = x if stride == 1 else layers.Conv2D(width, 1, stride)(x)
    x = layers.Conv2D(width, 3, stride, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", use_bias=False)(x))
    return layers.ReLU()(layers.Add()([x, short]))


def main(clock):
    clock.plan(3, 5)
    random = np.random.default_rng(0)
    x, y = random.random((512, 32, 32, 3), np.float32), random.integers(0, 10, 512)
    layers = tf.keras.layers
    inputs = tf.keras.Input((32, 32, 3))
    h = layers.Conv2D(16, 3, padding="same")(inputs)
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        h = residual(h, width, stride)
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(h))
    model = tf.keras.Model(inputs, outputs)
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=32, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
