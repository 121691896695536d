"""Age from a face embedding, with rare ages weighted up (label distribution smoothing)."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from scipy.stats import gaussian_kde

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each batch asks scipy's gaussian_kde over all labels for its weights, though the labels and their weights never change",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "python-bound", "input-bound", "python-in-pipeline", "no-cache", "host-input-limit", "missing-prefetch", "input-takes-cores"],
    "rules": ["python-bound", "input-bound", "python-in-pipeline", "no-cache", "host-input-limit", "missing-prefetch", "input-takes-cores"],
    "words": ["gaussian_kde", "rarity", "Faces", "scipy"],
    "part": "develop",
}


def rarity(ages, all_ages):
    density = gaussian_kde(all_ages, bw_method=0.1)(ages)  # planted
    return (1.0 / np.maximum(density, 1e-4)).astype("float32")


class Faces(tf.keras.utils.PyDataset):
    def __init__(self, x, ages, batch_size, weigh_once):
        super().__init__()
        self.x, self.ages, self.batch_size = x, ages, batch_size
        self.weights = rarity(ages, ages) if weigh_once else None

    def __len__(self):
        return len(self.x) // self.batch_size

    def __getitem__(self, i):
        rows = slice(i * self.batch_size, (i + 1) * self.batch_size)
        if self.weights is None:
            weights = rarity(self.ages[rows], self.ages)  # planted
        else:
            weights = self.weights[rows]
        return self.x[rows], self.ages[rows, None].astype("float32"), weights


def mlp():
    inputs = tf.keras.Input((512,))
    x = inputs
    for width in (768, 768, 256):
        x = tf.keras.layers.Dense(width, activation="gelu")(x)
        x = tf.keras.layers.Dropout(0.1)(x)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(1)(x))


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    n, batch_size = 6000, 192
    x, ages = rng.standard_normal((n, 512)).astype("float32"), rng.gamma(6.0, 6.0, n)
    model = mlp()
    model.compile(tf.keras.optimizers.SGD(1e-3), "huber", weighted_metrics=["mae"])
    faces = Faces(x, ages, batch_size, weigh_once=clock.fixed)
    model.fit(faces, epochs=1, verbose=0, shuffle=False, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
