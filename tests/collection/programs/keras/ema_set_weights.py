import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback averages all weights in NumPy after each batch and puts them into a second model",
    "cause": "weights go through NumPy in each step",
    "accept": ["python-bound", "slow-callback"],
    "rules": ["python-bound", "print-every-step", "eager-execution", "host-copies"],
    "words": ["AverageWeights", "get_weights", "set_weights", "on_train_batch_end"],
    "part": "develop",
}


class AverageWeights(tf.keras.callbacks.Callback):
    def __init__(self, average, decay=0.999):
        super().__init__()
        self.average = average
        self.decay = decay

    def on_train_batch_end(self, batch, logs=None):
        pairs = zip(self.average.get_weights(), self.model.get_weights())  # planted
        self.average.set_weights([self.decay * a + (1 - self.decay) * w for a, w in pairs])  # planted


def build():
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [tf.keras.Input((256,))] + [layers.Dense(768, activation="relu") for _ in range(3)] + [layers.Dense(10, activation="softmax")]
    )


def main(clock):
    clock.plan(3, 6)
    random = np.random.default_rng(0)
    x, y = random.random((2048, 256), np.float32), random.integers(0, 10, 2048)
    model, average = build(), build()
    average.set_weights(model.get_weights())
    model.compile("adam", "sparse_categorical_crossentropy")
    callbacks = clock.keras() + ([] if clock.fixed else [AverageWeights(average)])
    model.fit(x, y, batch_size=128, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
