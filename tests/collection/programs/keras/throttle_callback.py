import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback sleeps after each batch to keep the laptop cool",
    "cause": "sleep",
    "accept": ["slow-callback", "python-bound"],
    "rules": ["slow-callback", "python-bound", "host-waits", "idle-device"],
    "words": ["CoolDown", "sleep"],
    "part": "develop",
}


class CoolDown(tf.keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self.seconds)  # planted


def main(clock):
    clock.plan(3, 6)
    random = np.random.default_rng(0)
    x, y = random.random((1024, 28, 28, 1), np.float32), random.integers(0, 10, 1024)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(10, activation="softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    callbacks = clock.keras() + ([] if clock.fixed else [CoolDown(0.02)])
    model.fit(x, y, batch_size=64, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
