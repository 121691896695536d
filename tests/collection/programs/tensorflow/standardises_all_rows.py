"""Cell types from single-cell gene counts."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the batch comes out of counts that are standardised as a whole for each batch: logarithm, mean and deviation of all cells",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "python-bound", "input-bound"],
    "rules": ["python-bound", "input-bound"],
    "words": ["standardised", "log1p", "_std", "numpy.mean", "next_batch"],
    "part": "develop",
}

CELLS, GENES, TYPES, BATCH = 3000, 800, 14, 256


class Cells:
    def __init__(self, counts, types, once):
        self.counts, self.types = counts, types
        self.once = self.standardised() if once else None
        self.rng = np.random.default_rng(7)

    def standardised(self):
        x = np.log1p(self.counts)  # planted
        return (x - x.mean(0)) / (x.std(0) + 1e-6)  # planted

    def next_batch(self, size):
        rows = self.rng.choice(CELLS, size)
        x = self.standardised() if self.once is None else self.once  # planted
        return x[rows], self.types[rows]


def build_classifier():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(1024, activation="selu"),
            tf.keras.layers.Dropout(0.3),
            tf.keras.layers.Dense(512, activation="selu"),
            tf.keras.layers.Dense(TYPES),
        ]
    )


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.7, (CELLS, GENES)).astype(np.float32)
    cells = Cells(counts, rng.integers(0, TYPES, CELLS), once=clock.fixed)
    model, optimizer = build_classifier(), tf.keras.optimizers.SGD(0.05)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_on(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    total = 0.0
    for step in clock.loop():
        with clock.mark(step):
            x, y = cells.next_batch(BATCH)
            loss = train_on(tf.constant(x), tf.constant(y))
            total += float(loss)


if __name__ == "__main__":
    run(main)
