import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback writes the whole history to a JSON file after every batch",
    "cause": "logging in a callback",
    "accept": ["python-bound", "slow-callback", "print-every-step"],
    "rules": ["python-bound", "slow-callback", "print-every-step"],
    "words": ["HistoryFile", "dump", "dumps", "on_train_batch_end", "callback"],
    "part": "develop",
}


class HistoryFile(tf.keras.callbacks.Callback):
    def __init__(self, path):
        super().__init__()
        self.path = path
        self.rows = [{"batch": at, "loss": 1.0 / (at + 1)} for at in range(5000)]

    def on_train_batch_end(self, batch, logs=None):
        self.rows.append({"batch": batch, **{key: float(one) for key, one in logs.items()}})
        with open(self.path, "w") as out:
            json.dump(self.rows, out, indent=1)  # planted


def main(clock):
    clock.plan(3, 5)
    x = np.random.rand(640, 64).astype("float32")
    y = np.random.randint(0, 10, 640)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Dense(128, activation="relu", input_shape=(64,)),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    path = clock.folder + "/history.json"
    callbacks = clock.keras() + ([] if clock.fixed else [HistoryFile(path)])
    model.fit(x, y, batch_size=32, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
