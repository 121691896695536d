import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a large feature map is flattened into a wide dense layer: 13 million weights",
    "cause": "one op dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["MatMul", "ResourceApplyAdam", "classifier_head"],
    "family": "MatMul",
    "part": "develop",
}


def classifier_head(layers, is_fixed):
    if is_fixed:
        return [layers.GlobalAveragePooling2D(), layers.Dense(10, activation="softmax")]
    return [
        layers.Flatten(),
        layers.Dense(512, activation="relu"),  # planted
        layers.Dense(10, activation="softmax"),
    ]


def main(clock):
    clock.plan(3, 5)
    random = np.random.default_rng(0)
    x, y = random.random((512, 32, 32, 3), np.float32), random.integers(0, 10, 512)
    layers = tf.keras.layers
    body = [layers.Conv2D(16, 3, padding="same", activation="relu"), layers.Conv2D(25, 3, padding="same", activation="relu")]
    model = tf.keras.Sequential(body + classifier_head(layers, clock.fixed))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=32, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
