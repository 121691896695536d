import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback writes all weights as JSON after every batch",
    "cause": "a slow callback",
    "accept": ["python-bound", "slow-callback", "print-every-step"],
    "rules": ["slow-callback"],
    "words": ["WeightLog", "on_train_batch_end", "json", "dump", "callback"],
    "part": "develop",
}


class WeightLog(tf.keras.callbacks.Callback):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def on_train_batch_end(self, batch, logs=None):
        with open(self.path, "w") as file:
            json.dump([w.tolist() for w in self.model.get_weights()], file)  # planted


def main(clock):
    clock.plan(3, 5)
    x = np.random.rand(640, 784).astype("float32")
    y = np.random.randint(0, 10, 640)
    model = tf.keras.models.Sequential(
        [tf.keras.layers.Dense(24, activation="relu", input_shape=(784,)), tf.keras.layers.Dense(10, activation="softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    callbacks = clock.keras()
    if not clock.fixed:
        callbacks.insert(0, WeightLog(clock.folder + "/weights.json"))
    model.fit(x, y, batch_size=64, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
