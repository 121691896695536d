import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 5)
    random = np.random.default_rng(0)
    x, y = random.integers(0, 4000, (2048, 64)), random.integers(0, 2, 2048)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Embedding(4000, 64),
            layers.Conv1D(128, 5, activation="relu"),
            layers.GlobalMaxPooling1D(),
            layers.Dense(64, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=128, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
