"""Heart disease from tables: the example for structured data, with many more columns."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each of 36 numeric columns is an input with a normalisation and a dense layer of its own, where one matrix holds them all",
    "cause": "many tiny ops",
    "accept": ["largest-part", "tiny-kernels", "launch-bound", "unfused-ops", "dominant-op", "no-xla", "optimizer-per-variable", "python-bound", "slow-launches", "host-copies"],
    "rules": ["tiny-kernels", "launch-bound", "unfused-ops", "dominant-op", "no-xla", "optimizer-per-variable", "python-bound", "slow-launches", "host-copies"],
    "words": ["encode_column", "normalization", "column_"],
    "part": "develop",
}

COLUMNS, ROWS, BATCH, UNITS = 36, 1600, 32, 4
L = tf.keras.layers


def encode_column(column, name, table):
    normalize = L.Normalization(axis=None, name=f"normalization_{name}", mean=float(table.mean()), variance=float(table.var()))
    return L.Dense(UNITS, "relu", name=f"dense_{name}")(normalize(column))  # planted


def by_column(table):
    inputs = [tf.keras.Input((1,), name=f"column_{i}") for i in range(COLUMNS)]
    encoded = [encode_column(one, f"column_{i}", table[:, i]) for i, one in enumerate(inputs)]  # planted
    return inputs, L.Concatenate()(encoded)


def as_matrix(table):
    inputs = tf.keras.Input((COLUMNS,))
    normalize = L.Normalization(mean=table.mean(0), variance=table.var(0))
    return inputs, L.Dense(COLUMNS * UNITS, "relu")(normalize(inputs))


def main(clock):
    clock.plan(3, 2)
    rng = np.random.default_rng(0)
    table = rng.standard_normal((ROWS, COLUMNS)).astype("float32")
    ill = (table[:, :3].sum(1) > 0).astype("float32")
    inputs, x = (as_matrix if clock.fixed else by_column)(table)
    x = L.Dropout(0.5)(L.Dense(256, "relu")(x))
    x = L.Dense(128, "relu")(x)
    model = tf.keras.Model(inputs, L.Dense(1, "sigmoid")(x))
    model.compile("adam", "binary_crossentropy")
    given = table if clock.fixed else [table[:, i : i + 1] for i in range(COLUMNS)]
    model.fit(given, ill, batch_size=BATCH, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
