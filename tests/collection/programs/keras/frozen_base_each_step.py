import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a frozen base computes the same features of the same pictures in each step",
    "cause": "the same result computed in every epoch",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["base", "Conv2D", "frozen", "Relu", "convolution"],
    "part": "develop",
}


def frozen_base():
    layers = tf.keras.layers
    base = tf.keras.Sequential(
        [
            tf.keras.Input((48, 48, 3)),
            layers.Conv2D(24, 3, activation="relu"),  # planted
            layers.Conv2D(24, 3, strides=2, activation="relu"),  # planted
            layers.Conv2D(48, 3, activation="relu"),  # planted
            layers.GlobalAveragePooling2D(),
        ],
        name="base",
    )
    base.trainable = False
    return base


def head():
    layers = tf.keras.layers
    return [layers.Dense(1024, activation="relu"), layers.Dropout(0.2), layers.Dense(1024, activation="relu"), layers.Dense(5, activation="softmax")]


def main(clock):
    clock.plan(3, 6)
    random = np.random.default_rng(0)
    x, y = random.random((256, 48, 48, 3), np.float32), random.integers(0, 5, 256)
    base = frozen_base()
    if clock.fixed:
        x = base.predict(x, verbose=0)
        model = tf.keras.Sequential(head())
    else:
        inputs = tf.keras.Input((48, 48, 3))
        outputs = base(inputs, training=False)  # planted
        for layer in head():
            outputs = layer(outputs)
        model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=16, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
