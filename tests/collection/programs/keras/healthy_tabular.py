import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 6)
    rng = np.random.default_rng(0)
    layers = tf.keras.layers
    numbers = rng.normal(3, 2, (8192, 40)).astype(np.float32)
    codes = rng.integers(0, 300, (8192, 4))
    y = rng.integers(0, 2, 8192).astype(np.float32)
    scale = layers.Normalization()
    scale.adapt(numbers)
    number_input, code_input = tf.keras.Input((40,)), tf.keras.Input((4,), dtype="int32")
    embedded = layers.Flatten()(layers.Embedding(300, 12)(code_input))
    hidden = layers.Concatenate()([scale(number_input), embedded])
    for width in (1024, 1024, 256):
        hidden = layers.Dropout(0.1)(layers.Dense(width, activation="relu")(hidden))
    model = tf.keras.Model([number_input, code_input], layers.Dense(1, activation="sigmoid")(hidden))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit([numbers, codes], y, batch_size=512, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
