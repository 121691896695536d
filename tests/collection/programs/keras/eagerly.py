import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "compile(run_eagerly=True), forgotten after debugging",
    "cause": "eager execution",
    "accept": ["eager-execution"],
    "rules": ["eager-execution"],
    "words": ["eager", "Eager", "run_eagerly"],
    "part": "develop",
}


def main(clock):
    clock.plan(3, 4)
    x = np.random.rand(320, 32).astype("float32")
    y = np.random.randint(0, 4, 320)
    model = tf.keras.models.Sequential(
        [tf.keras.layers.Dense(32, activation="relu", input_shape=(32,))]
        + [tf.keras.layers.Dense(32, activation="relu") for _ in range(6)]
        + [tf.keras.layers.Dense(4, activation="softmax")]
    )
    model.compile("adam", "sparse_categorical_crossentropy", run_eagerly=not clock.fixed)  # planted
    model.fit(x, y, batch_size=32, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
