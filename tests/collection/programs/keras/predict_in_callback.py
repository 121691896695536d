import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback runs predict on a probe after every batch",
    "cause": "a slow callback",
    "accept": ["python-bound", "slow-callback", "print-every-step", "restarted-pipeline"],
    "rules": ["python-bound", "slow-callback", "print-every-step", "restarted-pipeline"],
    "words": ["on_train_batch_end", "Probe", "predict", "callback"],
    "part": "develop",
}


class Probe(tf.keras.callbacks.Callback):
    def __init__(self, x):
        super().__init__()
        self.x = x
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(self.model.predict(self.x, verbose=0).mean())  # planted


def main(clock):
    clock.plan(3, 5)
    x = np.random.rand(512, 64).astype("float32")
    y = np.random.randint(0, 10, 512)
    model = tf.keras.models.Sequential(
        [tf.keras.layers.Dense(128, activation="relu", input_shape=(64,)), tf.keras.layers.Dense(10, activation="softmax")]
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    callbacks = clock.keras()
    if not clock.fixed:
        callbacks.insert(0, Probe(x[:8]))
    model.fit(x, y, batch_size=32, epochs=2, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
