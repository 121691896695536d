"""Deep linear probes of genes: is the net losing its rank?"""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback takes the singular values of every kernel after each batch, to log their effective rank",
    "cause": "a diagnosis in each step",
    "accept": ["largest-part", "slow-callback", "python-bound", "idle-device"],
    "rules": ["slow-callback", "python-bound", "idle-device"],
    "words": ["RankLog", "effective_rank", "svd"],
    "part": "develop",
}

GENES, WIDTH, CELLS, BATCH = 400, 256, 1024, 128


def effective_rank(kernel):
    values = np.linalg.svd(kernel, compute_uv=False)  # planted
    share = values / values.sum()
    return float(np.exp(-(share * np.log(share + 1e-12)).sum()))


class RankLog(tf.keras.callbacks.Callback):
    def __init__(self, every):
        super().__init__()
        self.every, self.seen, self.ranks = every, 0, []

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen % self.every == 0:
            kernels = [w.numpy() for w in self.model.trainable_weights if len(w.shape) == 2]
            self.ranks.append([effective_rank(kernel) for kernel in kernels])  # planted


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    cells = rng.poisson(1.0, (CELLS, GENES)).astype("float32")
    kinds = rng.integers(0, 12, CELLS)
    dense = lambda: tf.keras.layers.Dense(WIDTH, activation="gelu")
    model = tf.keras.Sequential([dense(), dense(), dense(), tf.keras.layers.Dense(12)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    # The log goes first, so that the watch sees what it costs.
    callbacks = [RankLog(every=10_000 if clock.fixed else 1), *clock.keras()]
    model.fit(cells, kinds, batch_size=BATCH, epochs=3, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
