import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(4, 8)
    inputs = tf.keras.Input(shape=(300,))
    x = tf.keras.layers.Dense(800, activation="relu")(inputs)
    y = tf.keras.layers.Dense(800, activation="relu")(x)
    x = tf.keras.layers.Add()([x, y])
    x = tf.keras.layers.Dropout(0.2)(x)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(x))
    model.compile(optimizer=tf.keras.optimizers.SGD(0.01), loss="mse", metrics=["mae"])
    x_train = np.random.rand(2048, 300).astype("float32")
    y_train = np.random.rand(2048, 1).astype("float32")
    model.fit(x_train, y_train, batch_size=256, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
