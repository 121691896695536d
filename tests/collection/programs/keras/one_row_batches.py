import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "train_on_batch with one sample at a time",
    "cause": "small batches",
    "accept": ["small-batch", "python-bound", "eager-execution"],
    "rules": ["small-batch", "python-bound"],
    "words": ["train_on_batch", "batch"],
    "part": "develop", "repeats": 32,
}


def main(clock):
    clock.plan(3, 6)
    x = np.random.rand(32, 64).astype("float32")
    y = np.random.rand(32, 1).astype("float32")
    model = tf.keras.models.Sequential(
        [tf.keras.layers.Dense(32, activation="relu", input_shape=(64,)), tf.keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    size = 32 if clock.fixed else 1
    for step in clock.loop():
        with clock.mark(step):
            for at in range(0, 32, size):
                model.train_on_batch(x[at : at + size], y[at : at + size])  # planted


if __name__ == "__main__":
    run(main)
