"""Folds of short peptides, letter by letter; batches are as long as their longest."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each batch is cut to its own longest peptide, a new length almost every time, and the model is compiled by XLA, which compiles again for each length",
    "cause": "recompilation",
    "accept": ["largest-part", "recompilation", "retracing", "uneven-steps", "slow-steps"],
    "rules": ["recompilation", "retracing", "uneven-steps", "slow-steps"],
    "words": ["cut_to_longest", "Peptides", "XlaCompile", "XlaLaunch", "jit_compile", "RunBackend"],
    "part": "score",
}

LETTERS, LONGEST, FOLDS, BATCH = 21, 64, 3, 32


def cut_to_longest(letters, folds, lengths, fixed):
    longest = LONGEST if fixed else int(lengths.max())
    return letters[:, :longest], folds[:, :longest]  # planted


def batches(rng, fixed):
    order = list(range(24, LONGEST))
    rng.shuffle(order)
    for longest in order:
        lengths = rng.integers(8, longest + 1, BATCH)
        lengths[0] = longest
        letters = rng.integers(1, LETTERS, (BATCH, LONGEST), "int32")
        letters *= np.arange(LONGEST) < lengths[:, None]
        folds = rng.integers(0, FOLDS, (BATCH, LONGEST), "int32")
        yield cut_to_longest(letters, folds, lengths, fixed)  # planted


def main(clock):
    clock.plan(3, 3)
    rng = np.random.default_rng(0)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Embedding(LETTERS, 32), layers.Dense(64, activation="relu"), layers.Dense(FOLDS)]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.SGD(0.1), loss, jit_compile=True)
    signature = (tf.TensorSpec([BATCH, None], tf.int32), tf.TensorSpec([BATCH, None], tf.int32))
    data = tf.data.Dataset.from_generator(lambda: batches(rng, clock.fixed), output_signature=signature).prefetch(1)
    model.fit(data, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
