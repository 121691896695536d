"""Breakdowns of machines are rare: batches balanced by synthetic minority samples."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the sampler searches the nearest neighbours among all rare rows for each batch by differences of all pairs; rows do not change, so the table of neighbours could be made once",
    "cause": "work done again",
    "accept": ["largest-part", "input-bound", "python-bound"],
    "rules": ["input-bound", "python-bound"],
    "words": ["Smote", "neighbours", "synthetic", "argpartition"],
    "part": "score",
}

SENSORS, RARE, COMMON, BATCH, NEAR = 26, 350, 9000, 512, 5


class Smote:
    def __init__(self, rare, rng, once):
        self.rare, self.rng = rare, rng
        self.table = self.neighbours() if once else None

    def neighbours(self):
        d = ((self.rare[:, None] - self.rare[None]) ** 2).sum(-1)  # planted
        np.fill_diagonal(d, np.inf)
        return np.argpartition(d, NEAR, axis=1)[:, :NEAR]

    def synthetic(self, n):
        near = self.neighbours() if self.table is None else self.table  # planted
        at = self.rng.integers(0, len(self.rare), n)
        other = near[at, self.rng.integers(0, NEAR, n)]
        share = self.rng.random((n, 1), np.float32)
        return self.rare[at] + share * (self.rare[other] - self.rare[at])


def balanced(common, smote, rng):
    half = BATCH // 2
    x = np.concatenate([common[rng.integers(0, len(common), half)], smote.synthetic(half)])
    return x, np.repeat(np.array([0.0, 1.0], np.float32), half)[:, None]


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    common = rng.normal(size=(COMMON, SENSORS)).astype(np.float32)
    smote = Smote(rng.normal(1, 1, (RARE, SENSORS)).astype(np.float32), rng, once=clock.fixed)
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((SENSORS,))])
    for width in (256, 256, 128):
        model.add(layers.Dense(width))
        model.add(layers.BatchNormalization())
        model.add(layers.Activation("relu"))
    model.add(layers.Dense(1, activation="sigmoid"))
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    for step in clock.loop():
        with clock.mark(step):
            x, y = balanced(common, smote, rng)
            model.train_on_batch(x, y)


if __name__ == "__main__":
    run(main)
