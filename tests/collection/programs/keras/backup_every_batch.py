"""Predicted yields of reactions: a dense net, safe against preemption."""
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "BackupAndRestore has save_freq=1: model and optimizer are written after each batch",
    "cause": "checkpoints too often",
    "accept": ["largest-part", "python-bound", "checkpoint-every-step", "checkpoints", "slow-steps"],
    "rules": ["python-bound", "checkpoint-every-step", "checkpoints", "slow-steps"],
    "words": ["BackupAndRestore", "_save_model", "save_weights", "h5py", "SaveV2", "backup_and_restore"],
    "part": "develop",
}

BITS, BATCH = 2048, 128


def fingerprints(n):
    rng = np.random.default_rng(0)
    return (rng.random((n, 2 * BITS)) < 0.05).astype("float32"), rng.random((n, 1)).astype("float32")


def yield_net(width=192):
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((2 * BITS,))])
    for _ in range(2):
        model.add(layers.Dense(width, activation="relu"))
        model.add(layers.Dropout(0.2))
    model.add(layers.Dense(1, activation="sigmoid"))
    model.compile(tf.keras.optimizers.Adam(1e-3), "mse")
    return model


def make_callbacks(folder, every):
    return [tf.keras.callbacks.BackupAndRestore(folder, save_freq=every)]  # planted


def main(clock):
    clock.plan(3, 4)
    folder = os.path.join(clock.folder, "backup")
    shutil.rmtree(folder, ignore_errors=True)
    x, y = fingerprints(BATCH * 12)
    model = yield_net()
    every = "epoch" if clock.fixed else 1  # planted
    model.fit(x, y, batch_size=BATCH, epochs=1, verbose=0, callbacks=[*make_callbacks(folder, every), *clock.keras()])


if __name__ == "__main__":
    run(main)
