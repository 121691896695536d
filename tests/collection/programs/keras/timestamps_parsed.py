"""Load of a power grid from weather and calendar, an hour ahead."""
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "calendar features are made of text: strptime parses the time stamp of every hour of every window of the batch",
    "cause": "Python work in the input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "no-cache"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "missing-prefetch", "no-cache"],
    "words": ["strptime", "_strptime", "calendar_features", "GridLoad", "__getitem__"],
    "part": "develop",
}

WINDOW, BATCH, COLUMNS = 48, 32, 6


def calendar_features(stamps):
    rows = []
    for stamp in stamps:
        t = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S")  # planted
        hour, day = 2 * np.pi * t.hour / 24, 2 * np.pi * t.timetuple().tm_yday / 365
        rows.append((np.sin(hour), np.cos(hour), np.sin(day), np.cos(day), t.weekday() >= 5))
    return np.array(rows, "float32")


class GridLoad(tf.keras.utils.Sequence):
    def __init__(self, stamps, table, parse_once, **kwargs):
        super().__init__(**kwargs)
        self.stamps, self.table = stamps, table
        self.calendar = calendar_features(stamps) if parse_once else None
        self.starts = np.random.default_rng(1).permutation(len(stamps) - WINDOW - 1)[: 8 * BATCH]

    def __len__(self):
        return len(self.starts) // BATCH

    def make_window(self, start):
        rows = slice(start, start + WINDOW)
        if self.calendar is not None:
            calendar = self.calendar[rows]
        else:
            calendar = calendar_features(self.stamps[rows])  # planted
        return np.concatenate([self.table[rows], calendar], 1)

    def __getitem__(self, index):
        starts = self.starts[index * BATCH : (index + 1) * BATCH]
        return np.stack([self.make_window(s) for s in starts]), self.table[starts + WINDOW, 0]


def main(clock):
    clock.plan(3, 4)
    begin = datetime(2021, 1, 1)
    stamps = [str(begin + timedelta(hours=h)) for h in range(6000)]
    table = np.random.default_rng(0).standard_normal((len(stamps), COLUMNS)).astype("float32")
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Conv1D(64, 5, activation="relu"), layers.Conv1D(96, 5, 2, activation="relu"), layers.GlobalAveragePooling1D(), layers.Dense(64, activation="relu"), layers.Dense(1)])
    model.compile("adam", "mae")
    data = GridLoad(stamps, table, parse_once=clock.fixed)
    model.fit(data, epochs=1, shuffle=False, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
