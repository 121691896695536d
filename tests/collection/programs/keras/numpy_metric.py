import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a metric in numpy through tf.py_function, called for each batch",
    "cause": "Python in the graph",
    "accept": ["host-callbacks", "python-in-graph", "print-every-step"],
    "rules": ["host-callbacks", "python-in-graph", "print-every-step"],
    "words": ["kappa", "PyFunc", "py_function"],
    "part": "develop",
}


def kappa_numpy(truth, guess):
    truth, guess = truth.numpy().astype(int)[:, 0], guess.numpy().argmax(1)
    table = np.zeros((10, 10))
    for a, b in zip(truth, guess):
        table[a, b] += 1  # planted
        table.sum(axis=0)
    return np.float32(np.trace(table) / table.sum())


def kappa(y_true, y_pred):
    value = tf.py_function(kappa_numpy, [y_true, y_pred], tf.float32)  # planted
    value.set_shape([])
    return value


def main(clock):
    clock.plan(3, 5)
    x = np.random.rand(16384, 32).astype("float32")
    y = np.random.randint(0, 10, (16384, 1)).astype("float32")
    model = tf.keras.models.Sequential([tf.keras.layers.Dense(10, activation="softmax", input_shape=(32,))])
    metrics = [] if clock.fixed else [kappa]
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=metrics)
    model.fit(x, y, batch_size=2048, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
