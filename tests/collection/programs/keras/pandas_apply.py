import sys
from pathlib import Path

import numpy as np
import pandas as pd
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a data set makes the features of each batch with DataFrame.apply, row by row",
    "cause": "row by row work of a library in the loader",
    "accept": ["python-bound", "input-bound", "python-in-pipeline", "missing-prefetch"],
    "rules": ["python-bound", "input-bound", "python-in-pipeline", "missing-prefetch"],
    "words": ["row_features", "apply", "pandas", "Trips", "__getitem__", "PyDataset"],
    "part": "develop",
}


def row_features(row):
    distance = np.hypot(row["x1"] - row["x0"], row["y1"] - row["y0"])  # planted
    return pd.Series({"distance": distance, "sin": np.sin(row["hour"] / 3.82), "cos": np.cos(row["hour"] / 3.82), "people": row["people"]})  # planted


def table_features(rows):
    distance = np.hypot(rows["x1"] - rows["x0"], rows["y1"] - rows["y0"])
    return pd.DataFrame({"distance": distance, "sin": np.sin(rows["hour"] / 3.82), "cos": np.cos(rows["hour"] / 3.82), "people": rows["people"]})


class Trips(tf.keras.utils.PyDataset):
    def __init__(self, table, size, by_row):
        super().__init__()
        self.table, self.size, self.by_row = table, size, by_row

    def __len__(self):
        return len(self.table) // self.size

    def __getitem__(self, i):
        rows = self.table.iloc[i * self.size : (i + 1) * self.size]
        made = rows.apply(row_features, axis=1) if self.by_row else table_features(rows)  # planted
        return made.to_numpy(np.float32), rows["fare"].to_numpy(np.float32)


def main(clock):
    clock.plan(3, 5)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((128 * clock.last, 7)), columns=["x0", "y0", "x1", "y1", "hour", "people", "fare"])
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(1024, activation="relu"), layers.Dense(1024, activation="relu"), layers.Dense(1024, activation="relu"), layers.Dense(1)])
    model.compile("adam", "mae")
    model.fit(Trips(table, 128, by_row=not clock.fixed), epochs=1, verbose=0, callbacks=clock.keras(), shuffle=False)


if __name__ == "__main__":
    run(main)
