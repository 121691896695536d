import gc
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback that frees memory with gc.collect() after every batch",
    "cause": "garbage collection",
    "accept": ["garbage-collection", "gc-pauses", "slow-callback"],
    "rules": ["garbage-collection", "gc-pauses", "slow-callback"],
    "words": ["collect", "FreeMemory", "on_train_batch_end", "garbage", "callback"],
    "part": "develop",
}


class FreeMemory(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        gc.collect()  # planted


def main(clock):
    clock.plan(3, 5)
    x = np.random.rand(640, 28, 28, 1).astype("float32")
    y = np.random.randint(0, 10, 640)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, activation="relu", input_shape=(28, 28, 1)),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    callbacks = clock.keras() + ([] if clock.fixed else [FreeMemory()])
    model.fit(x, y, batch_size=64, epochs=1, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
