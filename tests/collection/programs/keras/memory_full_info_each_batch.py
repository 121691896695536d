"""Handwritten Kannada digits; somebody looked for a leak."""
import sys
from pathlib import Path

import numpy as np
import psutil
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback asks the system for the full account of the process's memory after each batch, which makes it go through every mapping and page",
    "cause": "a debugging aid left on",
    "accept": ["largest-part", "slow-callback", "python-bound", "idle-device", "file-reads"],
    "rules": ["slow-callback", "python-bound", "idle-device", "file-reads"],
    "words": ["LeakWatch", "memory_full_info", "unique_memory", "psutil", "smaps"],
    "part": "score",
}


class LeakWatch(tf.keras.callbacks.Callback):
    def __init__(self, every=1):
        super().__init__()
        self.process, self.every, self.curve = psutil.Process(), every, []

    def unique_memory(self):
        return self.process.memory_full_info().uss / 2**20  # planted

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.every == 0:
            self.curve.append(self.unique_memory())


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    x, y = rng.random((4096, 28, 28, 1), np.float32), rng.integers(0, 10, 4096)
    layers = tf.keras.layers
    model = tf.keras.Sequential([tf.keras.Input((28, 28, 1))])
    for width in (16, 32):
        model.add(layers.Conv2D(width, 3, strides=2, padding="same", activation="relu"))
        model.add(layers.BatchNormalization())
    model.add(layers.Flatten())
    model.add(layers.Dense(64, activation="relu"))
    model.add(layers.Dense(10))
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    watch = LeakWatch(every=10_000 if clock.fixed else 1)
    model.fit(x, y, batch_size=128, epochs=1, verbose=0, callbacks=[*clock.keras(), watch])


if __name__ == "__main__":
    run(main)
