import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all pairs of objects are concatenated before a dense layer, which could see each object once",
    "cause": "a product over tiled copies",
    "accept": ["dominant-op", "device-copies"],
    "rules": ["dominant-op", "device-copies"],
    "words": ["Pairs", "pairs", "tile", "Tile", "concat", "ConcatV2"],
    "part": "develop",
}


class Pairs(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__(name="pairs")
        self.first = tf.keras.layers.Dense(width, use_bias=False)

    def call(self, x):
        count = x.shape[1]
        left = tf.tile(x[:, :, None], [1, 1, count, 1])  # planted
        right = tf.tile(x[:, None], [1, count, 1, 1])  # planted
        return tf.nn.relu(self.first(tf.concat([left, right], -1)))  # planted


class PairsOnce(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.left = tf.keras.layers.Dense(width, use_bias=False)
        self.right = tf.keras.layers.Dense(width, use_bias=False)

    def call(self, x):
        return tf.nn.relu(self.left(x)[:, :, None] + self.right(x)[:, None])


def main(clock):
    clock.plan(3, 5)
    random = np.random.default_rng(0)
    x, y = random.random((512, 20, 64), np.float32), random.integers(0, 10, 512)
    layers = tf.keras.layers
    inputs = tf.keras.Input((20, 64))
    hidden = (PairsOnce if clock.fixed else Pairs)(96)(inputs)
    hidden = layers.Dense(32, activation="relu")(hidden)
    hidden = layers.GlobalAveragePooling2D()(hidden)
    model = tf.keras.Model(inputs, layers.Dense(10, activation="softmax")(hidden))
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=32, epochs=2, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
