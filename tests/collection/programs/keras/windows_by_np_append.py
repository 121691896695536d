"""Remaining life of turbofan engines: windows of sensor readings, an LSTM."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the Sequence grows its batch by np.append, window by window, which copies all windows before it each time",
    "cause": "copies on the host",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "host-copies"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "host-copies"],
    "words": ["np.append", "numpy.append", "append", "join_windows", "concatenate"],
    "part": "develop",
}

SENSORS, WINDOW, BATCH, CYCLES = 24, 30, 72, 5000


def join_windows(table, starts, as_array):
    if as_array:
        return table[starts[:, None] + np.arange(WINDOW)].astype("float32")
    x = np.empty((0, WINDOW, SENSORS))
    for start in starts:
        x = np.append(x, table[None, start : start + WINDOW], axis=0)  # planted
    return x.astype("float32")


class Engines(tf.keras.utils.Sequence):
    def __init__(self, table, left, as_array, **kwargs):
        super().__init__(**kwargs)
        self.table, self.left, self.as_array = table, left, as_array
        self.starts = np.random.default_rng(1).integers(0, CYCLES - WINDOW, 7 * BATCH)

    def __len__(self):
        return len(self.starts) // BATCH

    def __getitem__(self, index):
        starts = self.starts[index * BATCH : (index + 1) * BATCH]
        return join_windows(self.table, starts, self.as_array), self.left[starts + WINDOW]


def main(clock):
    clock.plan(3, 4)
    table = np.random.default_rng(0).standard_normal((CYCLES, SENSORS))
    left = np.arange(CYCLES, 0, -1).astype("float32") % 200
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Conv1D(32, 5, 2, activation="relu"), layers.Conv1D(32, 5, 2, activation="relu"), layers.Flatten(), layers.Dense(64, "relu"), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(Engines(table, left, as_array=clock.fixed), epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
