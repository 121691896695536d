import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "set_floatx('float64') for the whole model",
    "cause": "float64",
    "accept": ["float64", "double-precision"],
    "rules": ["float64", "double-precision"],
    "words": ["float64", "double", "MatMul", "floatx"],
    "family": "MatMul",
    "part": "develop",
}


def main(clock):
    clock.plan(3, 6)
    kind = "float32" if clock.fixed else "float64"
    tf.keras.backend.set_floatx(kind)  # planted
    x = np.random.rand(1024, 256).astype(kind)
    y = np.random.rand(1024, 8).astype(kind)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Dense(768, activation="relu", input_shape=(256,)),
            tf.keras.layers.Dense(768, activation="relu"),
            tf.keras.layers.Dense(8),
        ]
    )
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=128, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
