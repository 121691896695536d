import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback keeps a copy of all weights and their norms after every batch",
    "cause": "a slow callback",
    "accept": ["python-bound", "slow-callback"],
    "rules": ["python-bound", "slow-callback"],
    "words": ["KeepBest", "get_weights", "on_train_batch_end", "callback"],
    "part": "develop",
}


class KeepBest(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.best = [np.array(one) for one in self.model.get_weights()]  # planted
        self.norms = [float(np.linalg.norm(one)) for one in self.best]  # planted


def main(clock):
    clock.plan(3, 5)
    x = np.random.rand(40, 256).astype("float32")
    y = np.random.randint(0, 10, 40)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Dense(2048, activation="relu", input_shape=(256,)),
            tf.keras.layers.Dense(2048, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    callbacks = clock.keras() + ([] if clock.fixed else [KeepBest()])
    model.fit(x, y, batch_size=2, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
