import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a graph layer raises its constant adjacency to the third power in every call",
    "cause": "the same product of the same inputs",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["Hops", "hops"],
    "part": "develop",
}


class Hops(tf.keras.layers.Layer):
    def __init__(self, adjacency, units, fixed):
        super().__init__()
        self.adjacency = tf.constant(adjacency)
        self.cubed = tf.constant(adjacency @ adjacency @ adjacency)
        self.fixed = fixed
        self.dense = tf.keras.layers.Dense(units, activation="relu")
        self.scale = tf.Variable(1.0, trainable=False)

    def call(self, x):
        if self.fixed:
            power = self.cubed
        else:
            a = self.adjacency * self.scale
            power = tf.matmul(tf.matmul(a, a), a)  # planted
        return self.dense(tf.einsum("nm,bmf->bnf", power, x))


def main(clock):
    clock.plan(4, 8)
    rng = np.random.default_rng(0)
    adjacency = (rng.random((500, 500)) < 0.02).astype("float32") / 10
    x = rng.normal(size=(128, 500, 8)).astype("float32")
    y = rng.integers(0, 5, 128)
    inputs = tf.keras.Input((500, 8))
    h = Hops(adjacency, 24, clock.fixed)(inputs)
    h = Hops(adjacency, 24, clock.fixed)(h)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(5)(tf.keras.layers.GlobalAveragePooling1D()(h)))
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=8, epochs=2, callbacks=clock.keras(), verbose=0)


if __name__ == "__main__":
    run(main)
